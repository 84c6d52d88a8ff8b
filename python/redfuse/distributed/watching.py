"""Collectives of GPUs that do not end.

On a GPU a collective is enqueued, and nothing on the host waits for it: if a rank does not come,
the first thing to notice is whatever next waits for the GPU, and it waits for ever. So a thread
looks at what was started.
"""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import RankError

# Seconds between two looks.
LOOK = 0.2
# CU_STREAM_CAPTURE_MODE_RELAXED
_RELAXED = 2


@dataclasses.dataclass(frozen=True)
class Watched:
    """A collective that was started.

    event: of CUDA, behind it. until: when it should have ended, of ``time.monotonic``.
    late: called once, by the watching thread, if it has not; gets ``thread``, which started it.
    """

    event: Any
    until: float
    late: Callable[[int], None]
    thread: int = dataclasses.field(default_factory=threading.get_ident)


class Watch:
    """The thread that looks at collectives, of all groups of a process. It sleeps while there are
    none."""

    def __init__(self) -> None:
        self._new: collections.deque[Watched] = collections.deque()
        self._some = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, event: Any, until: float, late: Callable[[int], None]) -> None:
        """Looks at one more, from now on."""
        self._new.append(Watched(event, until, late))
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="redfuse-watch", daemon=True)
            self._thread.start()
        if not self._some.is_set():
            self._some.set()

    def _look(self) -> None:
        _allow_captures()
        watched: list[Watched] = []
        while True:
            if not watched:
                self._some.wait()
            self._some.clear()
            while self._new:
                watched.append(self._new.popleft())
            watched = [one for one in watched if not _is_over(one.event)]
            now = time.monotonic()
            overdue = [one for one in watched if now > one.until]
            if overdue:
                # What else was started waits behind it.
                watched = []
                overdue[0].late(overdue[0].thread)
            time.sleep(LOOK)


# One for all groups of this process.
watch = Watch()


def _is_over(event: Any) -> bool:
    """Also where the GPU has failed: whoever waits for it is told."""
    try:
        return event.query()
    except RuntimeError:
        return True


def _allow_captures() -> None:
    """Lets this thread ask for events while another one captures a CUDA graph."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(ctypes.c_int(_RELAXED)))
    except (OSError, AttributeError):  # no GPU: a test
        return


def raise_in(thread: int, text: str, ranks: Sequence[int]) -> None:
    """Raises RankError in another thread, as soon as it is in Python again; says it on stderr if
    that thread has ended."""

    class LateError(RankError):
        def __init__(self) -> None:
            super().__init__(text, ranks)

    # The interpreter makes the exception itself, so it is given a class.
    LateError.__name__ = LateError.__qualname__ = RankError.__name__
    reached = ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(LateError)
    )
    if not reached:
        print(f"redfuse.distributed: {text}", file=sys.stderr, flush=True)
