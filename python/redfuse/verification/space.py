"""Iteration spaces: small ones that stand for large ones.

A derivation may hold for one number of elements only (a mean divides by it). So that 4096 elements
can be checked with seven numbers, an element of a folded dim counts several times: sums and
products over the dim are weighted.

A value is an array with one axis for each iteration dim, of extent 1 where it does not depend on
the dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


Combine = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


def reduce(
    numbers: Arithmetic, space: Space, ranges: Sequence[Range], reducer: str, over: Sequence[int],
    operands: Sequence[Any], rank_dim: int | None = None, declared: Declared | None = None,
) -> list[Any]:  # fmt: skip
    """The results of a reduction over ``over`` (kept as axes of extent 1).

    rank_dim: the dim of the ranks of a top-k. declared: the reducer, where the program has its own.
    """
    shape = list(np.broadcast_shapes(*(np.shape(v) for v in operands)))
    for dim in over:
        shape[dim] = ranges[dim][1] - ranges[dim][0]
    full = [np.broadcast_to(v, shape) for v in operands]
    axes = tuple(over)
    if declared is not None:
        return _declared(space, ranges, over, full, declared)
    if reducer == "topk":
        if rank_dim is None:
            raise NotInterpretable("a top-k without a dim for the ranks")
        return _best(full, axes, rank_dim, space.extents[rank_dim])
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
    """argmax or argmin: the lowest index wins among equals, and a NaN is as good as nothing."""
    key, index = full
    nothing = numbers.number(float("-inf") if largest else float("inf"))
    is_nan = np.asarray(numbers.is_nan(key), bool)
    key = np.where(is_nan, nothing, key)
    best = _fold(numbers, "maximumf" if largest else "minimumf", key, axes)
    is_best = np.asarray(key == best, bool) & ~is_nan
    last = np.iinfo(np.int64).max
    first = np.where(is_best, index, last)
    return [best, np.min(first, axis=axes, keepdims=True, initial=last)]


@dataclass(frozen=True)
class Declared:
    """A reducer of the program's own: identities as arrays, and two states to one."""

    identities: Sequence[Any]
    combine: Combine


def _declared(
    space: Space, ranges: Sequence[Range], over: Sequence[int], full: Sequence[Any],
    declared: Declared,
) -> list[Any]:  # fmt: skip
    """Elements in order, the last dim fastest; one that counts n times is combined n times."""
    shape = full[0].shape
    weights = np.broadcast_to(space.weight(over, ranges), shape)
    state = list(declared.identities)
    for position in np.ndindex(*(shape[d] for d in over)):
        index = tuple(
            slice(position[over.index(d)], position[over.index(d)] + 1) if d in over
            else slice(None)
            for d in range(len(shape))
        )  # fmt: skip
        element = [v[index] for v in full]
        count = int(weights[index].flat[0]) if weights[index].size else 0
        while count:
            if count & 1:
                state = declared.combine(state, element)
            element = declared.combine(element, element) if count > 1 else element
            count >>= 1
    return state


def prefixes(
    space: Space, ranges: Sequence[Range], dim: int, operands: Sequence[Any], declared: Declared,
    exclusive: bool = False,
) -> list[Any]:  # fmt: skip
    """All prefixes along ``dim``; of an element that counts n times, the last."""
    shape = list(np.broadcast_shapes(*(np.shape(v) for v in operands)))
    shape[dim] = ranges[dim][1] - ranges[dim][0]
    full = [np.broadcast_to(v, shape) for v in operands]
    state, parts = list(declared.identities), []
    for k in range(shape[dim]):
        index = tuple(slice(k, k + 1) if d == dim else slice(None) for d in range(len(shape)))
        part = [(ranges[dim][0] + k, ranges[dim][0] + k + 1) if d == dim else r
                for d, r in enumerate(ranges)]  # fmt: skip
        element = _declared(space, part, [dim], [v[index] for v in full], declared)
        before, state = state, declared.combine(state, element)
        parts.append(before if exclusive else state)
    if not parts:
        return [np.broadcast_to(e, shape) for e in declared.identities]
    return [
        np.concatenate([np.broadcast_to(p[i], [*shape[:dim], 1, *shape[dim + 1 :]])
                        for p in parts], axis=dim)
        for i in range(len(operands))
    ]  # fmt: skip


def _best(full: Sequence[Any], axes: tuple[int, ...], rank_dim: int, count: int) -> list[Any]:
    """The largest values with their indices along ``rank_dim``, ties by lowest index; an element
    is one, however often it counts. Slots left over hold -inf and -1."""
    if any(full[0].shape[axis] != 1 for axis in axes[:-1]):
        raise NotInterpretable("a top-k over several dims")
    # The ranks take the folded axis, then the two change places.
    axis = axes[-1]
    value, index = (np.moveaxis(v, axis, -1) for v in full)
    rows, places = _rows(value), _rows(index)
    shape = (*value.shape[:-1], count)
    made = [np.moveaxis(v.reshape(shape), -1, axis) for v in _sorted_rows(rows, places, count)]
    return [np.swapaxes(v, axis, rank_dim) for v in made]


def _rows(value: Any) -> Any:
    return value.reshape(int(np.prod(value.shape[:-1])), value.shape[-1])


def _sorted_rows(rows: Any, places: Any, count: int) -> tuple[Any, Any]:
    best = np.empty((len(rows), count), rows.dtype)
    best[...] = float("-inf")
    where = np.full((len(rows), count), -1, np.int64)

    def key(row: Any, k: int) -> tuple[bool, Any]:
        is_nan = row[k] != row[k]
        return not is_nan, 0 if is_nan else -row[k]

    for r, row in enumerate(rows):
        held = [k for k in range(len(row)) if places[r][k] >= 0]
        for slot, k in enumerate(sorted(held, key=lambda k, row=row: key(row, k))[:count]):
            best[r, slot], where[r, slot] = row[k], places[r][k]
    return best, where


def merge_best(a: Sequence[Any], b: Sequence[Any], rank_dim: int) -> list[Any]:
    """Two lists of best values as one; equal values of the first come first."""
    pairs = [np.broadcast_arrays(x, y) for x, y in zip(a, b, strict=True)]
    count = pairs[0][0].shape[rank_dim]
    both = [np.moveaxis(np.concatenate(pair, axis=rank_dim), rank_dim, -1) for pair in pairs]
    shape = (*both[0].shape[:-1], count)
    found = _sorted_rows(_rows(both[0]), _rows(both[1]), count)
    return [np.moveaxis(v.reshape(shape), -1, rank_dim) for v in found]


def combine(
    numbers: Arithmetic, reducer: str, a: Sequence[Any], b: Sequence[Any],
    rank_dim: int | None = None, declared: Declared | None = None,
) -> list[Any]:  # fmt: skip
    """Two partial results of a reducer as one."""
    if declared is not None:
        return declared.combine(a, b)
    if reducer == "topk":
        assert rank_dim is not None
        return merge_best(a, b, rank_dim)
    if reducer in ("argmax", "argmin"):
        (value, index), (other, later) = a, b
        better = np.asarray(other > value if reducer == "argmax" else other < value, bool)
        equal = np.asarray(other == value, bool)
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
