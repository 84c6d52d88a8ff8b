"""The end of the process while other threads compile.

Python ends a thread that asks for its lock while the interpreter ends, and takes the thread's C++
frames down with it, which MLIR's bindings do not survive. So the interpreter first waits until
each such thread is done, or in a job of its own in C++, from which it does not come back then.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from . import _ext

P = ParamSpec("P")
R = TypeVar("R")

# A thread is between jobs for some milliseconds; longer in Python's own work, such as tracing.
_PATIENCE, _PERIOD = 2.0, 0.002
_changed = threading.Lock()
_working: set[int] = set()


def outlives_threads(function: Callable[P, R]) -> Callable[P, R]:
    """A function that works with MLIR's bindings, in whatever thread."""

    @wraps(function)
    def work(*args: P.args, **kwargs: P.kwargs) -> R:
        ident = threading.get_ident()
        if ident in _working or ident == threading.main_thread().ident:
            return function(*args, **kwargs)
        with _changed:
            _working.add(ident)
        try:
            return function(*args, **kwargs)
        finally:
            with _changed:
                _working.discard(ident)

    return work


@atexit.register
def _wait() -> None:
    _ext.begin_end()
    until = time.monotonic() + _PATIENCE
    while len(_working) > _ext.jobs_elsewhere() and time.monotonic() < until:
        time.sleep(_PERIOD)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_working.clear)
