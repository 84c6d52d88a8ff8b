"""PyTorch in: a function or module with example inputs becomes a linalg program.

torch.export traces the program, and ``fx`` makes linalg ops of its graph. A program with an
operation that has no lowering there is given to torch-mlir's importer and passes, where one is
installed. They run in a process of their own (``_lower_torch.py``): their MLIR and this package's
do not load into one.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, CompileError, UnsupportedError
from ..runtime import processes
from . import results as results_of
from .mlir import Source

IMPORTERS = ("torch_mlir", "iree.compiler")


def export(program: Any, inputs: Sequence[Any] | None) -> tuple[Source, Any]:
    """The linalg form of ``program`` for arguments like ``inputs``, and what makes of a tuple of
    its results what it returns (a named tuple, a dictionary); None where that is the tuple, or its
    one element.

    program: a ``torch.nn.Module`` (exported in eval mode) or a function of tensors. inputs: example
        tensors; their shapes and dtypes are the compiled program's.

    Raises ArgumentError without inputs, UnsupportedError where PyTorch or an importer is missing,
    and CompileError with PyTorch's or torch-mlir's words where the program cannot be exported or
    lowered.
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
    return _source(torch, exported), flat.structure()


def _source(torch: Any, exported: Any) -> Source:
    from .fx.importer import bytecode

    try:
        return Source(bytecode(exported))
    except UnsupportedError:
        if not any(_is_installed(name) for name in IMPORTERS):
            raise
    return Source(_lower(torch, exported))


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


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def _head(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _lower(torch: Any, exported: Any) -> str:
    """The linalg text of an ``ExportedProgram``."""
    script = Path(__file__).with_name("_lower_torch.py")
    with tempfile.TemporaryDirectory(prefix="redfuse-torch-") as folder:
        program, text = Path(folder, "program.pt2"), Path(folder, "program.mlir")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.export.save(exported, program)
        command = [sys.executable, "-W", "ignore", str(script), str(program), str(text)]
        done = processes.run(command, "lowering the PyTorch program")
        if done.returncode or not text.is_file():
            words = [line for line in done.stderr.strip().splitlines() if line.strip()]
            head = words[-1] if words else f"the importer ended with status {done.returncode}"
            raise CompileError(f"torch-mlir cannot lower this program: {head}")
        return text.read_text(encoding="utf-8")


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
