"""Entry functions in destination style: results are written where the caller says.

The plain path (no fusion) takes this calling convention from here; fused programs get the same
one from ``redfuse-bufferize``: ``@f(inputs..., outputs...)`` beside ``@f__shapes(inputs...,
memref<?xindex>)``.
"""

from __future__ import annotations

from typing import Any

SHAPES_SUFFIX = "__shapes"


def to_destination_style(module: Any, entry: str) -> None:
    """Rewrites ``@entry`` of tensors in place: memref arguments for its results, and the shapes
    function beside it.

    Other functions must have been inlined. Inputs are marked read-only, so that no pass computes
    in them.
    """
    import mlir.ir as ir

    function = next(
        op for op in module.body.operations
        if op.operation.name == "func.func" and op.name.value == entry
    )  # fmt: skip
    with module.context, ir.Location.unknown():
        shapes = function.operation.clone(ip=ir.InsertionPoint(function))
        shapes.attributes["sym_name"] = ir.StringAttr.get(entry + SHAPES_SUFFIX)
        _return_into(ir, function, len(function.type.inputs))
        _return_shapes(ir, shapes)
        for which in (function, shapes):
            _inputs_are_read_only(ir, which)


def _returns(function: Any) -> list:
    return [
        op
        for block in function.regions[0]
        for op in block.operations
        if op.operation.name == "func.return"
    ]


def _return_into(ir: Any, function: Any, inputs: int) -> None:
    """Appends a memref argument for each result and materialises the results there."""
    from mlir.dialects import bufferization, func, memref

    entry = function.regions[0].blocks[0]
    results = list(function.type.results)
    types = [_memref_of(ir, kind) for kind in results]
    for kind in types:
        entry.add_argument(kind, ir.Location.unknown())
    for old in _returns(function):
        with ir.InsertionPoint(old):
            for number, value in enumerate(old.operands):
                destination = entry.arguments[inputs + number]
                if isinstance(results[number], ir.RankedTensorType):
                    bufferization.MaterializeInDestinationOp(
                        None, value, destination, restrict=True, writable=True
                    )
                else:
                    memref.StoreOp(value, destination, [])
            func.ReturnOp([])
        old.operation.erase()
    _set_type(ir, function, types)


def _return_shapes(ir: Any, function: Any) -> None:
    """Appends one memref<?xindex> argument and stores the extents of all results there, one after
    another."""
    from mlir.dialects import arith, func, memref, tensor

    entry = function.regions[0].blocks[0]
    index = ir.IndexType.get()
    kind = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], index)
    extents = entry.add_argument(kind, ir.Location.unknown())
    for old in _returns(function):
        with ir.InsertionPoint(old):
            position = 0
            for value in old.operands:
                rank = value.type.rank if isinstance(value.type, ir.RankedTensorType) else 0
                for dim in range(rank):
                    number = arith.ConstantOp(index, dim).result
                    extent = tensor.DimOp(value, number).result
                    memref.StoreOp(extent, extents, [arith.ConstantOp(index, position).result])
                    position += 1
            func.ReturnOp([])
        old.operation.erase()
    _set_type(ir, function, [kind])


def _memref_of(ir: Any, kind: Any) -> Any:
    if isinstance(kind, ir.RankedTensorType):
        return ir.MemRefType.get(kind.shape, kind.element_type)
    return ir.MemRefType.get([], kind)


def _set_type(ir: Any, function: Any, extra: list) -> None:
    old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    new = ir.FunctionType.get([*old.inputs, *extra], [])
    function.attributes["function_type"] = ir.TypeAttr.get(new)
    for name in ("arg_attrs", "res_attrs"):
        if name in function.attributes:
            del function.attributes[name]


def _inputs_are_read_only(ir: Any, function: Any) -> None:
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    read_only = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
    nothing = ir.DictAttr.get({})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [read_only if isinstance(t, ir.RankedTensorType) else nothing for t in kind.inputs]
    )
