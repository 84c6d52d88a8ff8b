"""Arrays that end where memory does: to read or write behind them is a fault."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_LIBC = ctypes.CDLL(None, use_errno=True)
_PAGE = mmap.PAGESIZE
_CANARY = 0xA5


class Guarded:
    """``array`` ends at a page that cannot be touched, and starts behind bytes that ``check``
    looks at."""

    def __init__(self, like: np.ndarray):
        pages = -(-max(like.nbytes, 1) // _PAGE) + 1
        self._map = mmap.mmap(-1, (pages + 2) * _PAGE)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for page in (0, pages + 1):
            where = ctypes.c_void_p(begin + page * _PAGE)
            if _LIBC.mprotect(where, ctypes.c_size_t(_PAGE), 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        end = (pages + 1) * _PAGE
        self._front = np.frombuffer(self._map, np.uint8, end - like.nbytes - _PAGE, _PAGE)
        self._front[:] = _CANARY
        flat = np.frombuffer(self._map, like.dtype, like.size, end - like.nbytes)
        self.array = flat.reshape(like.shape)
        self.array[...] = like

    def check(self) -> None:
        """Nothing was written in front of the array."""
        assert (self._front == _CANARY).all()


def call(executable: object, arguments: tuple, results: list[np.ndarray] | None = None) -> object:
    """Calls with guarded copies of the arrays among the arguments, and results of the shapes of
    ``results`` in guarded memory, too."""
    given = [Guarded(a) if isinstance(a, np.ndarray) else a for a in arguments]
    made = None if results is None else [Guarded(np.zeros_like(r)) for r in results]
    try:
        out = None if made is None else [m.array for m in made]
        got = executable(*[g.array if isinstance(g, Guarded) else g for g in given], out=out)
    finally:
        for which in [g for g in given if isinstance(g, Guarded)] + (made or []):
            which.check()
    for before, after in zip(arguments, given, strict=True):
        if isinstance(after, Guarded):
            np.testing.assert_array_equal(after.array, before)
    return got
