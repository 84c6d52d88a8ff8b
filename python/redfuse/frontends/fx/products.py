"""Products: of matrices, convolutions."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith

from . import dtypes
from .builder import Builder, Tensor, refuse
from .pointwise import computed_in, elementwise
from .registry import Call, lowers

Scalar = Any
# Multiplications for an element of a result that take less time than a pass over the results.
_FEW_PRODUCTS = 256


def _product(c: Call, dims: str, left: Tensor, right: Tensor, dtype: Any = None) -> Tensor:
    made = c.dtype if dtype is None else dtype
    return c.b.contract(dims, left, right, made, computed_in(c.dtype))


@lowers("mm.default")
def _mm(c: Call, self: Tensor, mat2: Tensor) -> Tensor:
    return _product(c, "mk,kn->mn", self, mat2)


@lowers("bmm.default")
def _bmm(c: Call, self: Tensor, mat2: Tensor) -> Tensor:
    return _product(c, "bmk,bkn->bmn", self, mat2)


@lowers("mv.default")
def _mv(c: Call, self: Tensor, vec: Tensor) -> Tensor:
    return _product(c, "mk,k->m", self, vec)


@lowers("dot.default")
def _dot(c: Call, self: Tensor, tensor: Tensor) -> Tensor:
    return _product(c, "k,k->", self, tensor)


def _with_bias(c: Call, bias: Tensor, made: Tensor, beta: Any, alpha: Any) -> Tensor:
    """alpha * made + beta * bias, rounded once."""

    def body(x: Scalar, y: Scalar) -> Scalar:
        is_float = computed_in(c.dtype).is_floating_point
        times, plus = (arith.mulf, arith.addf) if is_float else (arith.muli, arith.addi)
        inner = computed_in(c.dtype)
        x = x if alpha == 1 else times(x, dtypes.constant(alpha, inner))
        y = y if beta == 1 else times(y, dtypes.constant(beta, inner))
        return plus(x, y)

    return elementwise(c, [made, bias], c.dtype, body)


@lowers("addmm.default")
def _addmm(
    c: Call, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    made = _product(c, "mk,kn->mn", mat1, mat2, computed_in(c.dtype))
    return _with_bias(c, self, made, beta, alpha)


@lowers("baddbmm.default")
def _baddbmm(
    c: Call, self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    made = _product(c, "bmk,bkn->bmn", batch1, batch2, computed_in(c.dtype))
    return _with_bias(c, self, made, beta, alpha)


@lowers("linear.default")
def _linear(c: Call, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    rows = "abcdefg"[: input.rank - 1]
    column = "n" if weight.rank == 2 else ""
    inner = computed_in(c.dtype)
    made = _product(
        c, f"{rows}k,{column}k->{rows}{column}", input, weight, c.dtype if bias is None else inner
    )
    return made if bias is None else elementwise(c, [made, bias], c.dtype, arith.addf)


@lowers("_scaled_mm.default")
def _scaled_mm(
    c: Call, self: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor,
    bias: Tensor | None = None, scale_result: Tensor | None = None, out_dtype: Any = None,
    use_fast_accum: bool = False,
) -> Tensor:  # fmt: skip
    """Of floats of 8 bits, with a scale for all of an operand, or for each row and column."""
    m, n = c.shape
    for name, scale, rows in (("scale_a", scale_a, (m, 1)), ("scale_b", scale_b, (1, n))):
        if scale.dtype != torch.float32 or scale.shape not in ((), (1,), (1, 1), rows):
            refuse(
                f"{name} of shape {list(scale.shape)} and {scale.dtype}; expected one float32 or "
                f"{list(rows)} of them"
            )
    made = _product(c, "mk,kn->mn", self, mat2, torch.float32)
    more = [x for x in (bias, scale_result) if x is not None]

    def body(v: Scalar, a: Scalar, b: Scalar, *rest: Scalar) -> Scalar:
        v = arith.mulf(arith.mulf(v, a), b)
        if bias is not None:
            v, rest = arith.addf(v, rest[0]), rest[1:]
        if c.dtype.itemsize > 1:
            return v
        if scale_result is not None:
            v = arith.mulf(v, rest[0])
        largest = torch.finfo(c.dtype).max
        v = arith.minimumf(v, dtypes.constant(largest, torch.float32))
        return arith.maximumf(v, dtypes.constant(-largest, torch.float32))

    return elementwise(c, [made, scale_a, scale_b, *more], torch.float32, body)


# ---- convolutions


@lowers("convolution.default")
def _convolution(
    c: Call, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int,
) -> Tensor:  # fmt: skip
    n = weight.rank - 2
    stride, padding, dilation = (_each(v, n) for v in (stride, padding, dilation))
    if transposed:
        more = _each(output_padding, n)
        made = _transposed(c, input, weight, stride, padding, dilation, more, groups)
    else:
        x = input
        if groups > 1:  # before the padding: nothing stands between it and the windows
            x = c.b.reshape(x, (x.shape[0], groups, weight.shape[1], *x.shape[2:]))
        sides = [0] * (x.rank - n) + [*padding]
        x = c.b.pad(x, sides, sides, 0)
        made = _windows(c, x, weight, stride, dilation, groups)
    if bias is None:
        return c.b.cast(made, c.dtype)
    shaped = c.b.reshape(bias, (bias.shape[0], *[1] * n))
    return elementwise(c, [made, shaped], c.dtype, arith.addf)


@lowers("convolution_backward.default")
def _convolution_backward(
    c: Call, grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Any,
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int, output_mask: Sequence[bool],
) -> Any:  # fmt: skip
    """Of the input a convolution of the other kind; of the weight a sum over batch and places."""
    b, n = c.b, weight.rank - 2
    stride, padding, dilation = (_each(v, n) for v in (stride, padding, dilation))
    sides = [0, 0, *padding]
    made: list[Tensor | None] = [None, None, None]
    if output_mask[0]:
        call = Call(b, c.value[0])
        if transposed:
            x = _windows(
                call, b.pad(grad_output, sides, sides, 0), weight, stride, dilation, groups
            )
        else:
            more = [size - ((m - 1) * s - 2 * p + t * (k - 1) + 1) for size, m, s, p, t, k in zip(
                input.shape[2:], grad_output.shape[2:], stride, padding, dilation,
                weight.shape[2:], strict=True)]  # fmt: skip
            x = _transposed(call, grad_output, weight, stride, padding, dilation, more, groups)
        made[0] = b.cast(x, call.dtype)
    if output_mask[1]:
        wide, small = (grad_output, input) if transposed else (input, grad_output)
        wide = b.pad(wide, sides, sides, 0)
        made[1] = _weight_gradient(Call(b, c.value[1]), wide, small, stride, dilation, groups)
    if output_mask[2]:
        inner = computed_in(c.value[2].dtype)
        kind = grad_output.dtype

        def add(v: Scalar, total: Scalar) -> Scalar:
            return arith.addf(total, dtypes.convert(v, kind, inner))

        total = b.reduce([grad_output], [0, *range(2, 2 + n)], [(0, inner)], add)[0]
        made[2] = b.cast(total, c.value[2].dtype)
    return tuple(made)


def _weight_gradient(
    c: Call, wide: Tensor, small: Tensor, stride: Sequence[int], dilation: Sequence[int],
    groups: int,
) -> Tensor:  # fmt: skip
    """The dims: group, channel of the small one and of the wide one, places in the window; batch
    and places of the small one are added up."""
    b, inner, n = c.b, computed_in(c.dtype), len(stride)
    d = [ir.AffineDimExpr.get(i) for i in range(4 + 2 * n)]
    group, made, channel, inside, batch, places = (
        d[0],
        d[1],
        d[2],
        d[3 : 3 + n],
        d[3 + n],
        d[4 + n :],
    )
    at = [p * s + k * t for p, s, k, t in zip(places, stride, inside, dilation, strict=True)]
    x = b.reshape(wide, (wide.shape[0], groups, wide.shape[1] // groups, *wide.shape[2:]))
    y = b.reshape(small, (small.shape[0], groups, small.shape[1] // groups, *small.shape[2:]))
    shape = (groups, y.shape[2], x.shape[2], *c.shape[2:])
    total = _sum_of_products(b, x, y, shape, inner, [
        [batch, group, channel, *at], [batch, group, made, *places],
        [group, made, channel, *inside],
    ], 4 + 2 * n, 3 + n, _precision(b, x.shape[2]))  # fmt: skip
    return b.cast(b.reshape(total, c.shape), c.dtype)


def _each(values: Sequence[int], count: int) -> list[int]:
    return list(values) * count if len(values) == 1 else list(values)


def _windows(
    c: Call, x: Tensor, w: Tensor, stride: Sequence[int], dilation: Sequence[int], groups: int
) -> Tensor:
    """Sums over windows and channels, in the type that PyTorch computes in. The dims: batch,
    group, channel of the result, places; channel of the input, places in the window. ``x``
    may have its groups as a dim already."""
    b, inner, n = c.b, computed_in(c.dtype), w.rank - 2
    d = [ir.AffineDimExpr.get(i) for i in range(4 + 2 * n)]
    batch, group, made, places, channel, inside = (
        d[0], d[1], d[2], d[3 : 3 + n], d[3 + n], d[4 + n :]
    )  # fmt: skip
    at = [p * s + k * t for p, s, k, t in zip(places, stride, inside, dilation, strict=True)]
    if x.rank == w.rank:
        x = b.reshape(x, (x.shape[0], groups, w.shape[1], *x.shape[2:]))
    w = b.reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
    shape = (x.shape[0], groups, w.shape[1], *c.shape[2:])
    maps = [[batch, group, channel, *at], [group, made, channel, *inside],
            [batch, group, made, *places]]  # fmt: skip
    if groups == 1:  # a dim less for the planner to think about
        x, w = b.reshape(x, (x.shape[0], *x.shape[2:])), b.reshape(w, w.shape[1:])
        shape = (shape[0], *shape[2:])
        return _sum_of_products(b, x, w, shape, inner, [
            [_without(e, group) for e in map_ if e is not group] for map_ in maps
        ], 3 + 2 * n, 2 + n, b.precision.convolutions)  # fmt: skip
    precision = _precision(b, x.shape[2])
    total = _sum_of_products(b, x, w, shape, inner, maps, 4 + 2 * n, 3 + n, precision)
    return b.reshape(total, c.shape)


def _without(expr: Any, gone: Any) -> Any:
    """An expression of dims without one of them: those behind it move up."""
    if isinstance(expr, ir.AffineDimExpr):
        place = expr.position
        return ir.AffineDimExpr.get(place - (place > gone.position))
    if isinstance(expr, ir.AffineBinaryExpr):
        made = type(expr)
        return made.get(_without(expr.lhs, gone), _without(expr.rhs, gone))
    return expr


def _precision(b: Builder, channels: Any) -> str:
    """Filters of one channel gain nothing by less: they are no products of matrices."""
    return "highest" if channels == 1 else b.precision.convolutions


def _sum_of_products(
    b: Builder, x: Tensor, w: Tensor, shape: Sequence[Any], inner: Any, exprs: Any, dims: int,
    first: int, precision: str,
) -> Tensor:  # fmt: skip
    maps = [ir.AffineMap.get(dims, 0, e) for e in exprs]
    x, w, body = b.product(x, w, inner, precision)
    zeros = b.full(shape, inner, 0).value
    pairs = [(x.value, maps[0]), (w.value, maps[1])]
    made = b.generic(pairs, [(zeros, maps[2])], range(first, dims), body)[0]
    return Tensor(made, tuple(shape), inner)


def _transposed(
    c: Call, x: Tensor, w: Tensor, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], more: Sequence[int], groups: int,
) -> Tensor:  # fmt: skip
    """In phases where there are strides, else as one of stride 1."""
    is_static = all(isinstance(e, int) for e in (*x.shape, *w.shape, *c.shape))
    if is_static and any(s > 1 for s in stride):
        whole, cut = ([
            _Phases(k, s, p, t, shift * p)
            for k, s, p, t in zip(w.shape[2:], stride, padding, dilation, strict=True)
        ] for shift in (0, 1))  # fmt: skip
        products, least = (numbers.prod(d.count for d in of) for of in (whole, cut))
        dims = cut if products > least and products * w.shape[0] > _FEW_PRODUCTS * groups else whole
        # Else there would be more elements than taps of the window.
        if all(d.count <= d.size and d.first < e for d, e in zip(dims, x.shape[2:], strict=True)):
            return _phases(c, x, w, dims, groups)
    x, w = _spread(c.b, x, w, stride, padding, dilation, more, groups)
    return _windows(c, x, w, [1] * len(stride), dilation, groups)


class _Phases:
    """A dim of a transposed convolution, whose place y meets element i by tap k of the window where
    y + padding = stride * i + dilation * k.

    With y + shift = stride * q + r, the taps of phase r meet elements q + first, q + first + 1,
    ...: `count` of them. Without a shift nothing of the results is cut off; with one of the padding
    there are as few elements as a phase has taps."""

    def __init__(self, size: int, stride: int, padding: int, dilation: int, shift: int) -> None:
        self.size, self.stride, self.dilation, self.shift = size, stride, dilation, shift
        self.ahead = padding - shift
        met = self._met(self.ahead)
        self.first, self.count = met.start, len(met)

    def _met(self, ahead: int) -> range:
        """The elements that some phase meets, q left out."""
        places = [
            r + ahead - self.dilation * k for r in range(self.stride) for k in range(self.size)
        ]
        met = [place // self.stride for place in places if place % self.stride == 0]
        return range(min(met), max(met) + 1)

    def tap(self, r: Scalar, element: Scalar, b: Builder) -> tuple[Scalar, Scalar]:
        """Which tap of phase r meets an element, and whether there is one."""
        far = arith.addi(r, b.index(self.ahead - self.stride * self.first))
        far = arith.subi(far, arith.muli(element, b.index(self.stride)))
        last = self.dilation * (self.size - 1)
        is_there = arith.andi(
            arith.cmpi(arith.CmpIPredicate.sge, far, b.index(0)),
            arith.cmpi(arith.CmpIPredicate.sle, far, b.index(last)),
        )
        far = arith.minsi(arith.maxsi(far, b.index(0)), b.index(last))
        if self.dilation == 1:
            return far, is_there
        by = b.index(self.dilation)
        is_whole = arith.cmpi(arith.CmpIPredicate.eq, arith.remsi(far, by), b.index(0))
        return arith.divsi(far, by), arith.andi(is_there, is_whole)


def _phases(c: Call, x: Tensor, w: Tensor, dims: Sequence[_Phases], groups: int) -> Tensor:
    """A transposed convolution with strides, as a dense sum for each phase: over channels and
    elements, with results [batch, channels, q, r, ...]. There are no multiplications by the zeros
    between elements; where a phase has fewer taps than others, the missing ones are zeros."""
    b, inner, n = c.b, computed_in(c.dtype), len(dims)
    shifts = [d.shift for d in dims]
    count = [-(-(p + o) // d.stride) for p, o, d in zip(shifts, c.shape[2:], dims, strict=True)]
    low = [max(0, -d.first) for d in dims]
    high = []
    for i, (q, d, p) in enumerate(zip(count, dims, low, strict=True), 2):
        first, met = max(0, d.first), q + d.count - 1 - p
        there = min(met, x.shape[i] - first)
        if there != x.shape[i]:
            x = b.slice(x, i, first, there)
        high.append(met - there)
    x = b.pad(x, [0, 0, *low], [0, 0, *high], 0)
    w = _filters_of_phases(b, w, dims)
    made = w.shape[1]
    split = [groups] if groups > 1 else []
    x = b.reshape(x, (x.shape[0], *split, x.shape[1] // groups, *x.shape[2:]))
    w = b.reshape(w, (*split, w.shape[0] // groups, *w.shape[1:]))
    shape = [x.shape[0], *split, made]
    for q, d in zip(count, dims, strict=True):
        shape += [q, d.stride]
    names = iter(map(ir.AffineDimExpr.get, range(len(shape) + 1 + n)))
    batch, group, out = next(names), [next(names) for _ in split], next(names)
    places = [(next(names), next(names)) for _ in range(n)]
    channel, inside = next(names), list(names)
    met = [q + k for (q, _), k in zip(places, inside, strict=True)]
    total = _sum_of_products(b, x, w, shape, inner, [
        [batch, *group, channel, *met],
        [*group, channel, out, *[e for (_, r), k in zip(places, inside, strict=True)
                                 for e in (k, r)]],
        [batch, *group, out, *[e for pair in places for e in pair]],
    ], len(shape) + 1 + n, len(shape), _precision(b, w.shape[len(split)]))  # fmt: skip
    wide = [q * d.stride for q, d in zip(count, dims, strict=True)]
    total = b.reshape(total, (shape[0], groups * made, *wide))
    for i, (p, o) in enumerate(zip(shifts, c.shape[2:], strict=True)):
        if (p, o) != (0, wide[i]):
            total = b.slice(total, 2 + i, p, o)
    return total


def _filters_of_phases(b: Builder, w: Tensor, dims: Sequence[_Phases]) -> Tensor:
    """[channels, channels of the result, element, phase, ...]."""
    from mlir.dialects import tensor

    shape = [*w.shape[:2], *[e for d in dims for e in (d.count, d.stride)]]

    def body() -> Scalar:
        at = [Builder.position(i) for i in range(len(shape))]
        places, inside = at[:2], None
        for i, d in enumerate(dims):
            tap, is_there = d.tap(at[3 + 2 * i], at[2 + 2 * i], b)
            places.append(tap)
            inside = is_there if inside is None else arith.andi(inside, is_there)
        return arith.select(inside, tensor.extract(w.value, places), dtypes.constant(0, w.dtype))

    return b.map([], shape, w.dtype, body)


def _spread(
    b: Builder, x: Tensor, w: Tensor, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], more: Sequence[int], groups: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """A transposed convolution as one of stride 1: zeros between the elements and around them,
    the window turned round, its channels exchanged."""
    n = w.rank - 2
    low = [t * (k - 1) - p for t, k, p in zip(dilation, w.shape[2:], padding, strict=True)]
    high = [a + m for a, m in zip(low, more, strict=True)]
    if any(s > 1 for s in stride):
        wide = [(e - 1) * s + 1 for e, s in zip(x.shape[2:], stride, strict=True)]
        zeros = b.full((*x.shape[:2], *wide), x.dtype, 0)
        x = b.insert(x, zeros, [0] * x.rank, [1, 1, *stride])
    x = b.pad(x, [0, 0, *low], [0, 0, *high], 0)
    made = w.shape[1]
    w = b.reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
    w = b.permute(w, [0, 2, 1, *range(3, 3 + n)])
    w = b.reshape(w, (groups * made, *w.shape[2:]))
    if numbers.prod(w.shape[2:]) > 1:
        w = _turned(b, w, range(2, w.rank))
    return x, w


def _turned(b: Builder, w: Tensor, dims: Sequence[int]) -> Tensor:
    """The elements along some dims from the last to the first."""
    from mlir.dialects import tensor

    def body() -> Scalar:
        places = [Builder.position(i) for i in range(w.rank)]
        for d in dims:
            if w.shape[d] != 1:
                places[d] = arith.subi(b.index(w.shape[d] - 1), places[d])
        return tensor.extract(w.value, places)

    return b.map([], w.shape, w.dtype, body)
