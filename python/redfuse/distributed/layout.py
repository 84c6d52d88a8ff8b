"""Who has which elements of a dim that is shared out."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, one_of

Spans = tuple[tuple[int, int], ...]
ORDERS = ("contiguous", "zigzag")


@dataclasses.dataclass(frozen=True)
class Layout:
    """The elements of a dim that each rank has.

    spans: for each rank, (start, stop) of its elements, in the order in which they lie in its
        shard. An empty shard has none.
    """

    spans: tuple[Spans, ...]

    @classmethod
    def contiguous(cls, lengths: Sequence[int]) -> Layout:
        """Shards of these lengths, one after the other."""
        spans, start = [], 0
        for length in lengths:
            spans.append(((start, start + length),) if length else ())
            start += length
        return cls(tuple(spans))

    @classmethod
    def even(cls, length: int, ranks: int) -> Layout:
        """As DTensor's ``Shard`` cuts: pieces of ceil(length / ranks), the last ones shorter or
        empty."""
        size = -(-length // ranks) if length else 0
        cuts = [min(length, size * rank) for rank in range(ranks + 1)]
        return cls.contiguous([b - a for a, b in itertools.pairwise(cuts)])

    @classmethod
    def balanced(cls, length: int, ranks: int) -> Layout:
        """Pieces that differ by one element at most, the longer ones first."""
        least, more = divmod(length, ranks)
        return cls.contiguous([least + (rank < more) for rank in range(ranks)])

    @classmethod
    def zigzag(cls, length: int, ranks: int) -> Layout:
        """Rank r has pieces r and 2 * ranks - 1 - r of 2 * ranks: under a causal mask, where later
        rows see more, all ranks have as much to do."""
        pieces = cls.even(length, 2 * ranks).spans
        return cls(tuple(_joined(pieces[r] + pieces[2 * ranks - 1 - r]) for r in range(ranks)))

    @classmethod
    def of(cls, order: str, lengths: Sequence[int]) -> Layout:
        """The layout in which shards have these lengths. Raises ArgumentError where none has."""
        if order == "contiguous":
            return cls.contiguous(lengths)
        if order != "zigzag":
            raise ArgumentError("order: " + one_of("order", order, ORDERS))
        made = cls.zigzag(sum(lengths), len(lengths))
        if list(made.lengths) != list(lengths):
            raise ArgumentError(
                f"order='zigzag': {sum(lengths)} elements over {len(lengths)} ranks are shards of "
                f"{', '.join(map(str, made.lengths))}, got {', '.join(map(str, lengths))}; "
                "Layout.zigzag(length, ranks).shard(tensor, axis, rank) cuts them"
            )
        return made

    @functools.cached_property
    def length(self) -> int:
        """All elements."""
        return sum(self.lengths)

    @functools.cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many elements each rank has."""
        return tuple(sum(b - a for a, b in spans) for spans in self.spans)

    @property
    def is_ordered(self) -> bool:
        """Whether all elements of a rank come before those of the next."""
        flat = [cut for spans in self.spans for span in spans for cut in span]
        return flat == sorted(flat)

    def pieces(self, rank: int) -> list[tuple[int, int, int]]:
        """(where it begins in the shard, start, stop) of each span of a rank."""
        found, begin = [], 0
        for start, stop in self.spans[rank]:
            found.append((begin, start, stop))
            begin += stop - start
        return found

    def scaled(self, scale: int) -> Layout:
        """The same of ``scale`` elements for each of these."""
        return Layout(tuple(tuple((a * scale, b * scale) for a, b in s) for s in self.spans))

    def shard(self, whole: Any, axis: int, rank: int) -> Any:
        """A rank's part of a tensor or NumPy array, contiguous."""
        parts = [_narrow(whole, axis, start, stop) for start, stop in self.spans[rank]]
        return _joined_arrays(parts or [_narrow(whole, axis, 0, 0)], axis)

    def unshard(self, shards: Sequence[Any], axis: int) -> Any:
        """The whole, of all ranks' parts."""
        found = [
            (start, _narrow(shard, axis, begin, begin + stop - start))
            for rank, shard in enumerate(shards)
            for begin, start, stop in self.pieces(rank)
        ]
        found.sort(key=lambda one: one[0])
        return _joined_arrays([part for _, part in found] or [shards[0]], axis)


def _joined(spans: Spans) -> Spans:
    """Neighbours as one, empty ones left out."""
    result: list[tuple[int, int]] = []
    for start, stop in spans:
        if start == stop:
            continue
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], stop)
        else:
            result.append((start, stop))
    return tuple(result)


def _narrow(array: Any, axis: int, start: int, stop: int) -> Any:
    return array[(slice(None),) * axis + (slice(start, stop),)]


def _joined_arrays(parts: list[Any], axis: int) -> Any:
    if type(parts[0]).__module__.startswith("torch"):
        import torch

        return torch.cat(parts, axis) if len(parts) > 1 else parts[0].contiguous()
    import numpy

    return numpy.ascontiguousarray(numpy.concatenate(parts, axis))
