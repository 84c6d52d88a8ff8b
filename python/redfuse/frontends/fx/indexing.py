"""Operations that read or write at places that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith

from . import dtypes
from .builder import Builder, Tensor, refuse
from .pointwise import computed_in, positions
from .registry import Call, axis, lowers

Scalar = Any


def place_of(b: Builder, index: Scalar, dtype: Any, extent: Any) -> Scalar:
    """An index of type index, counted from the end where it is negative."""
    at = arith.index_cast(ir.IndexType.get(), index)
    if not dtypes.is_signed(dtype):
        return at
    is_behind = arith.cmpi(arith.CmpIPredicate.slt, at, b.index(0))
    return arith.select(is_behind, arith.addi(at, b.extent(extent)), at)


def _extract(x: Tensor, places: Sequence[Scalar]) -> Scalar:
    from mlir.dialects import tensor

    return tensor.extract(x.value, list(places))


@lowers("embedding.default")
def _embedding(c: Call, weight: Tensor, indices: Tensor, **_: Any) -> Tensor:
    rank = indices.rank
    wide = c.b.reshape(indices, (*indices.shape, 1))

    def body(row: Scalar) -> Scalar:
        return _extract(
            weight, [place_of(c.b, row, indices.dtype, weight.shape[0]), Builder.position(rank)]
        )

    return c.b.map([wide], c.shape, c.dtype, body)


@lowers("index_select.default")
def _index_select(c: Call, self: Tensor, dim: int, index: Tensor) -> Tensor:
    dim = axis(dim, self.rank)
    shape = [1] * self.rank
    shape[dim] = c.shape[dim]
    wide = c.b.reshape(index, shape)

    def body(row: Scalar) -> Scalar:
        places = [Builder.position(d) for d in range(self.rank)]
        places[dim] = place_of(c.b, row, index.dtype, self.shape[dim])
        return _extract(self, places)

    return c.b.map([wide], c.shape, c.dtype, body)


@lowers("gather.default")
def _gather(c: Call, self: Tensor, dim: int, index: Tensor, **_: Any) -> Tensor:
    dim = axis(dim, self.rank)

    def body(row: Scalar) -> Scalar:
        places = [Builder.position(d) for d in range(self.rank)]
        if places:
            places[dim] = place_of(c.b, row, index.dtype, self.shape[dim])
        return _extract(self, places)

    return c.b.map([index], c.shape, c.dtype, body)


@lowers("index.Tensor", "_unsafe_index.Tensor")
def _index(c: Call, self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """``self[i, :, j]``: dims of indices stand where the first was, or in front of all where they
    are not neighbours."""
    given = list(indices) + [None] * (self.rank - len(indices))
    if any(t is not None and t.dtype == torch.bool for t in given):
        refuse("an index by a mask has as many elements as its data says; expected integers")
    at = [d for d, t in enumerate(given) if t is not None]
    rank = max(t.rank for t in given if t is not None)
    first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    others = [d for d in range(self.rank) if given[d] is None]
    after = len([d for d in others if d >= first]) if first == at[0] else len(others)
    tensors = [
        c.b.reshape(given[d], (*given[d].shape, *[1] * after)) for d in at
    ]  # fmt: skip

    def body(*rows: Scalar) -> Scalar:
        places: list[Scalar] = [None] * self.rank
        for d, row in zip(at, rows, strict=True):
            places[d] = place_of(c.b, row, given[d].dtype, self.shape[d])
        for i, d in enumerate(others):
            before = i < len(c.shape) - rank - after
            places[d] = Builder.position(i if before else i + rank)
        return _extract(self, places)

    return c.b.map(tensors, c.shape, c.dtype, body)


def _topk_by_sort(
    c: Call, x: Tensor, dim: int, k: Any, is_most: bool, shapes: Sequence[Any]
) -> tuple[Tensor, Tensor]:
    """The first k of a stable sort along a dim, and where they were."""
    places = positions(Call(c.b, _Meta(x.shape, torch.int64)), dim, lambda p: p)
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
        a, b = block.arguments[:2]
        if x.dtype.is_floating_point:
            kind = arith.CmpFPredicate.OGE if is_most else arith.CmpFPredicate.OLE
            stays = arith.cmpf(kind, a, b)
        else:
            signed = dtypes.is_signed(x.dtype)
            of = arith.CmpIPredicate
            most, least = (of.sge, of.sle) if signed else (of.uge, of.ule)
            stays = arith.cmpi(most if is_most else least, a, b)
        ir.Operation.create("tm_tensor.yield", operands=[stays])
    values = Tensor(op.results[0], x.shape, x.dtype)
    where = Tensor(op.results[1], x.shape, torch.int64)
    return (c.b.reshape(c.b.slice(values, dim, 0, k), shapes[0]),
            c.b.reshape(c.b.slice(where, dim, 0, k), shapes[1]))  # fmt: skip


class _Meta:
    def __init__(self, shape: Any, dtype: Any):
        self.shape, self.dtype = shape, dtype


@lowers("topk.default")
def _topk(
    c: Call, self: Tensor, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    shapes = [tuple(v.shape) for v in c.value]
    return _topk_by_sort(c, self, axis(dim, self.rank), k, largest, shapes)


@lowers("sort.default", "sort.stable")
def _sort(c: Call, self: Tensor, dim: int = -1, descending: bool = False, **_: Any) -> Any:
    shapes = [tuple(v.shape) for v in c.value]
    dim = axis(dim, self.rank)
    return _topk_by_sort(c, self, dim, self.shape[dim], descending, shapes)


def scan(c: Call, x: Tensor, dim: int, start: Any, inner: Any, body: Any) -> Tensor:
    """Every prefix of a dim folded."""
    x = c.b.cast(x, inner)
    out = c.b.full(x.shape, inner, start)
    shape = tuple(n for d, n in enumerate(x.shape) if d != dim)
    total = c.b.full(shape, inner, start)
    i64 = ir.IntegerType.get_signless(64)
    op = ir.Operation.create(
        "tm_tensor.scan", results=[out.value.type, total.value.type],
        operands=[x.value, out.value, total.value], regions=1,
        attributes={
            "dimension": ir.IntegerAttr.get(i64, dim), "inclusive": ir.BoolAttr.get(True),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 2]),
        },
    )  # fmt: skip
    element = dtypes.element_type(inner)
    block = op.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        made = body(block.arguments[0], block.arguments[1])
        ir.Operation.create("tm_tensor.yield", operands=[made])
    return c.b.cast(Tensor(op.results[0], x.shape, inner), c.dtype)


@lowers("cumsum.default")
def _cumsum(c: Call, self: Tensor, dim: int, **_: Any) -> Tensor:
    if self.rank == 0:
        return c.b.cast(self, c.dtype)
    inner = computed_in(c.dtype)
    add = arith.addf if inner.is_floating_point else arith.addi
    return scan(c, self, axis(dim, self.rank), 0, inner, add)


@lowers("cumprod.default")
def _cumprod(c: Call, self: Tensor, dim: int, **_: Any) -> Tensor:
    if self.rank == 0:
        return c.b.cast(self, c.dtype)
    inner = computed_in(c.dtype)
    times = arith.mulf if inner.is_floating_point else arith.muli
    return scan(c, self, axis(dim, self.rank), 1, inner, times)
