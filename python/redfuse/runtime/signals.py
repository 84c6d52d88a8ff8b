"""Signals that unwind a command, and pieces of work that none may leave half done."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

_ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def ending_commands() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind what runs, as Ctrl-C does, by SystemExit: no file or process is
    left."""

    def end(number: int, _: object) -> None:
        print(f"redfuse: ended by {signal.Signals(number).name}", file=sys.stderr)
        raise SystemExit(128 + number)

    ours = [n for n in _ENDING if _is_ours() and signal.getsignal(n) is signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, end)
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """What would end the work is noted, and does it afterwards."""
    noted: list[int] = []
    before = {}
    for number in (signal.SIGINT, *_ENDING) if _is_ours() else ():
        if callable(signal.getsignal(number)):
            before[number] = signal.signal(number, lambda number, _: noted.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in noted:
            signal.raise_signal(number)


def _is_ours() -> bool:
    return threading.current_thread() is threading.main_thread()
