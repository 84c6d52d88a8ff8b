"""PyTorch in: a function or module with example inputs becomes a linalg program.

torch.export traces the program, and ``fx`` makes linalg ops of its graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, CompileError, UnsupportedError
from . import results as results_of
from .mlir import Source


def export(program: Any, inputs: Sequence[Any] | None) -> tuple[Source, Any]:
    """The linalg form of ``program`` for arguments like ``inputs``, and what makes of a tuple of
    its results what it returns (a named tuple, a dictionary); None where that is the tuple, or its
    one element.

    program: a ``torch.nn.Module`` (exported in eval mode) or a function of tensors. inputs: example
        tensors; their shapes and dtypes are the compiled program's.

    Raises ArgumentError without inputs, UnsupportedError where PyTorch is missing or an operation
    cannot be compiled (with its name and the line that calls it), and CompileError with PyTorch's
    words where the program cannot be exported.
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
    flat = _Flat(module)
    was_training = module.training
    try:
        exported = torch.export.export(flat.as_module(), tuple(inputs))
    except UnsupportedError:
        raise
    except Exception as error:  # torch.export raises many types of its own
        raise CompileError(f"torch.export cannot trace this program: {_head(error)}") from error
    finally:
        module.train(was_training)
    from .fx.importer import bytecode

    return Source(bytecode(exported)), flat.structure()


class _Flat:
    """A module whose results are a tuple of tensors, and their structure."""

    def __init__(self, module: Any):
        self._module = module
        self._rebuild: Any = None

    def as_module(self) -> Any:
        """What is exported, in eval mode."""
        import torch

        class Flat(torch.nn.Module):
            def __init__(self, inner: Any):
                super().__init__()
                self.inner = inner

            def forward(this, *arguments: Any) -> Any:  # noqa: N805
                return self._flatten(this.inner(*arguments))

        return Flat(self._module).eval()

    def _flatten(self, results: Any) -> tuple[Any, ...]:
        tensors, self._rebuild = results_of.flatten(results)
        return tensors

    def structure(self) -> Any:
        """Makes of the results what the module returns; None where that is what they are."""
        rebuild = self._rebuild
        if rebuild is None:
            return None
        return lambda results: rebuild(iter(results if isinstance(results, tuple) else (results,)))


def _head(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


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
