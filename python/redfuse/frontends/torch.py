"""PyTorch in: a function or module with example inputs becomes a linalg program.

torch.export traces the program, and ``fx`` makes linalg ops of its graph.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, UnsupportedError
from . import changes, results
from .interface import TENSOR, Interface, check_leaves, leaves_of
from .mlir import Source
from .precision import HIGHEST, Precision


def export(
    program: Any, inputs: Sequence[Any] | None, kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None, parameters: str = "constants", precision: Precision = HIGHEST,
    keeps_strides: bool = False,
) -> tuple[Source, Interface | None]:  # fmt: skip
    """The linalg form of ``program`` for arguments like ``inputs``, and how it is called; None
    where that is with tensors alone, of which it makes a tensor or a tuple of several.

    program: a ``torch.nn.Module`` (exported in eval mode), a function, or an ``ExportedProgram``,
        which needs no inputs. inputs, kwargs: examples; shapes and dtypes of their tensors are the
        compiled program's, but for extents that ``dynamic_shapes`` (as of torch.export) opens.
        Numbers among them are fixed. parameters: "constants", or "arguments" that are read from the
        module for each call. precision: of products and convolutions of f32. keeps_strides:
        whether arguments that lie in memory with their dims in another order (transposed,
        channels_last) are taken so, by an interface; else all are row-major.

    Raises ArgumentError without inputs or with what are none, UnsupportedError where PyTorch is
    missing or an operation cannot be compiled (with its name and the line that calls it), and
    CompileError with PyTorch's words where the program cannot be exported.
    """
    without_inputs = ArgumentError(
        "a PyTorch function or module needs example inputs: "
        "redfuse.compile(f, inputs=[tensor, ...])"
    )
    # Whoever has an ExportedProgram has imported torch: this is a function or a module.
    if inputs is None and "torch" not in sys.modules:
        raise without_inputs
    try:
        import torch
    except ImportError:
        raise UnsupportedError(
            "source is a function; PyTorch functions need torch: pip install 'redfuse[torch]'"
        ) from None
    if isinstance(program, torch.export.ExportedProgram):
        module = program.module(check_guards=False)
        return _imported(program, module, None, parameters, precision, keeps_strides)
    if inputs is None:
        raise without_inputs
    named = dict(kwargs or {})
    check_leaves(inputs, named)
    inputs, named = _apart((tuple(inputs), named))
    module = program if isinstance(program, torch.nn.Module) else _as_module(program, inputs, named)

    def imported(keeps: bool) -> tuple[Source, Interface | None]:
        flat = _Flat(module, keeps)
        exported = _exported(flat, inputs, named, dynamic_shapes)
        if flat.replaced and not keeps:
            raise _StateError
        flat.check_kept(exported)
        return _imported(exported, flat.module, flat, parameters, precision, keeps_strides)

    from .fx.program import WrittenConstantError

    try:
        return imported(keeps=False)
    except (_StateError, WrittenConstantError):
        with changes.as_buffers(module):
            return imported(keeps=True)


def _apart(examples: Any) -> Any:
    """Examples of which none is the same tensor as another: torch.export would take two arguments
    for one, in all calls."""
    import torch
    from torch.utils import _pytree as pytree

    seen: set[int] = set()

    def apart(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) in seen:
            tensor = tensor.detach().requires_grad_(tensor.requires_grad)
        seen.add(id(tensor))
        kept.append(tensor)  # so that no other one gets its id
        return tensor

    kept: list[torch.Tensor] = []
    return pytree.tree_map_only(torch.Tensor, apart, examples)


class _StateError(Exception):
    """A module gives attributes other tensors than they had."""


def _exported(flat: _Flat, inputs: Sequence[Any], named: dict[str, Any], open_: Any) -> Any:
    from . import tracing

    # Each by itself: a model that is trained may have parts that are not.
    trained = {part: part.training for part in flat.inner.modules()}
    flat.module.eval()
    try:
        return tracing.export(flat.module, inputs, named, _as_given(open_, inputs, named))
    finally:
        for part, is_trained in trained.items():
            part.training = is_trained


def _imported(
    exported: Any,
    module: Any,
    flat: _Flat | None,
    parameters: str,
    precision: Precision,
    keeps_strides: bool,
) -> tuple[Source, Interface | None]:
    from torch.utils import _pytree as pytree

    from .fx.program import import_program

    made = import_program(exported, parameters, precision, keeps_strides)
    rebuild = flat.rebuild if flat else _rebuild(made.outputs, exported.call_spec.out_spec)
    interface = Interface(
        exported.call_spec.in_spec, leaves_of(pytree.tree_leaves(exported.example_inputs)),
        [_reader(module, exported, name) for name in made.bound], made.writes, made.types,
        made.results, rebuild, made.layouts,
    )  # fmt: skip
    source = Source(made.bytecode(), known=True)
    return source, None if interface.is_plain() else interface


def _rebuild(outputs: Sequence[Any], spec: Any) -> Any:
    """Makes of tensors what an exported program returns; None where that is what they are."""
    from torch.utils import _pytree as pytree

    count = len(outputs)
    plain = pytree.tree_structure((0,) * count if count > 1 else 0)
    if spec == plain and all(x is TENSOR for x in outputs):
        return None

    def rebuild(values: Iterator[Any]) -> Any:
        return pytree.tree_unflatten([next(values) if x is TENSOR else x for x in outputs], spec)

    return rebuild


def _reader(module: Any, exported: Any, name: str) -> Callable[[], Any]:
    """Reads a parameter or buffer."""
    held = exported.constants.get(name)

    def read() -> Any:
        owner, _, last = name.rpartition(".")
        try:
            value = getattr(module.get_submodule(owner), last)
        except AttributeError:
            value = held
        return value.detach()

    return read


def _as_given(dynamic_shapes: Any, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The wrapping module takes its arguments as *arguments and **named."""
    if dynamic_shapes is None:
        return None
    if isinstance(dynamic_shapes, Mapping):
        by_name = dict(dynamic_shapes)
        first = tuple(by_name.pop(k) for k in list(by_name)[: len(inputs)])
        return {"arguments": first, **({"named": by_name} if named else {})}
    return {"arguments": tuple(dynamic_shapes)}


