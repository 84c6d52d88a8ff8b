"""Memory: arrays of the host, of which a launch is told, and shared memory of blocks, which knows what
was written."""

from __future__ import annotations

import bisect
from collections.abc import Iterable

import numpy as np

BITS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
BASE = 4096
# A shared address of another block of a cluster: what mapa makes says which block it is.
FAR = 1 << 20


class _Everything:
    """All of memory from BASE on, as bytes."""

    def __init__(self) -> None:
        self.__array_interface__ = {
            "shape": ((1 << 47) - 2 * BASE,),
            "typestr": "|u1",
            "version": 3,
            "data": (BASE, False),
        }


_BYTES = np.asarray(_Everything())
_WORDS = {size: _BYTES.view(BITS[8 * size]) for size in (1, 2, 4, 8)}


class Memory:
    """The arrays that a launch may touch; addresses are those of the host."""

    def __init__(self, arrays: Iterable[np.ndarray] = ()):
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.limits: tuple[np.ndarray, np.ndarray] | None = None
        for array in arrays:
            self.add(array.ctypes.data, array.nbytes)

    def add(self, start: int, size: int) -> None:
        """So many bytes from ``start`` on, which stay there for as long as this is used."""
        at = bisect.bisect(self.starts, start)
        self.starts.insert(at, start)
        self.ends.insert(at, start + size)
        self.limits = None

    def outside(self, at: np.ndarray, size: int | np.ndarray, piece: int = 1) -> np.ndarray:
        """Of which addresses ``size`` bytes are not all in one array, of which whole pieces of so many
        bytes are there."""
        if self.limits is None:
            self.limits = (np.array(self.starts, np.int64), np.array(self.ends, np.int64))
        starts, ends = self.limits
        if not len(starts):
            return np.ones(len(at), bool)
        found = np.searchsorted(starts, at, "right") - 1
        return (found < 0) | (at + size > -(-ends[found] // piece) * piece)

    def words(self, size: int) -> np.ndarray:
        """All of memory as words of ``size`` bytes; of address a the one at index(a, size)."""
        return _WORDS[size]

    @staticmethod
    def index(at: np.ndarray, size: int) -> np.ndarray:
        return (at - BASE) // size


class Shared:
    """Shared memory of the blocks of a cluster, one behind the other. What is not written has all bits
    set, and is known."""

    def __init__(self, blocks: int, size: int, alignment: int = 1024):
        self.size = size
        self.stride = (size + alignment - 1) // alignment * alignment
        self.bytes = np.full(self.stride * blocks, 0xFF, np.uint8)
        self.written = np.zeros(self.stride * blocks, np.uint8)
        self.words = {size: self.bytes.view(BITS[8 * size]) for size in (1, 2, 4, 8)}
        self._marks = {size: self.written.view(BITS[8 * size]) for size in (1, 2, 4, 8)}

    def place(self, at: np.ndarray, block: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices of bytes for addresses that threads of ``block`` use; which of them are beyond."""
        owner, near = np.where(at >= FAR, at // FAR - 1, block), at % FAR
        return owner * self.stride + near, (at < 0) | (near + size > self.size)

    def unwritten(self, at: np.ndarray, size: int, count: int = 1) -> np.ndarray:
        """Of which places some of ``count`` words of ``size`` bytes were never written."""
        whole = int.from_bytes(b"\1" * size, "little")
        marks, first = self._marks[size], at // size
        result = marks[first] != whole
        for j in range(1, count):
            result |= marks[first + j] != whole
        return result

    def mark(self, at: np.ndarray, size: int, is_written: bool = True) -> None:
        """Words of ``size`` bytes as written, or as not."""
        self._marks[size][at // size] = int.from_bytes(b"\1" * size, "little") * is_written
