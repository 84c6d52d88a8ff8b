"""Pooling: sums and maxima of windows."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith

from . import dtypes
from .builder import Builder, Tensor, refuse
from .pointwise import computed_in
from .reductions import lowest
from .registry import Call, lowers

Scalar = Any


def _each(values: Any, count: int, default: Any = None) -> list[int]:
    values = [values] if isinstance(values, int) else list(values if values is not None else [])
    values = values or list(default)
    return values * count if len(values) == 1 else values


def _maps(
    rank: int, window: int, stride: Sequence[int], dilation: Sequence[int]
) -> tuple[Any, Any, Any]:
    """Of the input, the window and the result; the window's dims come last."""
    d = [ir.AffineDimExpr.get(i) for i in range(rank + window)]
    lead = rank - window
    at = [d[lead + i] * stride[i] + d[rank + i] * dilation[i] for i in range(window)]
    return tuple(
        ir.AffineMap.get(rank + window, 0, e) for e in ([*d[:lead], *at], d[rank:], d[:rank])
    )  # type: ignore[return-value]


def _padded(
    c: Call, x: Tensor, shape: Sequence[Any], kernel: list[int], stride: list[int],
    padding: list[int], dilation: list[int], number: Any,
) -> Tensor:  # fmt: skip
    """With what the last windows reach, if they are rounded up."""
    window = len(kernel)
    high = []
    for i in range(window):
        size, made = x.shape[x.rank - window + i], shape[x.rank - window + i]
        if not isinstance(size, int) or not isinstance(made, int):
            high.append(padding[i])
            continue
        reach = (made - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1
        high.append(max(padding[i], reach - size - padding[i]))
    lead = [0] * (x.rank - window)
    return c.b.pad(x, [*lead, *padding], [*lead, *high], number)


def _inside(
    x: Tensor, shape: Sequence[Any], kernel: list[int], padding: list[int], dilation: list[int]
) -> list[int]:
    """Windows without what is behind the end of the input, where there is one window in a dim."""
    made = list(kernel)
    for i in range(len(kernel)):
        size, count = x.shape[x.rank - len(kernel) + i], shape[x.rank - len(kernel) + i]
        if isinstance(size, int) and isinstance(count, int) and count == 1:
            made[i] = min(kernel[i], max(1, (size + padding[i] - 1) // dilation[i] + 1))
    return made


def _max_pool(
    c: Call, x: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, window: int
) -> tuple[Tensor, Tensor]:
    kernel = _each(kernel_size, window)
    stride = _each(stride, window, kernel)
    padding, dilation = _each(padding, window), _each(dilation, window)
    value, places = c.value
    shape = tuple(value.shape)
    kernel = _inside(x, shape, kernel, padding, dilation)
    wide = _padded(c, x, shape, kernel, stride, padding, dilation, lowest(x.dtype))
    maps = _maps(x.rank, window, stride, dilation)
    lead, rank = x.rank - window, x.rank
    i64 = ir.IntegerType.get_signless(64)
    best = c.b.full(shape, x.dtype, lowest(x.dtype))
    first = c.b.full(shape, torch.int64, 0)

    def body(v: Scalar, _: Scalar, most: Scalar, place: Scalar) -> tuple[Scalar, Scalar]:
        at = c.b.index(0)
        for i in range(window):
            along = arith.muli(Builder.position(lead + i), c.b.index(stride[i]))
            along = arith.addi(
                along, arith.muli(Builder.position(rank + i), c.b.index(dilation[i]))
            )
            along = arith.subi(along, c.b.index(padding[i]))
            at = arith.addi(arith.muli(at, c.b.extent(x.shape[lead + i])), along)
        if x.dtype.is_floating_point:
            better = arith.cmpf(arith.CmpFPredicate.OGT, v, most)
            is_nan = arith.cmpf(arith.CmpFPredicate.UNO, v, v)
            better = arith.ori(better, is_nan)
            larger = arith.maximumf(v, most)
        else:
            better = arith.cmpi(arith.CmpIPredicate.sgt, v, most)
            larger = arith.maxsi(v, most)
        return larger, arith.select(better, arith.index_cast(i64, at), place)

    size = c.b.empty(kernel, x.dtype)
    made = c.b.generic(
        [(wide.value, maps[0]), (size, maps[1])], [(best.value, maps[2]), (first.value, maps[2])],
        range(rank, rank + window), body,
    )  # fmt: skip
    return Tensor(made[0], shape, x.dtype), Tensor(made[1], tuple(places.shape), torch.int64)


@lowers("max_pool2d_with_indices.default")
def _max_pool2d(
    c: Call, self: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    dilation: Any = 1, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    return _max_pool(c, self, kernel_size, stride, padding, dilation, 2)


@lowers("max_pool3d_with_indices.default")
def _max_pool3d(
    c: Call, self: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    dilation: Any = 1, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    return _max_pool(c, self, kernel_size, stride, padding, dilation, 3)


def _sums(
    c: Call, x: Tensor, shape: Sequence[Any], kernel: list[int], stride: list[int], inner: Any
) -> Tensor:
    window = len(kernel)
    maps = _maps(x.rank, window, stride, [1] * window)
    start = c.b.full(shape, inner, 0)
    add = arith.addf if inner.is_floating_point else arith.addi
    made = c.b.generic(
        [(x.value, maps[0]), (c.b.empty(kernel, x.dtype), maps[1])], [(start.value, maps[2])],
        range(x.rank, x.rank + window),
        lambda v, _, total: add(total, dtypes.convert(v, x.dtype, inner)),
    )  # fmt: skip
    return Tensor(made[0], tuple(shape), inner)


def _avg_pool(
    c: Call, x: Tensor, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool,
    divisor: int | None, window: int,
) -> Tensor:  # fmt: skip
    kernel = _each(kernel_size, window)
    stride, padding = _each(stride, window, kernel), _each(padding, window)
    inner = computed_in(c.dtype)
    divide = arith.divf if inner.is_floating_point else arith.divsi
    read = _inside(x, c.shape, kernel, padding, [1] * window)
    wide = _padded(c, x, c.shape, read, stride, padding, [1] * window, 0)
    total = _sums(c, wide, c.shape, read, stride, inner)
    if divisor is not None:
        counts = c.b.full((), inner, divisor)
    else:
        counts = _counts(c, x, kernel, stride, padding, count_include_pad, inner)
    return c.b.map([total, counts], c.shape, c.dtype,
                   lambda v, n: dtypes.convert(divide(v, n), inner, c.dtype))  # fmt: skip


def _counts(
    c: Call, x: Tensor, kernel: list[int], stride: list[int], padding: list[int],
    includes_padding: bool, inner: Any,
) -> Tensor:  # fmt: skip
    """How many elements each window has."""
    window = len(kernel)
    counts: list[list[int]] = []
    for i in range(window):
        size, made = x.shape[x.rank - window + i], c.shape[x.rank - window + i]
        if not isinstance(size, int) or not isinstance(made, int):
            if any(padding):
                refuse("average pooling of open extents with padding")
            counts.append([kernel[i]])
            continue
        low, high = (-padding[i], size + padding[i]) if includes_padding else (0, size)
        starts = [p * stride[i] - padding[i] for p in range(made)]
        counts.append([min(s + kernel[i], high) - max(s, low) for s in starts])
    if all(len(set(n)) == 1 for n in counts):
        return c.b.full((), inner, numbers.prod(n[0] for n in counts))
    import numpy as np
    from mlir.dialects import arith as arith_

    table = np.ones(1, np.float32)
    for n in counts:
        table = np.multiply.outer(table, np.array(n, np.float32))
    table = table.reshape([len(n) for n in counts])
    value = arith_.ConstantOp(
        ir.RankedTensorType.get(table.shape, ir.F32Type.get()),
        ir.DenseElementsAttr.get(table),
    ).result  # fmt: skip
    return c.b.cast(Tensor(value, table.shape, torch.float32), inner)


def _avg(window: int) -> Any:
    def lower(
        c: Call, self: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Tensor:  # fmt: skip
        return _avg_pool(c, self, kernel_size, stride, padding, count_include_pad,
                         divisor_override, window)  # fmt: skip

    return lower


for _window in (1, 2, 3):
    lowers(f"avg_pool{_window}d.default")(_avg(_window))
