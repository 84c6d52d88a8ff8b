"""Operations that fold every prefix of a dim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith, math

from . import dtypes
from .builder import Builder, Tensor
from .pointwise import F, computed_in
from .reductions import highest, lowest
from .registry import Call, axis, lowers

Scalar = Any


def scan(
    b: Builder, x: Tensor, dim: int, start: Any, body: Callable[..., Scalar], declared: bool = False
) -> Tensor:
    """Every prefix of a dim folded, in the type of x; ``declared``: ``body`` is a reducer of the
    program's own, with ``start`` for its identity."""
    out = b.full(x.shape, x.dtype, start)
    total = b.full(tuple(n for d, n in enumerate(x.shape) if d != dim), x.dtype, start)
    i64 = ir.IntegerType.get_signless(64)
    op = ir.Operation.create(
        "tm_tensor.scan", results=[out.value.type, total.value.type],
        operands=[x.value, out.value, total.value], regions=1,
        attributes={
            "dimension": ir.IntegerAttr.get(i64, dim), "inclusive": ir.BoolAttr.get(True),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 2]),
        },
    )  # fmt: skip
    element = dtypes.element_type(x.dtype)
    if declared:
        identity = ir.ArrayAttr.get([ir.FloatAttr.get(element, start)])
        op.attributes["redfuse.combiner"] = ir.DictAttr.get({"identity": identity})
    block = op.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        made = body(block.arguments[0], block.arguments[1])
        ir.Operation.create("tm_tensor.yield", operands=[made])
    return Tensor(op.results[0], x.shape, x.dtype)


def _folded(
    c: Call, x: Tensor, dim: int, start: Any, body: Callable[..., Scalar], declared: bool = False
) -> Tensor:
    """In the type that PyTorch computes in."""
    if x.rank == 0:
        return c.b.cast(x, c.dtype)
    x = c.b.cast(x, computed_in(c.dtype))
    return c.b.cast(scan(c.b, x, axis(dim, x.rank), start, body, declared), c.dtype)


@lowers("cumsum.default")
def _cumsum(c: Call, self: Tensor, dim: int, **_: Any) -> Tensor:
    is_float = c.dtype.is_floating_point
    return _folded(c, self, dim, 0, arith.addf if is_float else arith.addi)


@lowers("cumprod.default")
def _cumprod(c: Call, self: Tensor, dim: int, **_: Any) -> Tensor:
    is_float = c.dtype.is_floating_point
    return _folded(c, self, dim, 1, arith.mulf if is_float else arith.muli)


@lowers("logcumsumexp.default")
def _logcumsumexp(c: Call, self: Tensor, dim: int) -> Tensor:
    inner = computed_in(c.dtype)

    def add(x: Scalar, y: Scalar) -> Scalar:
        most, least = arith.maximumf(x, y), arith.minimumf(x, y)
        total = arith.addf(most, math.log1p(math.exp(arith.subf(least, most))))
        # Of two infinities the difference is NaN.
        infinite = arith.cmpf(F.OEQ, math.absf(most), dtypes.constant(float("inf"), inner))
        alike = arith.cmpf(F.OEQ, most, least)
        return arith.select(arith.andi(infinite, alike), most, total)

    return _folded(c, self, dim, float("-inf"), add, declared=True)


def _extrema(c: Call, x: Tensor, dim: int, is_most: bool) -> tuple[Tensor, Tensor]:
    """The largest (smallest) so far and where it was last; NaN is larger (smaller) than all."""
    b, is_float = c.b, x.dtype.is_floating_point
    if x.rank == 0:
        return x, b.full((), torch.int64, 0)
    dim = axis(dim, x.rank)
    if is_float:
        body = arith.maximumf if is_most else arith.minimumf
    elif dtypes.is_signed(x.dtype):
        body = arith.maxsi if is_most else arith.minsi
    else:
        body = arith.maxui if is_most else arith.minui
    best = scan(b, x, dim, lowest(x.dtype) if is_most else highest(x.dtype), body)
    i64 = ir.IntegerType.get_signless(64)

    def place(value: Scalar, most: Scalar) -> Scalar:
        if is_float:
            is_it = arith.ori(arith.cmpf(F.OEQ, value, most), arith.cmpf(F.UNO, value, value))
        else:
            is_it = arith.cmpi(arith.CmpIPredicate.eq, value, most)
        at = arith.index_cast(i64, Builder.position(dim))
        return arith.select(is_it, at, dtypes.constant(0, torch.int64))

    places = b.map([x, best], x.shape, torch.int64, place)
    return best, scan(b, places, dim, 0, arith.maxsi)


@lowers("cummax.default")
def _cummax(c: Call, self: Tensor, dim: int) -> Any:
    return _extrema(c, self, dim, True)


@lowers("cummin.default")
def _cummin(c: Call, self: Tensor, dim: int) -> Any:
    return _extrema(c, self, dim, False)
