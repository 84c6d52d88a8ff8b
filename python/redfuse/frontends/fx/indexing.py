"""Operations that read or write at places that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith

from . import dtypes
from .builder import Builder, Tensor, refuse
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
    if self.rank == 0:
        return self
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
    if self.rank == 0:
        return c.b.reshape(self, c.shape)
    index = c.b.reshape(index, c.shape)

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
