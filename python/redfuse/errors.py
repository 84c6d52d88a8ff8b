"""What can go wrong, one exception type a cause, all under :class:`Error`.

Every message says what was wrong, where, what was expected and got, and what would work. This
module imports nothing heavy: ``except redfuse.Error`` costs no start-up time.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence


class Error(Exception):
    """Anything redfuse raises on purpose."""


class ParseError(Error):
    """The source is not a valid MLIR module.

    ``file``, ``line`` and ``column`` (1-based, ``None`` where unknown) point at the first problem.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ):
        super().__init__(message)
        self.file, self.line, self.column = file, line, column


class UnsupportedError(Error):
    """The program is valid, but holds something that redfuse cannot compile."""


class ArgumentError(Error, ValueError):
    """A wrong argument: of a compiled program (``index`` is its position) or of the API."""

    def __init__(self, message: str, index: int | None = None):
        super().__init__(message)
        self.index = index


class TargetError(Error):
    """The target is unknown, not built in, or not what the binary was made for."""


class CompileError(Error):
    """A pass or a tool failed; its output is in the message."""


class CacheError(Error):
    """A cache or a bundle cannot be read, written or trusted."""


class ExecutionError(Error, RuntimeError):
    """The compiled program stopped itself: a failed ``cf.assert``, or no memory."""


class RankError(ExecutionError):
    """A process of a distributed run raised, hangs, has died, or was given something else than the
    others; ``ranks`` says which."""

    def __init__(self, message: str, ranks: Sequence[int] = ()):
        super().__init__(message)
        self.ranks = tuple(ranks)


class CacheWarning(UserWarning):
    """The cache cannot be used; the work goes on without it."""


class FusionWarning(UserWarning):
    """A stage of the fusing compiler failed; the program was compiled op by op instead."""


class CodeWarning(UserWarning):
    """Machine code is right but not as good as it should be: a kernel spills registers, say."""


def one_of(what: str, got: str, known: Iterable[str]) -> str:
    """``unknown WHAT 'GOT'`` with the nearest known names, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(got, names, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"unknown {what} '{got}'; {hint}known: {', '.join(names)}"


def path_text(path: object) -> str:
    """A path as text; raises :class:`ArgumentError` for what is none."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if isinstance(text, str) and "\0" not in text:
        return text
    if isinstance(text, str):
        raise ArgumentError(f"path: {text!r} has a zero byte")
    raise ArgumentError(f"path: expected a str or an os.PathLike, got {type(path).__name__}")


def at_least(name: str, value: float, least: float) -> float:
    """A number that a person gave; raises :class:`ArgumentError` for less, and for NaN."""
    if isinstance(value, (int, float)) and value >= least:
        return value
    raise ArgumentError(f"{name}: expected a number of {least} or more, got {value!r}")


def _position(location: object) -> tuple[str | None, int | None, int | None]:
    """File, line and column of an ``mlir.ir.Location``, looking through names and calls."""
    for _ in range(16):
        if location is None:
            break
        if getattr(location, "is_a_file", lambda: False)():
            return location.filename, location.start_line, location.start_col  # type: ignore[attr-defined]
        if getattr(location, "is_a_name", lambda: False)():
            location = location.child_loc  # type: ignore[attr-defined]
        elif getattr(location, "is_a_callsite", lambda: False)():
            location = location.callee  # type: ignore[attr-defined]
        elif getattr(location, "is_a_fused", lambda: False)() and location.locations:  # type: ignore[attr-defined]
            location = location.locations[0]  # type: ignore[attr-defined]
        else:
            break
    return None, None, None


def position_text(file: str | None, line: int | None, column: int | None) -> str:
    """``file:line:col``; MLIR's "-" is shown as ``<text>``."""
    if file is None:
        return ""
    name = "<text>" if file in ("-", "") else file
    return f"{name}:{line}:{column}" if line is not None else name


def diagnostics_text(diagnostics: Sequence[object], limit: int = 8) -> tuple[str, tuple]:
    """The lines of MLIR diagnostics, with their notes, and the position of the first."""
    lines: list[str] = []
    first: tuple[str | None, int | None, int | None] = (None, None, None)
    for number, diagnostic in enumerate(diagnostics):
        if number == limit:
            lines.append(f"... and {len(diagnostics) - limit} more")
            break
        where = _position(diagnostic.location)  # type: ignore[attr-defined]
        if first[0] is None:
            first = where
        prefix = position_text(*where)
        lines.append(f"{prefix}: {diagnostic.message}" if prefix else str(diagnostic.message))  # type: ignore[attr-defined]
        for note in diagnostic.notes:  # type: ignore[attr-defined]
            text = str(note.message)
            if text.startswith(("see current operation", "Available dialects")):
                continue  # a whole function, or fifty names: our own text is shorter
            spot = position_text(*_position(note.location))
            lines.append(f"  note: {spot + ': ' if spot else ''}{text}")
    return "\n".join(lines), first
