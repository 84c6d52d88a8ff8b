"""redfuse: a compiler that fuses cascades of reductions.

    exe = redfuse.compile("attention.mlir")
    out = exe(q, k, v)
    print(exe.explain())

See docs/user/guide.md. Heavy parts (NumPy, the passes, PyTorch) are imported when they are first
needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mlir._mlir_libs import get_dialect_registry  # loads the one MLIR of the process

from . import _ext
from ._ext import trim_workspace, workspace
from .errors import (
    ArgumentError,
    CacheError,
    CacheWarning,
    CodeWarning,
    CompileError,
    Error,
    ExecutionError,
    FusionWarning,
    ParseError,
    RankError,
    TargetError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from .combining import Combiner, combiner, reduction, scan
    from .compiler import compile
    from .executable import Executable
    from .options import Options
    from .profiling import Profile
    from .rewriting import rewrite
    from .state import State
    from .tuning import tune
    from .verification import verify

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "CacheError",
    "CacheWarning",
    "CodeWarning",
    "Combiner",
    "CompileError",
    "Error",
    "Executable",
    "ExecutionError",
    "FusionWarning",
    "Options",
    "ParseError",
    "Profile",
    "RankError",
    "State",
    "TargetError",
    "UnsupportedError",
    "available_targets",
    "combiner",
    "compile",
    "explain",
    "load",
    "reduction",
    "register_dialect",
    "rewrite",
    "scan",
    "trim_workspace",
    "tune",
    "verify",
    "workspace",
]

_ext.register_dialects(get_dialect_registry())
_ext.register_passes()

_LAZY = {
    "compile": "compiler",
    "available_targets": "compiler",
    "Executable": "executable",
    "Options": "options",
    "Profile": "profiling",
    "Combiner": "combining",
    "combiner": "combining",
    "reduction": "combining",
    "scan": "combining",
    "State": "state",
    "rewrite": "rewriting",
    "tune": "tuning",
    "verify": "verification",
    "pattern_names": "rewriting",
}


def __getattr__(name: str) -> Any:
    if name == "explain":  # a package that can be called
        return importlib.import_module(".explain", __name__)
    if name in _LAZY:
        value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'redfuse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def load(path: Any) -> Executable:
    """The executable in a bundle that ``Executable.save`` wrote; raises CacheError or
    TargetError."""
    from .errors import path_text
    from .executable import Executable
    from .store.bundle import load_bytes

    return Executable.of_bundle(load_bytes(path_text(path)), path_text(path))


def register_dialect(context: Any) -> None:
    """Makes a context that was created before ``import redfuse`` know the dialect."""
    try:
        _ext.load_dialects(context)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"context: expected an mlir.ir.Context, got {type(context).__name__}"
        ) from None
