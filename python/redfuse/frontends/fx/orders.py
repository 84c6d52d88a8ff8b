"""Operations that put elements in order. Of equal ones the first stays first; NaN is larger than
all numbers, as PyTorch has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith

from . import dtypes
from .builder import Tensor
from .pointwise import positions
from .registry import Call, axis, lowers

Scalar = Any


class Meta:
    """A shape and a type, where a tensor's are asked for."""

    def __init__(self, shape: Any, dtype: Any):
        self.shape, self.dtype = shape, dtype


def _stays(x: Scalar, y: Scalar, dtype: Any, is_most: bool, knows_nan: bool) -> Scalar:
    """Whether x, which is before y, may stay there."""
    if not dtype.is_floating_point:
        of = arith.CmpIPredicate
        most, least = (of.sge, of.sle) if dtypes.is_signed(dtype) else (of.uge, of.ule)
        return arith.cmpi(most if is_most else least, x, y)
    of = arith.CmpFPredicate
    stays = arith.cmpf(of.OGE if is_most else of.OLE, x, y)
    if not knows_nan:
        return stays
    last = x if is_most else y
    return arith.ori(stays, arith.cmpf(of.UNO, last, last))


def ordered(c: Call, x: Tensor, dim: int, is_most: bool, knows_nan: bool) -> tuple[Tensor, Tensor]:
    """A stable sort along a dim, and where the elements were."""
    places = positions(Call(c.b, Meta(x.shape, torch.int64)), dim, lambda p: p)
    op = ir.Operation.create(
        "tm_tensor.sort", results=[x.value.type, places.value.type],
        operands=[x.value, places.value], regions=1,
        attributes={
            "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 2]),
        },
    )  # fmt: skip
    element, i64 = dtypes.element_type(x.dtype), ir.IntegerType.get_signless(64)
    block = op.regions[0].blocks.append(element, element, i64, i64)
    with ir.InsertionPoint(block):
        stays = _stays(*block.arguments[:2], x.dtype, is_most, knows_nan)
        ir.Operation.create("tm_tensor.yield", operands=[stays])
    return Tensor(op.results[0], x.shape, x.dtype), Tensor(op.results[1], x.shape, torch.int64)


def _first(
    c: Call, x: Tensor, dim: int, k: Any, is_most: bool, knows_nan: bool, shapes: Sequence[Any]
) -> tuple[Tensor, Tensor]:
    """The first k of an order."""
    if x.rank == 0:
        return x, c.b.full((), torch.int64, 0)
    made = ordered(c, x, axis(dim, x.rank), is_most, knows_nan)
    return tuple(  # type: ignore[return-value]
        c.b.reshape(c.b.slice(t, axis(dim, x.rank), 0, k), shape)
        for t, shape in zip(made, shapes, strict=True)
    )


@lowers("topk.default")
def _topk(
    c: Call, self: Tensor, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    # The reducer of the largest knows NaN; a comparison alone is what makes one of it.
    return _first(c, self, dim, k, largest, not largest, [tuple(v.shape) for v in c.value])


@lowers("sort.default", "sort.stable")
def _sort(c: Call, self: Tensor, dim: int = -1, descending: bool = False, **_: Any) -> Any:
    size = self.shape[axis(dim, self.rank)] if self.rank else 1
    return _first(c, self, dim, size, descending, True, [tuple(v.shape) for v in c.value])


@lowers("kthvalue.default")
def _kthvalue(c: Call, self: Tensor, k: Any, dim: int = -1, keepdim: bool = False) -> Any:
    if self.rank == 0:
        return self, c.b.full((), torch.int64, 0)
    dim = axis(dim, self.rank)
    made = ordered(c, self, dim, False, True)
    return tuple(
        c.b.reshape(c.b.slice(t, dim, k - 1, 1), tuple(v.shape))
        for t, v in zip(made, c.value, strict=True)
    )
