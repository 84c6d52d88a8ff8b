"""Checks that the dynamic extents of a program agree, as ``cf.assert`` on its first lines.

linalg leaves disagreeing extents undefined; a call with such arrays must end in an error, not in
memory that is not theirs. Static extents are checked by MLIR's verifier already, so a static
program stays as it is.
"""

from __future__ import annotations

from typing import Any

from .errors import _position, position_text


def insert(module: Any, entry: Any) -> int:
    """Adds the checks to ``entry`` (a ``func.func``); returns how many. Equal values fold away
    later."""
    import mlir.ir as ir

    if not any(_is_dynamic(ir, kind) for kind in entry.type.inputs):
        return 0
    count = 0
    with module.context, ir.Location.unknown():
        for block in entry.regions[0]:
            for operation in list(block.operations):
                count += _check(ir, operation)
    return count


def _is_dynamic(ir: Any, kind: Any) -> bool:
    return isinstance(kind, ir.RankedTensorType) and not kind.has_static_shape


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


def _check(ir: Any, operation: Any) -> int:
    from mlir.dialects import arith, cf, tensor

    maps = _maps(ir, operation)
    operands = list(operation.operands)
    if maps is None or len(maps) != len(operands):
        return 0
    seen: dict[
        int, tuple[Any, int, int | None]
    ] = {}  # loop dim -> operand, its dim, its static extent
    count = 0
    where = position_text(*_position(operation.location))
    for number, (value, affine) in enumerate(zip(operands, maps, strict=False)):
        if not isinstance(value.type, ir.RankedTensorType):
            continue
        for dim, expression in enumerate(affine.results):
            if not isinstance(expression, ir.AffineDimExpr):
                continue
            loop = ir.AffineDimExpr(expression).position
            extent = None if value.type.is_dynamic_dim(dim) else value.type.get_dim_size(dim)
            if loop not in seen:
                seen[loop] = (value, dim, extent)
                continue
            other, other_dim, other_extent = seen[loop]
            if extent is not None and other_extent is not None:
                continue
            with ir.InsertionPoint(operation):
                index = ir.IndexType.get()
                a = tensor.DimOp(other, arith.ConstantOp(index, other_dim).result).result
                b = tensor.DimOp(value, arith.ConstantOp(index, dim).result).result
                same = arith.CmpIOp(arith.CmpIPredicate.eq, a, b).result
                cf.AssertOp(
                    same,
                    f"{where}: {operation.operation.name}: extent {dim} of operand {number} "
                    "differs from "
                    "another operand's in the same iteration dim",
                )
            count += 1
    return count
