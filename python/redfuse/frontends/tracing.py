"""Programs of PyTorch as graphs by torch.export, and what of its failures a user reads."""

from __future__ import annotations

import contextlib
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ..errors import CompileError, Error, UnsupportedError
from .overrides import Overrides

_OWN = (str(Path(torch.__file__).parent), str(Path(__file__).parent), "<")
# What raises where a graph would have to know numbers.
_DATA = (
    "GuardOnDataDependentSymNode", "DataDependentOutputException",
    "DynamicOutputShapeException", "PendingUnbackedSymbolNotFound",
)  # fmt: skip


# One at a time changes what PyTorch looks up while it traces.
_TRACES = threading.RLock()


def export(
    module: Any, inputs: Sequence[Any], named: Mapping[str, Any], dynamic_shapes: Any
) -> torch.export.ExportedProgram:
    """The graph of a module for arguments like these.

    Transformations of functions in it (``torch.func``, ``torch.vmap``, ``torch.autograd.grad``) are
    gone from the graph, which has what they make. Raises CompileError with PyTorch's words and
    the user's line for what cannot be traced, and UnsupportedError of redfuse's own rules.
    """
    from .fx.recurrent import as_one_operation

    given = (module, tuple(inputs), dict(named))
    with _TRACES, _transforms() as used, told(used), Overrides():
        try:
            with as_one_operation():
                exported = torch.export.export(*given, dynamic_shapes=dynamic_shapes)
        except Exception:
            if not used:
                raise
        if used:
            exported = _below_transforms(*given, dynamic_shapes)
    return exported


@contextlib.contextmanager
def told(used: Sequence[str] = ()) -> Iterator[None]:
    """Where PyTorch traces: what it raises is a CompileError. used: transformations by name."""
    try:
        yield
    except Error:
        raise
    except Exception as error:  # torch.export raises many types of its own
        inside = f", in what {used[0]} makes" if used else ""
        raise CompileError(
            f"torch.export cannot trace this program{_place(error)}{inside}: {words_of(error)}"
        ) from error


def _place(error: BaseException) -> str:
    """The user's line in which something failed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if not f.filename.startswith(_OWN)]  # fmt: skip
    return f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def words_of(error: BaseException) -> str:
    """The first line of what PyTorch says, and what would work where that is known."""
    lines = [line.strip() for line in str(error).splitlines()]
    first = next((line for line in lines if line), type(error).__name__)
    if is_about_data(error):
        first = first.partition(" (unhinted")[0].removesuffix(".")
        return (
            f"{first}: it depends on the data of a tensor (if, while, bool(), "
            ".item(), shapes), which a graph does not know; expected torch.where, torch.cond or "
            "tensors in the place of Python's numbers"
        )
    return first


def is_about_data(error: BaseException) -> bool:
    """Whether a graph would have to know what numbers a tensor has."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return bool(kinds & set(_DATA)) or "data-dependent" in str(error).partition("\n")[0]


# ---- transformations of functions


@contextlib.contextmanager
def _transforms() -> Iterator[list[str]]:
    """A list that gets the names of what differentiates or vectorises functions while it runs."""
    from torch._functorch import eager_transforms, vmap

    used: list[str] = []
    own = threading.get_ident()
    places = (
        (eager_transforms, "grad_increment_nesting", "torch.func"),
        (eager_transforms, "jvp_increment_nesting", "torch.func"),
        (vmap, "vmap_increment_nesting", "torch.vmap"),
        (torch.autograd, "_engine_run_backward", "torch.autograd"),
    )
    known = [(owner, name, says) for owner, name, says in places if hasattr(owner, name)]
    before = [getattr(owner, name) for owner, name, _ in known]

    def noted(function: Any, says: str) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            if threading.get_ident() == own:  # not what others train meanwhile
                used.append(says)
            return function(*args, **named)

        return call

    try:
        for (owner, name, says), function in zip(known, before, strict=True):
            setattr(owner, name, noted(function, says))
        yield used
    finally:
        for (owner, name, _), function in zip(known, before, strict=True):
            setattr(owner, name, function)


def _below_transforms(
    module: Any, inputs: tuple[Any, ...], named: dict[str, Any], dynamic_shapes: Any
) -> torch.export.ExportedProgram:
    """torch.export keeps transformations in its graph as calls of Python functions; traced below
    PyTorch's dispatch of them there is only what they make."""
    try:
        from torch.export._trace import _export
    except ImportError:
        raise UnsupportedError(
            f"transformations of functions need another PyTorch than {torch.__version__}; "
            "expected a program without torch.func, torch.vmap and torch.autograd.grad"
        ) from None
    return _export(
        module, inputs, named, dynamic_shapes=dynamic_shapes, strict=False, pre_dispatch=False
    )
