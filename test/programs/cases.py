"""How a file of PyTorch programs lists them (``C``, as ``export.py`` reads it)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class Cases(dict[str, tuple[Function, tuple[Any, ...], float | None]]):
    """Name -> (function, (shape, dtype) of each argument, floating-point operations or None)."""

    def add(self, name: str, f: Function, *specs: Any, flops: float | None = None) -> None:
        self[name] = (f, specs, flops)

    def case(self, name: str, *specs: Any) -> Callable[[Function], Function]:
        """The same as a decorator."""

        def add(f: Function) -> Function:
            self.add(name, f, *specs)
            return f

        return add
