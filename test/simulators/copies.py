"""Copies that go on beside the threads: cp.async, and boxes of tensors (TMA).

The bytes that a copy of a thread's own writes are there when the thread has waited for its group, as
late as they may come; those of a box when the phase of its barrier is over. Until then they are as if
they had not been written.
"""

from __future__ import annotations

import ctypes
import functools
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .program import Instruction
from .transfers import prefetch

if TYPE_CHECKING:
    from .threads import Threads


class Pending(NamedTuple):
    """A copy of some threads, which nobody has waited for."""

    threads: np.ndarray
    group: np.ndarray
    to: np.ndarray
    start: np.ndarray
    size: int
    is_there: np.ndarray  # else zeros


def copy(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """cp.async."""
    if "prefetch" in i.words:
        prefetch(t, i, mask) if "tensor" not in i.words else None
    elif "bulk" in i.words:
        box(t, i, mask)
    elif "wait_group" in i.words or "wait_all" in i.words:
        wait(t, i, int(i.operands[0]) if i.operands else -1, mask)
    elif "commit_group" in i.words:
        t.groups[mask] += 1
    else:
        start_copy(t, i, mask)


def start_copy(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    size = int(i.operands[2])
    to, start = (t.address(place)[mask] for place in i.operands[:2])
    given = t.read(i.operands[3], "u32")[mask] if len(i.operands) > 3 else np.full(len(to), size)
    if not np.isin(given, (0, size)).all():
        raise i.fault("of a part of its bytes")
    to = t.shared_places(i, to, mask, size, is_read=None)
    t.mark(to, size, False)
    if (start % size).any():
        raise i.fault(f"not aligned to {size} bytes")
    is_there = given > 0
    t.check_memory(i, start[is_there], np.flatnonzero(mask)[is_there], size)
    t.copies.append(Pending(np.flatnonzero(mask), t.groups[mask].copy(), to, start, size, is_there))


def wait(t: Threads, i: Instruction, pending: int, mask: np.ndarray) -> None:
    """The copies of these threads arrive, but for those of so many last groups; -1: all, those that are
    in no group yet, too."""
    left = []
    memory = t.memory.words(2)
    for threads, group, to, start, size, is_there in t.copies:
        now = mask[threads] & (group < t.groups[threads] - pending)
        cells = (to[now] // 2)[:, None] + np.arange(size // 2)
        source = t.memory.index(start[now], 2)[:, None] + np.arange(size // 2)
        values = np.zeros(cells.shape, np.uint16)
        values[is_there[now]] = memory[source[is_there[now]]]
        words = t.shared.words[2]
        t.no_race(i, t.races.write(threads[now] // 32, cells, words[cells] != values))
        words[cells] = values
        if (words[cells] != values).any():
            raise i.fault("threads copy different values to one address")
        t.mark(to[now], size, True)
        rest = [part[~now] for part in (threads, group, to, start)]
        left.append(Pending(*rest, size, is_there[~now]))
    t.copies = [copy for copy in left if len(copy.threads)]


# Boxes of tensors ---------------------------------------------------------------------------------
class TensorMap(NamedTuple):
    """What a driver wrote into a tensor map; this one is test/drivers/cuda.c."""

    base: int
    sizes: np.ndarray
    strides: np.ndarray
    box: np.ndarray

    @staticmethod
    def read(address: int) -> TensorMap:
        raw = ctypes.string_at(address, 128)
        base, rank = (int(v) for v in np.frombuffer(raw[:16], np.uint64))
        sizes = np.frombuffer(raw[16:56], np.uint64).astype(np.int64)[:rank]
        strides = np.frombuffer(raw[56:88], np.uint64).astype(np.int64)[: rank - 1]
        return TensorMap(
            base, sizes, strides, np.frombuffer(raw[88:108], np.uint32).astype(np.int64)[:rank]
        )

    def encode(self) -> np.ndarray:
        """The bytes that ``read`` reads."""
        raw, rank = np.zeros(128, np.uint8), len(self.sizes)
        raw[:16] = np.array([self.base, rank], np.uint64).view(np.uint8)
        raw[16 : 16 + 8 * rank] = np.array(self.sizes, np.uint64).view(np.uint8)
        raw[56 : 48 + 8 * rank] = np.array(self.strides, np.uint64).view(np.uint8)
        raw[88 : 88 + 4 * rank] = np.array(self.box, np.uint32).view(np.uint8)
        return raw

    def elements(self, corner: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The addresses of a box's elements of 2 bytes, and which of them the tensor has."""
        index = _indices(tuple(self.box.tolist())) + np.array(corner)
        inside = ((index >= 0) & (index < self.sizes)).all(1)
        return self.base + index[:, 0] * 2 + (index[:, 1:] * self.strides).sum(1), inside


@functools.cache
def _indices(box: tuple[int, ...]) -> np.ndarray:
    """The places of a box, the last extent outermost."""
    return np.stack(np.meshgrid(*(np.arange(b) for b in box[::-1]), indexing="ij"), -1)[
        ..., ::-1
    ].reshape(-1, len(box))


def swizzled(at: np.ndarray) -> np.ndarray:
    """Where bytes are in shared memory with swizzles of 128 bytes."""
    return at ^ (((at >> 7) & 7) << 4)


def box(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """cp.async.bulk.tensor: a box of a tensor of 16-bit elements, in either direction."""
    for warp in np.unique(np.flatnonzero(mask) // 32):
        if "commit_group" in i.words:
            t.races.commit("bulk", warp)
        elif "wait_group" in i.words:
            t.races.wait("bulk", warp, int(i.operands[0]))
    if {"commit_group", "wait_group"} & set(i.words):
        return
    if "tensor" not in i.words:
        raise i.fault("unknown instruction")
    is_load = "mbarrier" in i.words
    inner = re.findall(r"\[([^\[\]]*?)\s*(?:,\s*\{([^}]*)\})?\]", i.text)
    (first, _), (second, _) = inner[0], inner[1]
    spots = next(spot for _, spot in inner if spot)
    place, table = (first, second) if is_load else (second, first)
    for thread in np.flatnonzero(mask):
        one = np.arange(t.count) == thread
        at = int(t.address(f"[{place}]", one)[thread])
        tensor = TensorMap.read(int(t.read(table.strip(), "u64", one)[thread]))
        corner = [int(t.read(s.strip(), "s32", one)[thread]) for s in spots.split(",")]
        if tensor.box[0] != 64 or at % 128:
            raise i.fault("a box that is not of rows of 128 bytes, or not aligned to them")
        start, inside = tensor.elements(corner)
        t.check_memory(i, start[inside], np.full(int(inside.sum()), thread), 2)
        spot = swizzled(at + np.arange(len(start)) * 2)
        owner = np.zeros(len(spot), np.int64) + t.rank[thread]
        spot, beyond = t.shared.place(spot, owner, 2)
        if beyond.any():
            raise i.fault("beyond shared memory")
        words, memory = t.shared.words[2], t.memory.words(2)
        source = t.memory.index(start[inside], 2)
        if is_load:
            t.touch(i, spot, 2, np.full(len(spot), thread))
            t.mark(spot, 2, False)
            words[spot // 2] = 0
            words[spot[inside] // 2] = memory[source]
            barrier = t.barrier_of(i, int(t.address(f"[{inner[2][0]}]", one)[thread]), thread)
            barrier.landing.append((spot, 2))
            barrier.expect(-2 * len(start), thread)
            barrier.settle()
        else:
            t.read_asynchronously(i, spot[inside], "bulk", range(thread // 32, thread // 32 + 1))
            memory[source] = words[spot[inside] // 2]


HANDLERS = {"cp": copy}
