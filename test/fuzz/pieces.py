"""States: a program's results from chunks that come one after another, in any order, or are
merged."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from redfuse.state import State, StateProgram

# Rows are cut into single elements up to this length.
SINGLE = 24


class Pieces:
    """One call's arguments, cut along the streamed dim."""

    def __init__(self, program: StateProgram, arguments: list[Any]) -> None:
        self.program = program
        self.arguments = arguments
        axes = program.axes
        self.length = next(int(arguments[i].shape[axis]) for i, axis in axes.items())
        self.unstreamed = [arguments[i] for i in program.unstreamed]

    @property
    def possible(self) -> bool:
        """Whether there is an element: nothing alone cannot tell all extents."""
        return self.length > 0 or not self.program.extent_axes

    def chunk(self, start: int, stop: int) -> list[Any]:
        """Elements start to stop - 1."""
        return [
            np.ascontiguousarray(self.arguments[i][(slice(None),) * axis + (slice(start, stop),)])
            for i, axis in self.program.axes.items()
        ]

    def empty(self) -> State:
        """The state of nothing."""
        return self.program.init(*self.unstreamed)

    def state(self, spans: list[tuple[int, int]]) -> State:
        """A state that has seen spans, one after the other."""
        state = self.empty()
        for start, stop in spans:
            state = self.program.update(state, *self.chunk(start, stop), offset=start)
        return state

    def results(self, state: State, width: int) -> list[np.ndarray]:
        """All results; those with the streamed dim from chunks of ``width``."""
        if not self.program.takes_chunk:
            found = self.program.finalize(state)
            return list(found) if isinstance(found, tuple) else [found]
        parts: list[list[Any]] = []
        before = self.empty() if self.program.prefixes else None
        for start in range(0, max(1, self.length), max(1, width)):
            chunk = self.chunk(start, min(start + width, self.length))
            found = self.program.finalize(state, *chunk, offset=start, before=before)
            if before is not None:
                before = self.program.update(before, *chunk, offset=start)
            parts.append(list(found) if isinstance(found, tuple) else [found])
        return [
            np.concatenate([part[i] for part in parts], axis) if axis >= 0 else parts[0][i]
            for i, axis in enumerate(self.program.mapped)
        ]

    def cuts(self, rng: np.random.Generator) -> Iterator[tuple[str, list[np.ndarray]]]:
        """Results by several ways to cut and to merge, each with its name."""
        n = self.length
        spans = _spans(sorted(rng.integers(0, n + 1, 3)), n)
        yield f"update {spans}", self.results(self.state(spans), max(1, n // 2))
        if n <= SINGLE:
            yield "update one by one", self.results(self.state(_spans(range(1, n), n)), 1)
        split = int(rng.integers(0, n + 1))
        halves = [self.state([(0, split)]), self.state([(split, n)])]
        yield f"merge at {split}", self.results(self.program.merge(*halves), max(1, n))
        spans = _spans(sorted(rng.integers(0, n + 1, int(rng.integers(2, 6)))), n)
        states = [self.state([span]) for span in spans]
        states.insert(int(rng.integers(0, len(states) + 1)), self.empty())
        yield f"merge {spans} in a tree", self.results(self.tree(states, rng), max(1, n // 3))
        if not self.program.ordered:
            order = [spans[i] for i in rng.permutation(len(spans))]
            yield f"update {order}", self.results(self.state(order), max(1, n))

    def tree(self, states: list[State], rng: np.random.Generator) -> State:
        """Merged by twos: neighbours, or any two if no order must be kept."""
        states = list(states)
        while len(states) > 1:
            at = int(rng.integers(0, len(states) - 1))
            other = at + 1
            if not self.program.ordered:
                other = int(rng.choice([i for i in range(len(states)) if i != at]))
            merged = self.program.merge(states[at], states[other])
            states[at] = merged
            del states[other]
        return states[0]


def _spans(cuts: Any, n: int) -> list[tuple[int, int]]:
    places = [0, *(int(c) for c in cuts), n]
    return list(itertools.pairwise(places))
