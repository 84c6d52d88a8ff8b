"""PyTorch in, through torch-mlir: a function or module with example inputs becomes linalg text."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, CompileError, UnsupportedError
from .mlir import Source

MISSING = (
    "compiling PyTorch functions and modules needs torch-mlir, which is not installed: "
    "pip install 'redfuse[torch]', with torch-mlir from its own release page where the package "
    "index has none; or export the program to linalg elsewhere and compile that text"
)


def export(program: Any, inputs: Sequence[Any] | None) -> Source:
    """The linalg form of ``program`` for arguments like ``inputs``.

    program: a ``torch.nn.Module`` or a function of tensors. inputs: example tensors; their shapes
        and dtypes are the compiled program's.

    Raises ArgumentError without inputs, UnsupportedError without torch-mlir, and CompileError
    with torch-mlir's words where it cannot lower an operation.
    """
    if inputs is None:
        raise ArgumentError(
            "a PyTorch function or module needs example inputs: "
            "redfuse.compile(f, inputs=[tensor, ...])"
        )
    try:
        import torch
    except ImportError:
        raise UnsupportedError(
            "source is a function; PyTorch functions need torch: pip install 'redfuse[torch]'"
        ) from None
    for index, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor):
            raise ArgumentError(
                f"inputs[{index}]: expected a torch tensor, got {type(value).__name__}", index
            )
    module = program if isinstance(program, torch.nn.Module) else _as_module(program, len(inputs))
    try:
        from torch_mlir import fx
    except ImportError:
        raise UnsupportedError(MISSING) from None
    try:
        lowered = fx.export_and_import(
            module.eval(), *inputs, output_type="linalg-on-tensors", func_name="main"
        )
    except Exception as error:  # torch.export and torch-mlir raise many types of their own
        text = str(error).strip().splitlines()
        head = text[0] if text else type(error).__name__
        raise CompileError(f"torch-mlir cannot lower this program: {head}") from error
    return Source(str(lowered))


def _as_module(function: Any, count: int) -> Any:
    """A module that calls ``function``: torch.export takes modules only."""
    import torch

    try:
        inspect.signature(function).bind(*range(count))
    except TypeError as error:
        name = getattr(function, "__name__", "the function")
        raise ArgumentError(f"{name} cannot be called with {count} inputs: {error}") from None
    except ValueError:  # built in code without a signature: torch.export will tell
        pass

    class Function(torch.nn.Module):
        def forward(self, *arguments: Any) -> Any:
            return function(*arguments)

    return Function()
