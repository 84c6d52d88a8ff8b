"""Normalisations: by the mean and variance of some dims, in f32 for 16-bit floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir.dialects import arith, math

from . import dtypes
from .builder import Tensor
from .pointwise import computed_in
from .reductions import count_of
from .registry import Call, lowers

Scalar = Any


def _statistics(c: Call, x: Tensor, dims: Sequence[int], eps: float) -> tuple[Tensor, Tensor]:
    """Mean and 1 / sqrt(variance + eps), the dims kept with extent 1."""
    b, inner = c.b, computed_in(x.dtype)
    kept = [1 if d in dims else n for d, n in enumerate(x.shape)]
    count = count_of(b, x, list(dims), inner)

    def add(v: Scalar, total: Scalar) -> Scalar:
        return arith.addf(total, dtypes.convert(v, x.dtype, inner))

    def square(v: Scalar, m: Scalar) -> Scalar:
        apart = arith.subf(dtypes.convert(v, x.dtype, inner), m)
        return arith.mulf(apart, apart)

    total = b.reduce([x], list(dims), [(0, inner)], add)[0]
    mean = b.reshape(b.map([total, count], total.shape, inner, arith.divf), kept)
    squares = b.map([x, mean], x.shape, inner, square)
    spread = b.reduce([squares], list(dims), [(0, inner)], arith.addf)[0]

    def root(v: Scalar, n: Scalar) -> Scalar:
        return math.rsqrt(arith.addf(arith.divf(v, n), dtypes.constant(eps, inner)))

    rstd = b.reshape(b.map([spread, count], spread.shape, inner, root), kept)
    return mean, rstd


def _apply(
    c: Call, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, bias: Tensor | None,
    dtype: Any,
) -> Tensor:  # fmt: skip
    """(x - mean) * rstd * weight + bias, rounded once."""
    inner = computed_in(x.dtype)
    given = [t for t in (weight, bias) if t is not None]

    def body(v: Scalar, m: Scalar, r: Scalar, *more: Scalar) -> Scalar:
        made = arith.mulf(arith.subf(dtypes.convert(v, x.dtype, inner), m), r)
        left = [dtypes.convert(s, t.dtype, inner) for s, t in zip(more, given, strict=True)]
        if weight is not None:
            made = arith.mulf(made, left.pop(0))
        if bias is not None:
            made = arith.addf(made, left.pop(0))
        return dtypes.convert(made, inner, dtype)

    return c.b.map([x, mean, rstd, *given], x.shape, dtype, body)


def _results(c: Call, *made: Tensor) -> tuple[Tensor, ...]:
    return tuple(
        c.b.reshape(c.b.cast(t, v.dtype), tuple(v.shape))
        for t, v in zip(made, c.value, strict=False)
    )


@lowers("native_layer_norm.default")
def _layer_norm(
    c: Call, input: Tensor, normalized_shape: Sequence[Any], weight: Tensor | None,
    bias: Tensor | None, eps: float,
) -> Any:  # fmt: skip
    dims = range(input.rank - len(normalized_shape), input.rank)
    mean, rstd = _statistics(c, input, dims, eps)
    return _results(c, _apply(c, input, mean, rstd, weight, bias, input.dtype), mean, rstd)


@lowers("_fused_rms_norm.default")
def _rms_norm(
    c: Call, input: Tensor, normalized_shape: Sequence[Any], weight: Tensor | None,
    eps: float | None,
) -> Any:  # fmt: skip
    import torch

    b, inner = c.b, computed_in(input.dtype)
    dims = list(range(input.rank - len(normalized_shape), input.rank))
    small = torch.finfo(inner).eps if eps is None else eps
    count = count_of(b, input, dims, inner)

    def add(v: Scalar, total: Scalar) -> Scalar:
        v = dtypes.convert(v, input.dtype, inner)
        return arith.addf(total, arith.mulf(v, v))

    total = b.reduce([input], dims, [(0, inner)], add)[0]

    def root(v: Scalar, n: Scalar) -> Scalar:
        return math.rsqrt(arith.addf(arith.divf(v, n), dtypes.constant(small, inner)))

    kept = [1 if d in dims else n for d, n in enumerate(input.shape)]
    rstd = b.reshape(b.map([total, count], total.shape, inner, root), kept)
    zero = b.full((), inner, 0)
    return _results(c, _apply(c, input, zero, rstd, weight, None, input.dtype), rstd)


@lowers("native_group_norm.default")
def _group_norm(
    c: Call, input: Tensor, weight: Tensor | None, bias: Tensor | None, N: Any, C: Any,  # noqa: N803
    HxW: Any, group: int, eps: float,  # noqa: N803
) -> Any:  # fmt: skip
    b, places = c.b, input.shape[2:]
    shape = (input.shape[0], group, input.shape[1] // group, *places)
    x = b.reshape(input, shape)
    mean, rstd = _statistics(c, x, range(2, x.rank), eps)
    by_channel = (group, shape[2], *[1] * len(places))
    weight, bias = (None if t is None else b.reshape(t, by_channel) for t in (weight, bias))
    return _results(c, _apply(c, x, mean, rstd, weight, bias, input.dtype), mean, rstd)


def _by_channel(c: Call, x: Tensor, t: Tensor | None) -> Tensor | None:
    return None if t is None else c.b.reshape(t, (t.shape[0], *[1] * (x.rank - 2)))


@lowers("_native_batch_norm_legit_no_training.default")
def _batch_norm(
    c: Call, input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor,
    running_var: Tensor, momentum: float, eps: float,
) -> Any:  # fmt: skip
    inner = computed_in(input.dtype)

    def root(v: Scalar) -> Scalar:
        v = dtypes.convert(v, running_var.dtype, inner)
        return math.rsqrt(arith.addf(v, dtypes.constant(eps, inner)))

    rstd = c.b.map([running_var], running_var.shape, inner, root)
    mean, rstd, weight, bias = (
        _by_channel(c, input, t) for t in (c.b.cast(running_mean, inner), rstd, weight, bias)
    )
    made = _apply(c, input, mean, rstd, weight, bias, input.dtype)
    return made, c.b.full((0,), inner, 0), c.b.full((0,), inner, 0)


@lowers("_native_batch_norm_legit.no_stats")
def _batch_norm_of_itself(
    c: Call, input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool,
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    mean, rstd = _statistics(c, input, [0, *range(2, input.rank)], eps)
    weight, bias = _by_channel(c, input, weight), _by_channel(c, input, bias)
    return _results(c, _apply(c, input, mean, rstd, weight, bias, input.dtype), mean, rstd)
