"""Operations that move elements: views, cuts, joins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlir import ir
from mlir.dialects import arith

from . import dtypes
from .builder import Builder, Tensor, is_empty
from .orders import Meta
from .registry import Call, axis, lowers

Scalar = Any


@lowers("view.default", "reshape.default", "_unsafe_view.default", "unsqueeze.default",
        "squeeze.dim", "squeeze.dims", "squeeze.default", "flatten.using_ints",
        "unflatten.int", "view_copy.default", "_reshape_alias.default")  # fmt: skip
def _reshape(c: Call, self: Tensor, **_: Any) -> Tensor:
    return c.b.reshape(self, c.shape)


@lowers("permute.default", "permute_copy.default")
def _permute(c: Call, self: Tensor, dims: Sequence[int]) -> Tensor:
    return c.b.permute(self, [axis(d, self.rank) for d in dims])


@lowers("transpose.int", "t.default")
def _transpose(c: Call, self: Tensor, dim0: int = 0, dim1: int = 1) -> Tensor:
    dims = list(range(self.rank))
    if self.rank > 1:
        first, second = axis(dim0, self.rank), axis(dim1, self.rank)
        dims[first], dims[second] = second, first
    return c.b.permute(self, dims)


@lowers("expand.default", "expand_copy.default")
def _expand(c: Call, self: Tensor, **_: Any) -> Tensor:
    return c.b.expand(self, c.shape)


def _inside(place: Any, size: Any) -> Any:
    """A position, counted from the end where it is negative, at most the extent."""
    if not isinstance(size, int):
        return place + size if isinstance(place, int) and place < 0 else place
    return max(0, min(place + size if place < 0 else place, size))


@lowers("slice.Tensor")
def _slice(
    c: Call, self: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    dim = axis(dim, self.rank)
    first = 0 if start is None else start
    first = _inside(first, self.shape[dim]) if isinstance(first, int) else first
    return c.b.slice(self, dim, first, c.shape[dim], step)


@lowers("select.int")
def _select(c: Call, self: Tensor, dim: int, index: Any) -> Tensor:
    dim = axis(dim, self.rank)
    place = index
    if isinstance(index, int):
        place = index + self.shape[dim] if index < 0 else index
    return c.b.reshape(c.b.slice(self, dim, place, 1), c.shape)


@lowers("slice_scatter.default")
def _slice_scatter(
    c: Call, self: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None,
    step: int = 1,
) -> Tensor:  # fmt: skip
    dim = axis(dim, self.rank)
    offsets, steps = [0] * self.rank, [1] * self.rank
    offsets[dim] = _inside(start or 0, self.shape[dim])
    steps[dim] = step
    return c.b.insert(c.b.cast(src, c.dtype), self, offsets, steps)


@lowers("select_scatter.default")
def _select_scatter(c: Call, self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    dim = axis(dim, self.rank)
    offsets = [0] * self.rank
    offsets[dim] = index + self.shape[dim] if index < 0 else index
    shape = tuple(1 if d == dim else n for d, n in enumerate(self.shape))
    return c.b.insert(c.b.reshape(c.b.cast(src, c.dtype), shape), self, offsets, [1] * self.rank)


@lowers("cat.default")
def _cat(c: Call, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    from mlir.dialects import tensor

    dim = axis(dim, len(c.shape))
    parts = [c.b.cast(t, c.dtype) for t in tensors if not is_empty(t.shape)]
    if not parts:
        return c.full(0)
    if len(parts) == 1:
        return parts[0]
    made = tensor.ConcatOp(c.b.type_of(c.shape, c.dtype), dim, [t.value for t in parts])
    return Tensor(made.result, c.shape, c.dtype)


@lowers("split_with_sizes.default", "split.Tensor", "unbind.int", "chunk.default",
        "split_with_sizes_copy.default")  # fmt: skip
def _split(c: Call, self: Tensor, dim: int = 0, **_: Any) -> tuple[Tensor, ...]:
    dim = axis(dim, self.rank)
    made, start = [], 0
    for part in c.value:
        size = part.shape[dim] if part.dim() == self.rank else 1
        cut = c.b.slice(self, dim, start, size)
        made.append(c.b.reshape(cut, tuple(part.shape)))
        start += size
    return tuple(made)


@lowers("repeat.default")
def _repeat(c: Call, self: Tensor, repeats: Sequence[int]) -> Tensor:
    """Every dim beside one of its repetitions."""
    shape = [1] * (len(repeats) - self.rank) + list(self.shape)
    apart = [n for pair in ((1, n) for n in shape) for n in pair]
    wide = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    return c.b.reshape(c.b.expand(c.b.reshape(self, apart), wide), c.shape)


@lowers("flip.default")
def _flip(c: Call, self: Tensor, dims: Sequence[int]) -> Tensor:
    turned = {axis(d, self.rank) for d in dims}
    return read_at(
        c, self, [],
        lambda place, d, _: arith.subi(arith.subi(c.b.extent(self.shape[d]), c.b.index(1)), place)
        if d in turned else place,
    )  # fmt: skip


@lowers("roll.default")
def _roll(c: Call, self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """A read that goes on at the start of a dim behind its end."""
    if is_empty(self.shape):
        return self
    if not dims:
        flat = c.b.reshape(self, (math.prod(self.shape),))
        return c.b.reshape(_rolled(c, flat, {0: shifts[0]}), c.shape)
    by: dict[int, int] = {}
    for d, shift in zip(dims, shifts, strict=True):
        by[axis(d, self.rank)] = by.get(axis(d, self.rank), 0) + shift
    return _rolled(c, self, by)


def _rolled(c: Call, x: Tensor, by: dict[int, int]) -> Tensor:
    if not all(isinstance(x.shape[d], int) for d in by):

        def where(place: Scalar, d: int, _: Any) -> Scalar:
            if d not in by:
                return place
            extent = c.b.extent(x.shape[d])
            moved = arith.addi(place, extent)
            return arith.remui(arith.subi(moved, arith.remsi(c.b.index(by[d]), extent)), extent)

        return read_at(Call(c.b, Meta(x.shape, x.dtype)), x, [], where)
    places = [
        ir.AffineExpr.get_mod(ir.AffineExpr.get_dim(d) + -by[d] % x.shape[d], x.shape[d])
        if by.get(d, 0) % x.shape[d] else ir.AffineExpr.get_dim(d)
        for d in range(x.rank)
    ]  # fmt: skip
    made = c.b.generic(
        [(x.value, ir.AffineMap.get(x.rank, 0, places))],
        [(c.b.empty(x.shape, x.dtype), ir.AffineMap.get_identity(x.rank))], (),
        lambda element, _: element,
    )[0]  # fmt: skip
    return Tensor(made, x.shape, x.dtype)


def read_at(c: Call, x: Tensor, inputs: list[Tensor], where: Any) -> Tensor:
    """Elements of x at computed places. where: the index along a dim of x, from the index along
    the dim of the result, the dim, and the elements of ``inputs``."""
    from mlir.dialects import tensor

    def body(*elements: Scalar) -> Scalar:
        places = [where(Builder.position(d), d, elements) for d in range(x.rank)]
        return dtypes.convert(tensor.extract(x.value, places), x.dtype, c.dtype)

    return c.b.map(inputs, c.shape, c.dtype, body)


@lowers("constant_pad_nd.default")
def _pad(c: Call, self: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    low, high = [0] * self.rank, [0] * self.rank
    for i in range(len(pad) // 2):
        low[-1 - i], high[-1 - i] = pad[2 * i], pad[2 * i + 1]
    return c.b.reshape(c.b.pad(self, low, high, value), c.shape)


def _triangle(c: Call, x: Tensor, diagonal: int, is_lower: bool) -> Tensor:
    index, rank = ir.IndexType.get(), x.rank

    def keeps() -> Scalar:
        row = arith.addi(Builder.position(rank - 2), arith.ConstantOp(index, diagonal).result)
        kind = arith.CmpIPredicate.sle if is_lower else arith.CmpIPredicate.sge
        return arith.cmpi(kind, Builder.position(rank - 1), row)

    def body(value: Scalar) -> Scalar:
        return arith.select(keeps(), value, dtypes.constant(0, c.dtype))

    return c.b.map([x], c.shape, c.dtype, body)


@lowers("tril.default")
def _tril(c: Call, self: Tensor, diagonal: int = 0) -> Tensor:
    return _triangle(c, self, diagonal, True)


@lowers("triu.default")
def _triu(c: Call, self: Tensor, diagonal: int = 0) -> Tensor:
    return _triangle(c, self, diagonal, False)


@lowers("diagonal.default")
def _diagonal(c: Call, self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    first, second = axis(dim1, self.rank), axis(dim2, self.rank)
    others = [d for d in range(self.rank) if d not in (first, second)]

    def where(_: Scalar, d: int, __: Any) -> Scalar:
        last = Builder.position(len(c.shape) - 1)
        if d == first:
            return arith.addi(last, c.b.index(max(0, -offset)))
        if d == second:
            return arith.addi(last, c.b.index(max(0, offset)))
        return Builder.position(others.index(d))

    return _read_with(c, self, where)


def _read_with(c: Call, x: Tensor, where: Any) -> Tensor:
    from mlir.dialects import tensor

    def body() -> Scalar:
        return tensor.extract(x.value, [where(None, d, ()) for d in range(x.rank)])

    return c.b.map([], c.shape, c.dtype, body)
