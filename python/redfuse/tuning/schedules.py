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


def pin(module: Any, texts: Sequence[str]) -> None:
    """Gives every cascade its schedule; an empty text leaves it to the model. Raises
    ArgumentError for another number of texts, and for what is no schedule."""
    found = cascades(module)
    if len(found) != len(texts):
        raise ArgumentError(
            f"option 'schedules': expected one for each of the {len(found)} cascades of the "
            f"program, got {len(texts)}"
        )
    for op, text in zip(found, texts, strict=True):
        if not text:
            continue
        try:
            schedule = Schedule.parse(text)
        except ArgumentError as error:
            raise ArgumentError(f"option 'schedules': {error}") from None
        tiles = schedule.tiles
        if schedule.splits > MOST_SPLITS:
            raise ArgumentError(
                f"option 'schedules': {text} has {schedule.splits} splits, at most {MOST_SPLITS}"
            )
        extents = extents_of(op)
        if len(tiles) != len(extents):
            raise ArgumentError(
                f"option 'schedules': {text} has {len(tiles)} tiles, expected one for each of the "
                f"{len(extents)} iteration dims"
            )
        with module.context:
            op.attributes["schedule"] = schedule.attribute()


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
