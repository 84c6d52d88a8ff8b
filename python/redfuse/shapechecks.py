"""Finds the windows of a program, for ``windowchecks``: what linalg operations read by more than
plain dims. All other accesses are checked by ``redfuse-check-accesses``, which comes after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import windowchecks


def insert(module: Any, entry: Any) -> int:
    """Adds the checks to ``entry`` (a ``func.func``); returns how many."""
    import mlir.ir as ir

    with module.context, ir.Location.unknown():
        return sum(_check_loops(ir, operation) for operation in _operations(entry))


def _operations(parent: Any) -> Iterator[Any]:
    """Operations of regions that are control flow; bodies of linalg operations are not."""
    for region in parent.regions:
        for block in region:
            for operation in list(block.operations):
                yield operation
                if operation.operation.name.startswith("scf."):
                    yield from _operations(operation)


def _maps(ir: Any, operation: Any) -> list | None:
    """Indexing maps of a linalg operation, one an operand; ``None`` for other operations."""
    if not operation.operation.name.startswith("linalg."):
        return None
    from mlir.dialects import linalg

    if "indexing_maps" in operation.attributes:
        maps = operation.attributes["indexing_maps"]
    else:
        try:
            maps = linalg.get_indexing_maps(operation.operation)
        except Exception:  # an operation without maps, linalg.pack for one: nothing to compare
            return None
    return None if maps is None else [ir.AffineMapAttr(attribute).value for attribute in maps]


def _check_loops(ir: Any, operation: Any) -> int:
    maps = _maps(ir, operation)
    operands = list(operation.operands)
    if maps is None or len(maps) != len(operands):
        return 0
    # Iteration dim -> operand, its dim, its static extent.
    seen: dict[int, tuple[Any, int, int | None]] = {}
    for value, affine in zip(operands, maps, strict=True):
        if not isinstance(value.type, ir.RankedTensorType):
            continue
        for dim, expression in enumerate(affine.results):
            if isinstance(expression, ir.AffineDimExpr):
                extent = None if value.type.is_dynamic_dim(dim) else value.type.get_dim_size(dim)
                seen.setdefault(ir.AffineDimExpr(expression).position, (value, dim, extent))
    return windowchecks.check(ir, operation, maps, seen)
