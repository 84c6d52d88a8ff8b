"""Rules of our own, for operations that PyTorch's rules make too much of, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RULES: dict[str, Callable[..., Any]] = {}


def composes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function of an operation's arguments that calls other operations on them. Names
    without a library are aten's."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name if name.count(".") == 2 else f"aten.{name}"] = function
        return function

    return add
