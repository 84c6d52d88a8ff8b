"""What a program became and why, for people: texts, formulas, certificates."""

from __future__ import annotations

import sys
import types
from typing import Any


class _Callable(types.ModuleType):
    """``redfuse.explain`` is this package, and what a user calls."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``redfuse.frontends.dynamo.explaining.explain``."""
        from ..frontends.dynamo.explaining import explain

        return explain(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
