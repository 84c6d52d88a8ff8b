"""Barriers: of blocks (numbered), of clusters, and those that are words in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .program import Instruction

if TYPE_CHECKING:
    from .threads import Threads


class Numbered:
    """bar.sync and bar.arrive of one block: who waits, how many have arrived, what they know."""

    def __init__(self, count: int, warps: int):
        self.waiting, self.arrived, self.need = np.zeros(count, bool), 0, 0
        self.known = np.zeros(warps, np.int32)
        self.is_of_all = False


class Phased:
    """An mbarrier: arrivals and bytes that are left of a phase."""

    def __init__(self, threads: Threads, count: int):
        self.threads, self.count, self.left, self.bytes, self.phase = threads, count, count, 0, 0
        # What those know who have arrived, and what the last phase lets others know.
        self.known = np.zeros(len(threads.races.clocks), np.int32)
        self.told = self.known
        self.landing: list[tuple[np.ndarray, int]] = []

    def arrive(self, i: Instruction, warp: int) -> None:
        if self.left <= 0:
            raise i.fault("an arrival more than the barrier expects")
        self.left -= 1
        np.maximum(self.known, self.threads.races.release(warp), out=self.known)

    def expect(self, size: int, thread: int) -> None:
        """So many bytes more; fewer, when a copy has written them."""
        self.bytes += size
        np.maximum(self.known, self.threads.races.clocks[thread // 32], out=self.known)
        if size < 0:
            self.threads.races.release(thread // 32)

    def settle(self) -> None:
        """Ends the phase if nothing is left of it."""
        if self.left or self.bytes:
            return
        self.left, self.phase, self.told = self.count, self.phase + 1, self.known.copy()
        for spots, size in self.landing:
            self.threads.shared.mark(spots, size)
        self.landing = []
        self.threads.held[:] = False


def block_or_cluster(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """bar and barrier."""
    if "warp" in i.words:
        return  # what a warp has stored is there
    if "cluster" in i.words:
        of_cluster(t, i, mask)
    else:
        numbered(t, i, mask)


def numbered(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    given = t.read(i.operands[0], "u32")
    for rank, number in np.unique(np.stack((t.rank, given))[:, mask], axis=1).T:
        own = mask & (t.rank == rank) & (given == number)
        key = (int(rank), int(number))
        bar = t.numbered.setdefault(key, Numbered(t.count, len(t.races.clocks)))
        bar.is_of_all = len(i.operands) < 2
        bar.need = t.threads if bar.is_of_all else int(i.operands[1])
        bar.arrived += int(own.sum())
        for warp in np.unique(np.flatnonzero(own) // 32):
            np.maximum(bar.known, t.races.release(warp), out=bar.known)
        if "arrive" not in i.words:
            bar.waiting |= own
            t.waits |= own
        if bar.arrived > bar.need:
            raise i.fault(f"more threads than {bar.need}")
        if bar.arrived == bar.need:
            let_go(t, key)


def let_go(t: Threads, key: tuple[int, int]) -> None:
    """Those who wait at a numbered barrier go on."""
    bar = t.numbered.pop(key)
    t.waits &= ~bar.waiting
    for warp in np.unique(np.flatnonzero(bar.waiting) // 32):
        t.races.acquire(warp, bar.known)


def let_go_of_those_left(t: Threads) -> bool:
    """Barriers of whole blocks, some of whose threads have ended; whether there are any."""
    ready = [
        key for key, bar in t.numbered.items()
        if bar.is_of_all and (bar.waiting | t.done)[t.rank == key[0]].all()
    ]  # fmt: skip
    for key in ready:
        let_go(t, key)
    return bool(ready)


def of_cluster(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """barrier.cluster: arrivals of this phase, and waits for the end of it."""
    if "wait" in i.words:
        late = mask & (t.phase_of == t.phases)
        t.together |= late
        t.waits |= late
        for warp in np.unique(np.flatnonzero(mask & ~late) // 32):
            t.races.acquire(warp, t.cluster_told)
        return
    if (t.came & mask).any():
        raise i.fault("an arrival more than the barrier expects")
    t.came |= mask
    t.phase_of[mask] = t.phases
    if "relaxed" not in i.words:
        for warp in np.unique(np.flatnonzero(mask) // 32):
            np.maximum(t.cluster_known, t.races.release(warp), out=t.cluster_known)


def settle_cluster(t: Threads) -> None:
    """The next phase, if all threads that have not ended have arrived."""
    if not t.came.any() or not (t.came | t.done).all():
        return
    t.phases += 1
    t.came[:] = False
    t.cluster_told = t.cluster_known.copy()
    for warp in np.unique(np.flatnonzero(t.together) // 32):
        t.races.acquire(warp, t.cluster_told)
    t.waits &= ~t.together
    t.together[:] = False


def phased(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """mbarrier."""
    places = t.address(next(o for o in i.operands if o.startswith("[")))
    if "init" in i.words:
        counts = t.read(i.operands[1], "u32")
        for thread in np.flatnonzero(mask):
            t.new_barrier(i, int(places[thread]), thread, int(counts[thread]))
    elif "hold" in i.words:
        parity = t.read(i.operands[1], "u32")
        for thread in np.flatnonzero(mask):
            bar = t.barrier_of(i, int(places[thread]), thread)
            if bar.phase % 2 == parity[thread]:  # a phase of the other parity is the one before
                t.held[thread] = True
                t.pc[thread] -= 1
            else:
                t.races.acquire(thread // 32, bar.told)
    elif "arrive" in i.words:
        for thread in np.flatnonzero(mask):
            bar = t.barrier_of(i, int(places[thread]), thread)
            if "expect_tx" in i.words:
                bar.expect(int(t.read(i.operands[-1], "u32")[thread]), thread)
            bar.arrive(i, thread // 32)
            bar.settle()
    elif "inval" not in i.words:
        raise i.fault("unknown instruction")


HANDLERS = {"bar": block_or_cluster, "barrier": block_or_cluster, "mbarrier": phased}