class _Flat:
    """A module whose results are a tuple of tensors, and their structure."""

    def __init__(self, inner: Any, keeps: bool):
        """keeps: what attributes are given is written to the tensors that they had."""
        import torch

        self.inner = inner
        # Makes of the results what the module returns; None where that is what they are.
        self.rebuild: Any = None
        # Attributes with other tensors than before, and of these what cannot be written.
        self.replaced: list[Any] = []
        self._unwritten: list[str] = []

        class Flat(torch.nn.Module):
            def __init__(self, inner: Any):
                super().__init__()
                self.inner = inner

            def forward(this, *arguments: Any, **named: Any) -> Any:  # noqa: N805
                before = changes.tensors_of(this.inner)
                made = self._flatten(this.inner(*arguments, **named))
                self.replaced = changes.replaced(this.inner, before)
                if keeps:
                    self._unwritten = changes.write_back(this.inner, before)
                return made

        # What is exported.
        self.module = Flat(inner)

    def check_kept(self, exported: Any) -> None:
        """Raises UnsupportedError if what cannot be written would be read by the next call."""
        names = exported.graph_signature.inputs_to_buffers
        for node in exported.graph.nodes:
            name = names.get(node.name, "").removeprefix("inner.")
            if node.op == "placeholder" and node.users and name in self._unwritten:
                raise UnsupportedError(
                    f"the program gives {name} another shape or type; expected one that stays"
                )

    def _flatten(self, made: Any) -> tuple[Any, ...]:
        tensors, self.rebuild = results.flatten(made)
        return tensors


def _as_module(function: Any, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A module that calls ``function``: torch.export takes modules only."""
    import torch

    try:
        inspect.signature(function).bind(*inputs, **named)
    except TypeError as error:
        name = getattr(function, "__name__", "the function")
        raise ArgumentError(
            f"{name} cannot be called with {len(inputs) + len(named)} inputs: {error}"
        ) from None
    except ValueError:  # built in code without a signature: torch.export will tell
        pass

    # Its lines, not those of the module around it, are the program's positions.
    anchor = getattr(torch.fx.proxy, "_register_stack_trace_anchor", None)
    if anchor is not None:
        anchor(inspect.unwrap(getattr(function, "__func__", function)))

    class Function(torch.nn.Module):
        def forward(self, *arguments: Any, **named: Any) -> Any:
            return function(*arguments, **named)

    return Function()
