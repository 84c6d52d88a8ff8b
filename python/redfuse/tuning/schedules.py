"""The schedules of a module's cascades."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..attributes import Schedule
from ..errors import ArgumentError

MOST_SPLITS = 256  # their merges are spelled out
DYNAMIC = 1 << 12  # what a dynamic extent is taken for
BY_NAME = "chosen by name"  # the reason of what no model chose


def of(cascade: Any) -> Schedule:
    """The schedule of a cascade, as one that is asked for by name."""
    schedule = Schedule.of(cascade.attributes["schedule"])
    return dataclasses.replace(schedule, reason=BY_NAME)


def cascades(module: Any) -> list[Any]:
    """The cascades of a module, in order."""
    from ..explain.explanation import walk

    return list(walk(module.operation, "redfuse.cascade"))


def ask(module: Any, texts: Sequence[str]) -> None:
    """Has a module ask for schedules of its cascades, which redfuse-schedule gives them; an empty
    text leaves one to the model. Raises ArgumentError for what is no schedule."""
    import mlir.ir as ir

    with module.context:
        asked = [_parsed(text).attribute() if text else ir.UnitAttr.get() for text in texts]
        module.operation.attributes["redfuse.schedules"] = ir.ArrayAttr.get(asked)


def _parsed(text: str) -> Schedule:
    try:
        return Schedule.parse(text)
    except ArgumentError as error:
        raise ArgumentError(f"option 'schedules': {error}") from None


def check(module: Any, texts: Sequence[str]) -> None:
    """Raises ArgumentError where the cascades of the module cannot have the schedules that it asks
    for: for another number of texts, tiles or splits."""
    found = cascades(module)
    if len(found) != len(texts):
        raise ArgumentError(
            f"option 'schedules': expected one for each of the {len(found)} cascades of the "
            f"program, got {len(texts)}"
        )
    for op, text in zip(found, texts, strict=True):
        if not text:
            continue
        schedule = _parsed(text)
        if schedule.splits > MOST_SPLITS:
            raise ArgumentError(
                f"option 'schedules': {text} has {schedule.splits} splits, at most {MOST_SPLITS}"
            )
        dims = len(extents_of(op))
        if len(schedule.tiles) != dims:
            raise ArgumentError(
                f"option 'schedules': {text} has {len(schedule.tiles)} tiles, expected one for "
                f"each of the {dims} iteration dims"
            )


def extents_of(cascade: Any) -> list[int]:
    """Extents of its iteration dims, ``DYNAMIC`` where they are not known."""
    import mlir.ir as ir

    maps = [ir.AffineMapAttr(a).value for a in cascade.attributes["indexing_maps"]]
    extents = [0] * (maps[0].n_dims if maps else 0)
    for value, affine in zip(cascade.operands, maps, strict=False):
        shape = ir.RankedTensorType(value.type)
        for axis, expression in enumerate(affine.results):
            if isinstance(expression, ir.AffineDimExpr):
                dim = expression.position
                known = 0 if shape.is_dynamic_dim(axis) else shape.get_dim_size(axis)
                extents[dim] = max(extents[dim], known)
    return [extent or DYNAMIC for extent in extents]
