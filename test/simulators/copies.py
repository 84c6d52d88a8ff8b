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
class Window(NamedTuple):
    """Of a map of windows (im2col): where they begin, by dim between the first and the last."""

    lower: np.ndarray
    upper: np.ndarray
    steps: np.ndarray


class TensorMap(NamedTuple):
    """What a driver wrote into a tensor map; this one is test/drivers/cuda.c."""

    base: int
    sizes: np.ndarray
    strides: np.ndarray
    box: np.ndarray
    size: int = 2
    window: Window | None = None

    @staticmethod
    def read(address: int) -> TensorMap:
        raw = ctypes.string_at(address, 128)
        base, rank = (int(v) for v in np.frombuffer(raw[:16], np.uint64))
        sizes = np.frombuffer(raw[16:56], np.uint64).astype(np.int64)[:rank]
        strides = np.frombuffer(raw[56:88], np.uint64).astype(np.int64)[: rank - 1]
        box = np.frombuffer(raw[88:108], np.uint32).astype(np.int64)
        window = None
        if raw[109]:
            corners = np.frombuffer(raw[110:122], np.int16).astype(np.int64)
            steps = np.frombuffer(raw[122:125], np.uint8).astype(np.int64)
            window = Window(corners[: rank - 2], corners[3 : rank + 1], steps[: rank - 2])
        return TensorMap(base, sizes, strides, box[: 2 if window else rank], raw[108], window)

    def encode(self) -> np.ndarray:
        """The bytes that ``read`` reads, of a map of boxes."""
        raw, rank = np.zeros(128, np.uint8), len(self.sizes)
        raw[:16] = np.array([self.base, rank], np.uint64).view(np.uint8)
        raw[16 : 16 + 8 * rank] = np.array(self.sizes, np.uint64).view(np.uint8)
        raw[56 : 48 + 8 * rank] = np.array(self.strides, np.uint64).view(np.uint8)
        raw[88 : 88 + 4 * rank] = np.array(self.box, np.uint32).view(np.uint8)
        raw[108] = self.size
        return raw

    def places(self, corner: list[int], offsets: list[int]) -> np.ndarray:
        """The coordinates of a box's elements, the innermost dim first and fastest."""
        if self.window is None:
            return _indices(tuple(self.box.tolist())) + np.array(corner)
        lower, upper, steps = self.window
        last = self.sizes[1:-1] - 1 + upper
        at = np.array(corner)
        if (at[1:-1] < lower).any() or (at[1:-1] > last).any():
            raise ValueError("rows begin outside of the windows' box")
        rows = []
        for _ in range(int(self.box[1])):
            rows.append(at.copy())
            for d in range(len(steps)):
                at[1 + d] += steps[d]
                if at[1 + d] <= last[d]:
                    break
                at[1 + d] = lower[d]
            else:
                at[-1] += 1
        index = np.repeat(np.stack(rows), int(self.box[0]), 0)
        index[:, 0] += np.tile(np.arange(int(self.box[0])), len(rows))
        index[:, 1:-1] += np.array(offsets)
        return index

    def elements(self, corner: list[int], offsets: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The addresses of a box's elements, and which of them the tensor has."""
        index = self.places(corner, offsets)
        inside = ((index >= 0) & (index < self.sizes)).all(1)
        return self.base + index[:, 0] * self.size + (index[:, 1:] * self.strides).sum(1), inside


@functools.cache
def _indices(box: tuple[int, ...]) -> np.ndarray:
    """The places of a box, the last extent outermost."""
    return np.stack(np.meshgrid(*(np.arange(b) for b in box[::-1]), indexing="ij"), -1)[
        ..., ::-1
    ].reshape(-1, len(box))


def swizzled(at: np.ndarray) -> np.ndarray:
    """Where bytes are in shared memory with swizzles of 128 bytes."""
    return at ^ (((at >> 7) & 7) << 4)


class BoxOperands(NamedTuple):
    """The operands of a copy of a box, as they are written. ``place``: in shared memory; ``table``:
    the tensor map; ``corner`` and ``window``: numbers, the latter None for boxes that are no places
    of windows; ``barrier``: None for a copy to global memory; ``blocks``: a bit for each block of the
    cluster that gets it, None for a copy to the own one."""

    place: str
    table: str
    corner: list[str]
    window: list[str] | None
    barrier: str | None
    blocks: str | None = None

    @staticmethod
    def of(i: Instruction) -> BoxOperands:
        inner = re.findall(r"\[([^\[\]]*?)\s*(?:,\s*\{([^}]*)\})?\]", i.text)
        text, blocks = i.text.rstrip("; \n\t"), None
        if "multicast" in i.words:
            text, _, blocks = (part.strip() for part in text.rpartition(","))
        window = re.search(r"\]\s*,\s*\{([^}]*)\}\s*$", text)
        (first, _), (second, _) = inner[0], inner[1]
        is_load = "mbarrier" in i.words
        place, table = (first, second) if is_load else (second, first)
        return BoxOperands(
            place, table.strip(), _listed(next(spot for _, spot in inner if spot)),
            _listed(window[1]) if window else None, inner[2][0] if is_load else None, blocks,
        )  # fmt: skip


def _listed(numbers: str) -> list[str]:
    return [number.strip() for number in numbers.split(",")]


def box(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """cp.async.bulk.tensor: a box of a tensor, or places of windows, in either direction."""
    if {"commit_group", "wait_group"} & set(i.words):
        for warp in np.unique(np.flatnonzero(mask) // 32):
            if "commit_group" in i.words:
                t.races.commit("bulk", warp)
            else:
                t.races.wait("bulk", warp, int(i.operands[0]))
        return
    if "tensor" not in i.words:
        raise i.fault("unknown instruction")
    operands = BoxOperands.of(i)
    for thread in np.flatnonzero(mask):
        _copy_box(t, i, operands, int(thread))


def _offsets(
    t: Threads, i: Instruction, tensor: TensorMap, window: list[str] | None, thread: int
) -> list[int]:
    """In the window, of one thread; none for a map of boxes."""
    one = np.arange(t.count) == thread
    if (tensor.window is not None) != ("im2col" in i.words):
        raise i.fault("a map of boxes for windows, or of windows for boxes")
    if tensor.window is None:
        return []
    if window is None:
        raise i.fault("no offsets in the window")
    offsets = [int(t.read(s, "u16", one)[thread]) for s in window]
    if max(offsets) >= 1 << 16 // len(offsets):
        raise i.fault("an offset in the window that has no room")
    return offsets


def _copy_box(t: Threads, i: Instruction, operands: BoxOperands, thread: int) -> None:
    """The box that one thread copies."""
    one = np.arange(t.count) == thread
    at = int(t.address(f"[{operands.place}]", one)[thread])
    tensor = TensorMap.read(int(t.read(operands.table, "u64", one)[thread]))
    corner = [int(t.read(s, "s32", one)[thread]) for s in operands.corner]
    offsets = _offsets(t, i, tensor, operands.window, thread)
    size = tensor.size
    if tensor.box[0] * size != 128 or at % 128:
        raise i.fault("a box that is not of rows of 128 bytes, or not aligned to them")
    if corner[0] * size % 16:
        raise i.fault("a box that begins within 16 bytes of memory")
    try:
        start, inside = tensor.elements(corner, offsets)
    except ValueError as error:
        raise i.fault(str(error)) from None
    t.check_memory(i, start[inside], np.full(int(inside.sum()), thread), size)
    near = swizzled(at + np.arange(len(start)) * size)
    words, memory = t.shared.words[size], t.memory.words(size)
    source = t.memory.index(start[inside], size)
    for block in _blocks(t, i, operands, thread):
        spot, beyond = t.shared.place(near, np.full(len(near), block), size)
        if beyond.any():
            raise i.fault("beyond shared memory")
        if operands.barrier is None:
            t.read_asynchronously(i, spot[inside], "bulk", range(thread // 32, thread // 32 + 1))
            memory[source] = words[spot[inside] // size]
            return
        t.touch(i, spot, size, np.full(len(spot), thread))
        t.mark(spot, size, False)
        words[spot // size] = 0
        words[spot[inside] // size] = memory[source]
        there = int(t.address(f"[{operands.barrier}]", one)[thread])
        barrier = t.barrier_of(i, there, thread, block)
        barrier.landing.append((spot, size))
        barrier.expect(-size * len(start), thread)
        barrier.settle()


def _blocks(t: Threads, i: Instruction, operands: BoxOperands, thread: int) -> list[int]:
    """In whose shared memory the box is: of this block, or of those of the cluster with a bit each."""
    if operands.blocks is None:
        return [int(t.rank[thread])]
    one = np.arange(t.count) == thread
    bits = int(t.read(operands.blocks, "u16", one)[thread])
    if not bits or bits >> t.kernel.cluster:
        raise i.fault("a block that the cluster lacks")
    return [block for block in range(t.kernel.cluster) if bits >> block & 1]


HANDLERS = {"cp": copy}
