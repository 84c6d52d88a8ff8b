"""Checks that the dynamic extents of a program agree, as ``cf.assert`` on its first lines.

linalg leaves disagreeing extents undefined; a call with such arrays must end in an error, not in
memory that is not theirs. Static extents are checked by MLIR's verifier, what it leaves out by
``windowchecks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import windowchecks
from .assertions import as_value, extent_of, index_constant, require


def insert(module: Any, entry: Any) -> int:
    """Adds the checks to ``entry`` (a ``func.func``); returns how many. Equal values fold away
    later."""
    import mlir.ir as ir

    with module.context, ir.Location.unknown():
        return sum(_check(ir, operation) for operation in _operations(entry))


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


def _check(ir: Any, operation: Any) -> int:
    checks = {
        "tensor.cast": _check_cast,
        "tensor.concat": _check_concat,
        "tensor.expand_shape": _check_expand,
        "tensor.extract_slice": _check_slice,
        "tensor.insert_slice": _check_insert,
    }
    return checks.get(operation.operation.name, _check_loops)(ir, operation)


def _check_cast(ir: Any, operation: Any) -> int:
    """An extent that a cast says is known must be that."""
    source, result = operation.operands[0], operation.results[0]
    if not all(isinstance(value.type, ir.RankedTensorType) for value in (source, result)):
        return 0
    count = 0
    for dim in range(source.type.rank):
        if not source.type.is_dynamic_dim(dim) or result.type.is_dynamic_dim(dim):
            continue
        extent = result.type.get_dim_size(dim)
        with ir.InsertionPoint(operation):
            has = extent_of(ir, source, dim)
            require(
                ir,
                "eq",
                has,
                index_constant(ir, extent),
                operation,
                f"extent {dim} is not {extent}",
            )
        count += 1
    return count


def _check_slice(ir: Any, operation: Any) -> int:
    return _check_inside(ir, operation, operation.operands[0], list(operation.operands)[1:])


def _check_insert(ir: Any, operation: Any) -> int:
    """So must the place that a slice is written to, and the slice must be as large as it."""
    source, target = operation.operands[0], operation.operands[1]
    values = list(operation.operands)[2:]
    count = _check_inside(ir, operation, target, values)
    static = list(ir.DenseI64ArrayAttr(operation.attributes["static_offsets"]))
    unknown = ir.ShapedType.get_dynamic_size()
    sizes = _numbers(ir, operation, "static_sizes", iter(values[static.count(unknown) :]))
    if source.type.rank != len(sizes):  # dims of extent 1 are dropped: MLIR has compared the rest
        return count
    for dim, size in enumerate(sizes):
        if isinstance(size, int) and not source.type.is_dynamic_dim(dim):
            continue
        with ir.InsertionPoint(operation):
            message = f"extent {dim} of the slice is not the size of its place"
            require(ir, "eq", extent_of(ir, source, dim), as_value(ir, size), operation, message)
        count += 1
    return count


def _numbers(ir: Any, operation: Any, name: str, values: Iterator[Any]) -> list[Any]:
    """Constants of an attribute, and the next of the values where they are not known."""
    unknown = ir.ShapedType.get_dynamic_size()
    static = ir.DenseI64ArrayAttr(operation.attributes[name])
    return [next(values) if number == unknown else number for number in static]


def _check_inside(ir: Any, operation: Any, source: Any, operands: list[Any]) -> int:
    """Offsets and sizes of a slice against the tensor's extents; the operands are its dynamic
    offsets, sizes and strides."""
    from mlir.dialects import arith

    unknown = ir.ShapedType.get_dynamic_size()
    values = iter(operands)
    offsets = _numbers(ir, operation, "static_offsets", values)
    sizes = _numbers(ir, operation, "static_sizes", values)
    strides = list(ir.DenseI64ArrayAttr(operation.attributes["static_strides"]))
    count = 0
    for dim, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        static = isinstance(offset, int) and isinstance(size, int)
        if stride == unknown or stride < 1 or (static and not source.type.is_dynamic_dim(dim)):
            continue
        with ir.InsertionPoint(operation):
            start, length = as_value(ir, offset), as_value(ir, size)
            # The last element's place: negative sizes fail with it, empty slices fit anywhere.
            steps = arith.MulIOp(length, index_constant(ir, stride)).result
            end = arith.AddIOp(start, steps).result
            limit = arith.AddIOp(extent_of(ir, source, dim), index_constant(ir, stride - 1)).result
            outside = f"dim {dim} reaches outside the tensor"
            zero = index_constant(ir, 0)
            require(ir, "sge", start, zero, operation, outside)
            require(ir, "sge", length, zero, operation, outside)
            require(ir, "sle", end, limit, operation, outside)
        count += 1
    return count


def _check_expand(ir: Any, operation: Any) -> int:
    """The extents of a group must have the product of the dim that it is made of."""
    from mlir.dialects import arith

    source = operation.operands[0]
    values = iter(list(operation.operands)[1:])
    sizes = _numbers(ir, operation, "static_output_shape", values)
    count = 0
    for dim, group in enumerate(operation.attributes["reassociation"]):
        parts = [sizes[ir.IntegerAttr(number).value] for number in group]
        if not source.type.is_dynamic_dim(dim) and all(isinstance(part, int) for part in parts):
            continue
        with ir.InsertionPoint(operation):
            product = index_constant(ir, 1)
            for part in parts:
                value = as_value(ir, part)
                if value is part:
                    require(ir, "sge", value, index_constant(ir, 0), operation, "negative extent")
                product = arith.MulIOp(product, value).result
            message = f"the extents made of dim {dim} have another product than it"
            require(ir, "eq", product, extent_of(ir, source, dim), operation, message)
        count += 1
    return count


def _check_concat(ir: Any, operation: Any) -> int:
    """Tensors that are joined must be equally long in every other dim."""
    along = ir.IntegerAttr(operation.attributes["dim"]).value
    first, *others = list(operation.operands)
    count = 0
    for number, other in enumerate(others, 1):
        for dim in range(first.type.rank):
            known = not (first.type.is_dynamic_dim(dim) or other.type.is_dynamic_dim(dim))
            if dim == along or known:
                continue
            with ir.InsertionPoint(operation):
                message = f"extent {dim} of operand {number} differs from the first operand's"
                a, b = (extent_of(ir, value, dim) for value in (first, other))
                require(ir, "eq", a, b, operation, message)
            count += 1
    return count


def _check_loops(ir: Any, operation: Any) -> int:
    """What a linalg operation reads or writes along one iteration dim must be equally long, and
    windows must end inside."""
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
                a, b = extent_of(ir, other, other_dim), extent_of(ir, value, dim)
                message = (
                    f"extent {dim} of operand {number} differs from another operand's in the "
                    "same iteration dim"
                )
                require(ir, "eq", a, b, operation, message)
            count += 1
    return count + windowchecks.check(ir, operation, maps, seen)
