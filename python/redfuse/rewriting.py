"""Chosen C++ pattern sets, driven from Python, with a trace of what fired where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .errors import ArgumentError, one_of


class Fired(NamedTuple):
    """One application of a pattern: its name, the operation it matched, and where that is in the
    source."""

    pattern: str
    operation: str
    location: str

    def __str__(self) -> str:
        return f"{self.location}: {self.pattern} on {self.operation}"


def pattern_names() -> list[str]:
    """The names that :func:`rewrite` takes."""
    from . import _ext

    return list(_ext.pattern_names())


def rewrite(module: Any, patterns: Sequence[str]) -> list[Fired]:
    """Applies pattern sets to ``module`` in place, greedily, until none matches.

    module: an ``mlir.ir.Module`` or one of its operations. Python handles of operations inside it
        are stale
        afterwards: fetch them from the module again.
    patterns: names from :func:`pattern_names`.

    Returns what fired, in order. Raises ArgumentError for an unknown name, CompileError if the
    result does not verify or the rewriting does not end.
    """
    from . import _ext

    if isinstance(patterns, str):
        raise ArgumentError(
            f"patterns: expected a sequence of names, got the one string {patterns!r}"
        )
    if not isinstance(patterns, Iterable):
        raise ArgumentError(
            f"patterns: expected a sequence of names, got {type(patterns).__name__}"
        )
    patterns, known = list(patterns), pattern_names()
    for name in patterns:
        if name not in known:
            raise ArgumentError(one_of("pattern", str(name), known))
    operation = getattr(module, "operation", None)
    if operation is None:
        raise ArgumentError(
            f"module: expected an mlir.ir.Module or operation, got {type(module).__name__}"
        )
    _ext.load_dialects(operation.context)
    return [Fired(*entry) for entry in _ext.apply_patterns(operation, patterns)]
