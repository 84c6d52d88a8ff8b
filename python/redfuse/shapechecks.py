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
    checks = {"tensor.cast": _check_cast, "tensor.extract_slice": _check_slice}
    return checks.get(operation.operation.name, _check_loops)(ir, operation)


def _index(ir: Any, number: int) -> Any:
    from mlir.dialects import arith

    return arith.ConstantOp(ir.IndexType.get(), number).result


def _assert(ir: Any, predicate: str, a: Any, b: Any, operation: Any, message: str) -> None:
    """``a <predicate> b``, or the call fails with the operation's place and the message."""
    from mlir.dialects import arith, cf

    where = position_text(*_position(operation.location))
    holds = arith.CmpIOp(getattr(arith.CmpIPredicate, predicate), a, b).result
    cf.AssertOp(holds, f"{where}: {operation.operation.name}: {message}")


def _check_cast(ir: Any, operation: Any) -> int:
    """An extent that a cast says is known must be that."""
    from mlir.dialects import tensor

    source, result = operation.operands[0], operation.results[0]
    if not all(isinstance(value.type, ir.RankedTensorType) for value in (source, result)):
        return 0
    count = 0
    for dim in range(source.type.rank):
        if not source.type.is_dynamic_dim(dim) or result.type.is_dynamic_dim(dim):
            continue
        extent = result.type.get_dim_size(dim)
        with ir.InsertionPoint(operation):
            has = tensor.DimOp(source, _index(ir, dim)).result
            _assert(ir, "eq", has, _index(ir, extent), operation, f"extent {dim} is not {extent}")
        count += 1
    return count


def _check_slice(ir: Any, operation: Any) -> int:
    """A slice must lie inside its tensor, where its strides are known and positive."""
    from mlir.dialects import arith, tensor

    source = operation.operands[0]
    unknown = ir.ShapedType.get_dynamic_size()
    values = iter(list(operation.operands)[1:])

    def numbers(name: str) -> list[Any]:
        """Constants, and values where they are not known."""
        static = ir.DenseI64ArrayAttr(operation.attributes[name])
        return [next(values) if number == unknown else number for number in static]

    offsets, sizes = numbers("static_offsets"), numbers("static_sizes")
    strides = list(ir.DenseI64ArrayAttr(operation.attributes["static_strides"]))
    count = 0
    for dim, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        static = isinstance(offset, int) and isinstance(size, int)
        if stride == unknown or stride < 1 or (static and not source.type.is_dynamic_dim(dim)):
            continue
        with ir.InsertionPoint(operation):
            start, length = (
                _index(ir, number) if isinstance(number, int) else number
                for number in (offset, size)
            )
            # The last element's place: negative sizes fail with it, empty slices fit anywhere.
            steps = arith.MulIOp(length, _index(ir, stride)).result
            end = arith.AddIOp(start, steps).result
            extent = tensor.DimOp(source, _index(ir, dim)).result
            limit = arith.AddIOp(extent, _index(ir, stride - 1)).result
            outside = f"dim {dim} reaches outside the tensor"
            zero = _index(ir, 0)
            _assert(ir, "sge", start, zero, operation, outside)
            _assert(ir, "sge", length, zero, operation, outside)
            _assert(ir, "sle", end, limit, operation, outside)
        count += 1
    return count


def _check_loops(ir: Any, operation: Any) -> int:
    """What a linalg operation reads or writes along one iteration dim must be equally long."""
    from mlir.dialects import tensor

    maps = _maps(ir, operation)
    operands = list(operation.operands)
    if maps is None or len(maps) != len(operands):
        return 0
    # Iteration dim -> operand, its dim, its static extent.
    seen: dict[int, tuple[Any, int, int | None]] = {}
    count = 0
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
                a = tensor.DimOp(other, _index(ir, other_dim)).result
                b = tensor.DimOp(value, _index(ir, dim)).result
                message = (
                    f"extent {dim} of operand {number} differs from another operand's in the "
                    "same iteration dim"
                )
                _assert(ir, "eq", a, b, operation, message)
            count += 1
    return count
