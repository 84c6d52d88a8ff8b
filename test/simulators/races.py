"""Races in shared memory, found by vector clocks: an access of one warp must be ordered after what another
one did there, by barriers between them.

Every warp counts its releases (arrivals at barriers); what it knows of the others' counts it got where
it acquired (waits at barriers). A cell is two bytes; accesses of single bytes are not looked at. Lanes
of a warp are taken to be in step.
"""

from __future__ import annotations

import numpy as np

_NEVER = np.iinfo(np.int32).max  # a read that has not ended


class Races:
    """The clocks of all warps of a cluster, and who was last at each cell of its shared memory."""

    def __init__(self, warps: int, size: int):
        self.clocks = np.eye(warps, dtype=np.int32)
        self.writers = np.full(size // 2, -1, np.int32)
        self.written = np.zeros(size // 2, np.int32)
        # Which write that was, and the last one of each warp: several may write the same at once.
        self.last, self.own = np.zeros(size // 2, np.int32), np.zeros((warps, size // 2), np.int32)
        self.writes = 0
        self.reads = np.zeros((warps, size // 2), np.int32)
        # Reads that go on, by what waits for them and the warp: the group, and the cells.
        self.going_on: dict[tuple[str, int], list[tuple[int, np.ndarray]]] = {}
        self.groups: dict[tuple[str, int], int] = {}

    # Order ---------------------------------------------------------------------
    def release(self, warp: int) -> np.ndarray:
        """What those who acquire this know."""
        known = self.clocks[warp].copy()
        self.clocks[warp, warp] += 1
        return known

    def acquire(self, warp: int, known: np.ndarray) -> None:
        np.maximum(self.clocks[warp], known, out=self.clocks[warp])

    # Accesses ------------------------------------------------------------------
    def read(self, warps: np.ndarray, cells: np.ndarray) -> int | None:
        """Reads of ``cells``, a row for each of ``warps``; the warp that wrote one of them unseen."""
        warps = warps[:, None]
        self.reads[warps, cells] = np.maximum(self.reads[warps, cells], self.clocks[warps, warps])
        return self._unseen(warps, cells)

    def _unseen(self, warps: np.ndarray, cells: np.ndarray) -> int | None:
        writers = self.writers[cells]
        bad = (writers >= 0) & (self.written[cells] > self.clocks[warps, writers])
        bad &= self.own[warps, cells] != self.last[cells]
        return int(writers[bad][0]) if bad.any() else None

    def overwrite(self, warps: np.ndarray, cells: np.ndarray) -> int | None:
        """Writes that are about to come; a warp whose read is not known to be over."""
        for other in range(len(self.clocks)):
            if (self.reads[other, cells] > self.clocks[warps[:, None], other]).any():
                return other
        return None

    def write(
        self, warps: np.ndarray, cells: np.ndarray, changes: np.ndarray | bool = True
    ) -> int | None:
        """Writes; a warp whose write or read is not known to be over. To write what is there already
        is to have taken part in writing it."""
        unseen, warps = None, warps[:, None]
        changes = np.broadcast_to(changes, cells.shape) | (self.writers[cells] < 0)
        self.own[warps, cells] = np.where(changes, self.writes + 1, self.last[cells])
        at, by = cells[changes], np.broadcast_to(warps, cells.shape)[changes]
        for other in range(len(self.clocks)):
            if (self.reads[other, at] > self.clocks[by, other]).any():
                unseen = other
        before = self.writers[at]
        late = (before >= 0) & (self.written[at] > self.clocks[by, before]) & (before != by)
        if late.any():
            unseen = int(before[late][0])
        self.writes += 1
        self.last[at], self.writers[at], self.written[at] = self.writes, by, self.clocks[by, by]
        return unseen

    # Reads that go on beside the threads ---------------------------------------
    def start(self, kind: str, warp: int, cells: np.ndarray) -> int | None:
        """A read that ends when the warp waits for it."""
        self.reads[warp, cells] = _NEVER
        key = (kind, warp)
        self.going_on.setdefault(key, []).append((self.groups.get(key, 0), cells))
        return self._unseen(np.array([[warp]]), cells[None])

    def commit(self, kind: str, warp: int) -> None:
        self.groups[kind, warp] = self.groups.get((kind, warp), 0) + 1

    def wait(self, kind: str, warp: int, pending: int) -> None:
        """All have ended but those of so many last groups."""
        key, left, ended = (kind, warp), [], []
        for group, cells in self.going_on.get(key, []):
            still = group >= self.groups.get(key, 0) - pending
            (left if still else ended).append((group, cells))
        self.going_on[key] = left
        for _, cells in ended:
            self.reads[warp, cells] = self.clocks[warp, warp]
        for other, reads in self.going_on.items():
            if other[1] == warp and ended:
                for _, cells in reads:
                    self.reads[warp, cells] = _NEVER
