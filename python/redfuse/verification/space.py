"""Iteration spaces: small ones that stand for large ones.

A derivation may hold for one number of elements only (a mean divides by it). So that 4096 elements
can be checked with seven numbers, an element of a folded dim counts several times: sums and
products over the dim are weighted.

A value is an array with one axis for each iteration dim, of extent 1 where it does not depend on
the dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arithmetic import Arithmetic, NotInterpretable

Range = tuple[int, int]


@dataclass(frozen=True)
class Space:
    """extents: numbers along each dim. weights: how often each of them counts, by dim."""

    extents: tuple[int, ...]
    weights: tuple[tuple[int, ...], ...]

    @classmethod
    def standing_for(
        cls, extents: Sequence[int | None], over: Sequence[int], elements: int, others: int
    ) -> Space:
        """At most ``elements`` numbers along folded dims and ``others`` along the others.

        An extent that is not known (None) counts as 6 elements.
        """
        sizes, weights = [], []
        for dim, extent in enumerate(extents):
            count = 6 if extent is None else extent
            size = min(count, elements if dim in over else others)
            sizes.append(size)
            if dim in over and size:
                # Unequal, so that a wrong weight shows.
                share, rest = divmod(count, size)
                weights.append(tuple(share + (1 if k < rest else 0) for k in range(size)))
            else:
                weights.append((1,) * size)
        return cls(tuple(sizes), tuple(weights))

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.extents)

    def ranges(self, over: Sequence[int] = (), cut: Range | None = None) -> list[Range]:
        """The whole space, or the part of it with ``cut`` along the first of the folded dims that
        can be cut."""
        parts = [(0, n) for n in self.extents]
        if cut is not None:
            parts[self.cut_dim(over)] = cut
        return parts

    def cut_dim(self, over: Sequence[int]) -> int:
        """The folded dim with the most elements."""
        return max(over, key=lambda dim: self.extents[dim])

    def weight(self, dims: Sequence[int], ranges: Sequence[Range]) -> Any:
        """How often the elements of ``ranges`` along ``dims`` count, as an array."""
        total = np.ones([1] * self.rank, np.int64)
        for dim in dims:
            begin, end = ranges[dim]
            shape = [1] * self.rank
            shape[dim] = end - begin
            total = total * np.asarray(self.weights[dim][begin:end], np.int64).reshape(shape)
        return total

    def positions(self, dim: int, ranges: Sequence[Range]) -> Any:
        """Where the elements along ``dim`` are: an element that counts n times stands for n
        places, and is at the first."""
        begin, end = ranges[dim]
        starts = np.concatenate([[0], np.cumsum(self.weights[dim])])[:-1]
        shape = [1] * self.rank
        shape[dim] = end - begin
        return np.asarray(starts[begin:end], np.int64).reshape(shape)

    def part(self, value: Any, ranges: Sequence[Range]) -> Any:
        """``value`` of the whole space, in ``ranges``."""
        index = tuple(
            slice(*r) if size != 1 or r[0] == r[1] else slice(None)
            for r, size in zip(ranges, value.shape, strict=True)
        )
        return value[index]


def reduce(
    numbers: Arithmetic, space: Space, ranges: Sequence[Range], reducer: str, over: Sequence[int],
    operands: Sequence[Any],
) -> list[Any]:  # fmt: skip
    """The results of a reduction over ``over`` (kept as axes of extent 1)."""
    shape = list(np.broadcast_shapes(*(np.shape(v) for v in operands)))
    for dim in over:
        shape[dim] = ranges[dim][1] - ranges[dim][0]
    full = [np.broadcast_to(v, shape) for v in operands]
    axes = tuple(over)
    if reducer in ("argmax", "argmin"):
        return _select(numbers, full, axes, reducer == "argmax")
    (value,) = full
    weights = np.broadcast_to(space.weight(over, ranges), shape)
    is_exact = value.dtype == object
    if reducer == "add":
        if value.dtype == bool:
            value = value.astype(np.int64)
        return [np.sum(value * (weights.astype(object) if is_exact else weights), axis=axes,
                       keepdims=True)]  # fmt: skip
    if reducer == "mul":
        return [np.prod(value ** (weights.astype(object) if is_exact else weights), axis=axes,
                        keepdims=True)]  # fmt: skip
    if reducer in ("and", "or", "xor"):
        kind: Any = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[reducer]
        if reducer == "xor":
            value = np.where(weights % 2 == 1, value, np.zeros_like(value))
        initial = {"initial": True} if reducer == "and" and value.dtype == bool else {}
        return [kind.reduce(value, axis=axes, keepdims=True, **initial)]
    if reducer not in numbers.table:
        raise NotInterpretable(f"the reducer '{reducer}' is not interpreted")
    return [_fold(numbers, reducer, value, axes)]


def _fold(numbers: Arithmetic, reducer: str, value: Any, axes: tuple[int, ...]) -> Any:
    is_max = reducer.startswith("max")
    for axis in axes:
        if value.shape[axis] == 0:
            empty = numbers.number(float("-inf") if is_max else float("inf"))
            shape = [1 if d == axis else n for d, n in enumerate(value.shape)]
            value = np.broadcast_to(empty, shape)
            continue
        parts = np.split(value, value.shape[axis], axis=axis)
        result = parts[0]
        for part in parts[1:]:
            result = numbers.table[reducer](result, part)
        value = result
    return value


def _select(numbers: Arithmetic, full: list[Any], axes: tuple[int, ...], largest: bool) -> list:
    """argmax or argmin: the lowest index wins among equals, NaN wins over numbers."""
    key, index = full
    best = _fold(numbers, "maximumf" if largest else "minimumf", key, axes)
    nan = numbers.is_nan(key) & numbers.is_nan(best)
    is_best = np.asarray(key == best, bool) | nan
    last = np.iinfo(np.int64).max
    first = np.where(is_best, index, last)
    return [best, np.min(first, axis=axes, keepdims=True, initial=last)]


def combine(numbers: Arithmetic, reducer: str, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Two partial results of a reducer as one."""
    if reducer in ("argmax", "argmin"):
        (value, index), (other, later) = a, b
        better = np.asarray(other > value if reducer == "argmax" else other < value, bool)
        nan, more = numbers.is_nan(value), numbers.is_nan(other)
        better = better | (more & ~nan)
        equal = np.asarray(other == value, bool) | (nan & more)
        take = better | (equal & np.asarray(later < index, bool))
        return [np.where(take, other, value), np.where(take, later, index)]
    names = {"add": "addf", "mul": "mulf", "and": "andi", "or": "ori", "xor": "xori"}
    return [numbers.apply(names.get(reducer, reducer), a[0], b[0])]


def scattered(numbers: Arithmetic, positions: Sequence[Any]) -> Any:
    """What stands for an element of a tensor from outside: a number made of its position."""
    total: Any = 0
    for k, position in enumerate(positions):
        total = total * 7 + (np.asarray(position, np.int64) + 3 * k)
    return numbers.to_float(total * 37 % 101) / 40 + numbers.number(0.25)
