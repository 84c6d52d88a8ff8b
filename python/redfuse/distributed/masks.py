"""What comparisons of positions leave out, as the pass redfuse-find-dims says."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..attributes import plain
from .dims import Dim

_ALL = 1 << 62  # beyond any position


@dataclasses.dataclass(frozen=True)
class Mask:
    """Of a row and a column counts what has ``low <= column - row <= high``.

    row, column: dims, by their arguments.
    """

    row: tuple[tuple[int, int, int], ...]
    column: tuple[tuple[int, int, int], ...]
    low: int
    high: int

    def is_live(self, first: int, last: int, start: int, stop: int) -> bool:
        """Whether any of rows ``first`` to ``last - 1`` has any of columns ``start`` to
        ``stop - 1``."""
        return start - (last - 1) <= self.high and stop - 1 - first >= self.low

    def part(self, rows: int, columns: int) -> float:
        """Which part of all elements counts."""
        if not rows or not columns:
            return 1.0
        return max(0.0, self._below(self.high, rows, columns)
                   - self._below(self.low - 1, rows, columns))  # fmt: skip

    @staticmethod
    def _below(most: int, rows: int, columns: int) -> float:
        """The part with column - row <= most, of a rectangle; the sum over rows of how many columns
        that leaves, taken as an integral."""
        if abs(most) > _ALL:
            return 1.0 if most > 0 else 0.0
        # Rows from `a` on have some columns, from `b` on all of them.
        a, b = min(max(-most, 0), rows), min(max(columns - most, 0), rows)
        some = (b - a) * ((a + most) + (b + most)) / 2 if b > a else 0.0
        return min(1.0, (some + (rows - b) * columns) / (rows * columns))


def masks_of(function: Any, dims: Sequence[Dim]) -> tuple[Mask, ...]:
    """Those of a function."""
    if "redfuse.masks" not in function.attributes:
        return ()
    return tuple(
        Mask(dims[row].arguments, dims[column].arguments, low, high)
        for row, column, low, high in plain(function.attributes["redfuse.masks"])
    )
