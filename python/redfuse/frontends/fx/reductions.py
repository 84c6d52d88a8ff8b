"""Operations that fold dims."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith, math

from . import dtypes
from .builder import Builder, Tensor
from .pointwise import computed_in
from .registry import Call, axes, axis, lowers

Scalar = Any


def fold(
    c: Call, x: Tensor, dims: list[int], start: Any, inner: Any, body: Callable[..., Scalar]
) -> Tensor:
    """One accumulator of type ``inner``; ``body`` gets an element in it, and the accumulator."""

    def step(value: Scalar, total: Scalar) -> Scalar:
        return body(dtypes.convert(value, x.dtype, inner), total)

    made = c.b.reduce([x], dims, [(start, inner)], step)[0]
    return c.b.reshape(c.b.cast(made, c.dtype), c.shape)


def _sum(c: Call, x: Tensor, dims: list[int]) -> Tensor:
    inner = computed_in(c.dtype)
    return fold(c, x, dims, 0, inner, arith.addf if inner.is_floating_point else arith.addi)


@lowers("sum.dim_IntList", "sum.default")
def _sum_of(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    return _sum(c, self, axes(dim, self.rank))


@lowers("mean.dim", "mean.default")
def _mean(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    dims = axes(dim, self.rank)
    total = fold_in(c, self, dims, arith.addf, 0.0)
    count = count_of(c.b, self, dims, computed_in(c.dtype))
    inner = computed_in(c.dtype)

    def body(x: Scalar, n: Scalar) -> Scalar:
        return dtypes.convert(arith.divf(x, n), inner, c.dtype)

    return c.b.reshape(c.b.map([total, count], total.shape, c.dtype, body), c.shape)


def fold_in(c: Call, x: Tensor, dims: list[int], body: Any, start: Any) -> Tensor:
    """Folded in the type that PyTorch computes in, without the dims."""
    inner = computed_in(c.dtype)

    def step(value: Scalar, total: Scalar) -> Scalar:
        return body(dtypes.convert(value, x.dtype, inner), total)

    return c.b.reduce([x], dims, [(start, inner)], step)[0]


def count_of(b: Builder, x: Tensor, dims: list[int], inner: Any, less: float = 0) -> Tensor:
    """How many elements are folded, as a tensor of one number."""
    sizes = [x.shape[d] for d in dims]
    if all(isinstance(n, int) for n in sizes):
        return b.full((), inner, max(0.0, numbers.prod(sizes) - less))
    from mlir.dialects import tensor

    count = b.index(1)
    for n in sizes:
        count = arith.muli(count, b.extent(n))
    i64 = ir.IntegerType.get_signless(64)
    kind = dtypes.element_type(inner)
    value = arith.sitofp(kind, arith.index_cast(i64, count))
    value = arith.subf(value, dtypes.constant(less, inner))
    made = tensor.FromElementsOp(ir.RankedTensorType.get([], kind), [value])
    return Tensor(made.result, (), inner)


@lowers("var.correction", "var.dim")
def _var(
    c: Call, self: Tensor, dim: Any = None, correction: Any = 1, unbiased: Any = None, **_: Any
) -> Tensor:
    dims = axes(dim, self.rank)
    correction = 1 if correction is None else correction
    correction = int(unbiased) if unbiased is not None else correction
    b, inner = c.b, computed_in(c.dtype)
    total = fold_in(c, self, dims, arith.addf, 0.0)
    mean = b.map(
        [total, count_of(c.b, self, dims, computed_in(c.dtype))], total.shape, inner, arith.divf
    )
    kept = [1 if d in dims else n for d, n in enumerate(self.shape)]
    mean = b.reshape(mean, kept)

    def square(x: Scalar, y: Scalar) -> Scalar:
        apart = arith.subf(dtypes.convert(x, self.dtype, inner), y)
        return arith.mulf(apart, apart)

    squares = b.map([self, mean], self.shape, inner, square)
    total = fold_in(c, squares, dims, arith.addf, 0.0)
    count = count_of(b, self, dims, inner, correction)
    result = b.map([total, count], total.shape, c.dtype,
                   lambda x, n: dtypes.convert(arith.divf(x, n), inner, c.dtype))  # fmt: skip
    return b.reshape(result, c.shape)


@lowers("prims.var.default")
def _prims_var(c: Call, inp: Tensor, dims: Any = None, correction: Any = 1, **_: Any) -> Tensor:
    return _var(c, inp, dims, correction)


@lowers("var_mean.correction")
def _var_mean(c: Call, self: Tensor, dim: Any = None, correction: Any = 1, **_: Any) -> Any:
    first, second = c.value
    return (_var(Call(c.b, first), self, dim, correction), _mean(Call(c.b, second), self, dim))


@lowers("prod.dim_int", "prod.default")
def _prod(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    inner = computed_in(c.dtype)
    body = arith.mulf if inner.is_floating_point else arith.muli
    return fold(c, self, axes(dim, self.rank), 1, inner, body)


def lowest(dtype: Any) -> Any:
    """What no element is below."""
    if dtype.is_floating_point:
        return -numbers.inf
    return False if dtype == torch.bool else torch.iinfo(dtype).min


def highest(dtype: Any) -> Any:
    """What no element is above."""
    if dtype.is_floating_point:
        return numbers.inf
    return True if dtype == torch.bool else torch.iinfo(dtype).max


def larger(dtype: Any) -> Any:
    """Makes the larger of two; NaN if one is."""
    if dtype.is_floating_point:
        return arith.maximumf
    return arith.maxsi if dtypes.is_signed(dtype) else arith.maxui


def smaller(dtype: Any) -> Any:
    """Makes the smaller of two; NaN if one is."""
    if dtype.is_floating_point:
        return arith.minimumf
    return arith.minsi if dtypes.is_signed(dtype) else arith.minui


@lowers("amax.default", "max.default")
def _amax(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    return fold(c, self, axes(dim, self.rank), lowest(c.dtype), c.dtype, larger(c.dtype))


@lowers("amin.default", "min.default")
def _amin(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    return fold(c, self, axes(dim, self.rank), highest(c.dtype), c.dtype, smaller(c.dtype))


@lowers("any.default", "any.dim", "any.dims")
def _any(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    return fold(c, self, axes(dim, self.rank), False, torch.bool, arith.ori)


@lowers("all.default", "all.dim", "all.dims")
def _all(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    return fold(c, self, axes(dim, self.rank), True, torch.bool, arith.andi)


def _best(c: Call, x: Tensor, dim: int, is_most: bool) -> tuple[Tensor, Tensor]:
    """The largest (smallest) of a dim and where it is first; NaN is larger (smaller) than all."""
    start = lowest(x.dtype) if is_most else highest(x.dtype)
    i64 = ir.IntegerType.get_signless(64)
    float_, signed, unsigned = (
        (arith.CmpFPredicate.OGT, arith.CmpIPredicate.sgt, arith.CmpIPredicate.ugt) if is_most
        else (arith.CmpFPredicate.OLT, arith.CmpIPredicate.slt, arith.CmpIPredicate.ult)
    )  # fmt: skip

    def body(value: Scalar, best: Scalar, place: Scalar) -> tuple[Scalar, Scalar]:
        at = arith.index_cast(i64, Builder.position(dim))
        if x.dtype.is_floating_point:
            better = arith.cmpf(float_, value, best)
            most = (arith.maximumf if is_most else arith.minimumf)(value, best)
            was = arith.cmpf(arith.CmpFPredicate.UNO, best, best)
            is_ = arith.cmpf(arith.CmpFPredicate.UNO, value, value)
            true = dtypes.constant(True, torch.bool)
            better = arith.ori(better, arith.andi(is_, arith.xori(was, true)))
        else:
            better = arith.cmpi(signed if dtypes.is_signed(x.dtype) else unsigned, value, best)
            most = arith.select(better, value, best)
        return most, arith.select(better, at, place)

    made = c.b.reduce([x], [dim], [(start, x.dtype), (0, torch.int64)], body)
    return made[0], made[1]


@lowers("max.dim")
def _max_dim(c: Call, self: Tensor, dim: int, **_: Any) -> Any:
    return _best_of_dim(c, self, dim, True)


@lowers("min.dim")
def _min_dim(c: Call, self: Tensor, dim: int, **_: Any) -> Any:
    return _best_of_dim(c, self, dim, False)


def _best_of_dim(c: Call, x: Tensor, dim: int, is_most: bool) -> Any:
    if x.rank == 0:
        return x, c.b.full((), torch.int64, 0)
    made = _best(c, x, axis(dim, x.rank), is_most)
    return tuple(c.b.reshape(t, tuple(v.shape)) for t, v in zip(made, c.value, strict=True))


def _place(c: Call, x: Tensor, dim: Any, is_most: bool) -> Tensor:
    if x.rank == 0:
        return c.full(0)
    if dim is None:
        x = c.b.reshape(x, (numbers.prod(x.shape),))
        dim = 0
    return c.b.reshape(_best(c, x, axis(dim, x.rank), is_most)[1], c.shape)


@lowers("argmax.default")
def _argmax(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    return _place(c, self, dim, True)


@lowers("argmin.default")
def _argmin(c: Call, self: Tensor, dim: Any = None, **_: Any) -> Tensor:
    return _place(c, self, dim, False)


@lowers("linalg_vector_norm.default")
def _norm(c: Call, self: Tensor, ord: Any = 2, dim: Any = None, **_: Any) -> Tensor:
    dims = axes(dim, self.rank)
    inner = computed_in(c.dtype)
    if ord in (numbers.inf, -numbers.inf):
        body = arith.maximumf if ord > 0 else arith.minimumf
        start = 0.0 if ord > 0 else numbers.inf
        return fold(c, self, dims, start, inner, lambda x, t: body(math.absf(x), t))
    if ord == 0:
        zero = lambda: dtypes.constant(0, inner)  # noqa: E731
        return fold(c, self, dims, 0, inner, lambda x, t: arith.addf(t, dtypes.convert(
            arith.cmpf(arith.CmpFPredicate.UNE, x, zero()), torch.bool, inner)))  # fmt: skip

    def power(x: Scalar) -> Scalar:
        if ord == 2:
            return arith.mulf(x, x)
        x = math.absf(x)
        return x if ord == 1 else math.powf(x, dtypes.constant(ord, inner))

    def root(x: Scalar) -> Scalar:
        if ord == 2:
            x = math.sqrt(x)
        elif ord != 1:
            x = math.powf(x, dtypes.constant(1 / ord, inner))
        return dtypes.convert(x, inner, c.dtype)

    total = fold_in(c, self, dims, lambda x, t: arith.addf(t, power(x)), 0.0)
    return c.b.reshape(c.b.map([total], total.shape, c.dtype, root), c.shape)
