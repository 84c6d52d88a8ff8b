"""Exported programs: what of a graph are arguments, constants and results."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from mlir import ir
from torch.export.graph_signature import ConstantArgument, OutputKind

from ... import _ext
from ...errors import ArgumentError, CompileError, UnsupportedError
from ...runtime.strides import Layout, order_of
from ..interface import TENSOR
from ..precision import HIGHEST, Precision
from ..tracing import told
from .importer import GraphImporter
from .recurrent import as_one_operation

_WRITES = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)
# Operations whose schema does not tell that they write to the running mean and variance, with the
# argument that says whether they do.
_STATISTICS = {"aten.batch_norm.default": 5, "aten.instance_norm.default": 5}

# Writes nothing but what autograd knows.
_UNCHANGED = ("aten.detach_.default",)


@dataclasses.dataclass
class Imported:
    """A program as MLIR.

    bound: parameters and buffers that are arguments behind the user's, by name. writes: for each of
        the first results, the number of the argument that gets it. types, results: of arguments and
        results, as PyTorch names them. outputs: what the program returns, ``TENSOR`` for each of
        the other results, and numbers and None as they are. layouts: of arguments, how they lie in
        memory; None where that is row-major.
    """

    module: Any
    bound: list[str]
    writes: list[int]
    types: list[str]
    results: list[str]
    outputs: list[Any]
    layouts: list[Layout | None]

    def bytecode(self) -> bytes:
        """As MLIR's bytecode: weights are not spelled."""
        return _ext.bytecode(self.module.operation)


def import_program(
    program: Any,
    parameters: str = "constants",
    precision: Precision = HIGHEST,
    keeps_strides: bool = False,
) -> Imported:
    """The module of an ``ExportedProgram``: arguments are the user's tensors, and behind them
    buffers that it writes to and, with ``parameters="arguments"``, all parameters and buffers.
    precision: of products and convolutions of f32. keeps_strides: whether arguments lie in memory
    with their dims in the order of the examples; else in their own.

    Raises UnsupportedError, with the place in the user's code, for what has no lowering.
    """
    from ... import dialects  # noqa: F401  redfuse's dialects are known to the context

    if _writes(program.graph):
        program = _without_writes(program)
    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    held = {
        **{n: program.state_dict.get(t, program.constants.get(t)) for n, t in names.items()},
        **{n: program.constants[t]
           for n, t in signature.inputs_to_lifted_tensor_constants.items()},
    }  # fmt: skip
    _check_constants(signature, held)
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    # Python numbers among the arguments are constants of the graph.
    own = [n for n in signature.user_inputs
           if isinstance(n, str) and n in nodes
           and isinstance(nodes[n].meta.get("val"), torch.Tensor)]  # fmt: skip
    written = [s for s in signature.output_specs if s.kind in _WRITES]
    bound = [
        n
        for n, t in names.items()
        if parameters == "arguments"
        or any(s.kind is OutputKind.BUFFER_MUTATION and s.target == t for s in written)
    ]
    arguments = [*own, *bound]
    targets = [names.get(n, n) for n in arguments]
    layouts = [_layout(nodes[n].meta["val"]) if keeps_strides else None for n in arguments]
    order = sorted(range(len(signature.output_specs)),
                   key=lambda i: signature.output_specs[i].kind not in _WRITES)  # fmt: skip
    outputs: list[Any] = []
    returned: list[Any] = []

    def results(graph: Any) -> list[Any]:
        all_ = graph.output_node().args[0]
        for i in order:
            spec = signature.output_specs[i]
            if spec.kind in _WRITES:
                _check_written(spec.target, all_[i])
                returned.append(all_[i])
            elif spec.kind is not OutputKind.USER_OUTPUT:
                raise UnsupportedError(f"the program returns {spec.arg.name} by {spec.kind.name}")
            elif isinstance(spec.arg, ConstantArgument) or not isinstance(all_[i], torch.fx.Node):
                outputs.append(all_[i])
            else:
                returned.append(all_[i])
                outputs.append(TENSOR)
        return returned

    def _check_written(target: str, node: Any) -> None:
        """A tensor that is given another shape is not written but replaced."""
        old = nodes[arguments[targets.index(target)]].meta["val"]
        if tuple(map(str, old.shape)) != tuple(map(str, node.meta["val"].shape)):
            raise UnsupportedError(
                f"the program gives {target} another shape: {tuple(node.meta['val'].shape)} "
                f"instead of {tuple(old.shape)}"
            )

    context = ir.Context()
    with context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            GraphImporter(precision=precision).build(
                program.graph,
                arguments,
                held.get,
                results,
                program.range_constraints,
                {n: layout.order for n, layout in zip(arguments, layouts, strict=True) if layout},
            )
        try:
            module.operation.verify()
        except ir.MLIRError as error:
            words = str(error).strip().splitlines()
            raise CompileError(
                f"the importer made a program that is not valid: {(words[1:] or words)[0]}; this "
                "is a fault of redfuse, not of the program"
            ) from error
    return Imported(
        module, [names[n] for n in bound], [targets.index(s.target) for s in written],
        [_type(nodes[n]) for n in arguments], [_type(n) for n in returned], outputs, layouts,
    )  # fmt: skip


def _check_constants(signature: Any, held: dict[str, Any]) -> None:
    """Raises ArgumentError for a tensor on the meta device that is no parameter."""
    for name, path in signature.inputs_to_lifted_tensor_constants.items():
        if held[name].is_meta:
            place = path.removeprefix("inner.")
            raise ArgumentError(
                f"the program makes a tensor of shape {tuple(held[name].shape)} in forward on the "
                f"meta device, or has it as a plain attribute ({place}): it has no numbers there; "
                "expected torch.tensor(numbers, device=x.device) in forward, or examples and "
                "attributes on a device with memory"
            )


def _without_writes(program: Any) -> Any:
    """The same program, whose graph makes what is written and gives it back."""
    try:
        with as_one_operation():
            return program.run_decompositions({})
    except RuntimeError as error:
        name, found, _ = str(error).partition(_MUTATED)
        if not found:
            with told():
                raise
        raise WrittenConstantError(
            f"the program writes to {name.split()[-1]}, which is neither a buffer nor an argument; "
            "register it in the module: register_buffer(name, tensor)"
        ) from error


class WrittenConstantError(UnsupportedError):
    """A module writes to a tensor that PyTorch takes for a constant."""


# What PyTorch says of it, behind its name.
_MUTATED = " is mutated in the forward method"


def _layout(fake: Any) -> Layout | None:
    """How an argument lies in memory, where that is dense and not row-major. Open extents are taken
    for those of the example."""

    def number(n: Any) -> Any:
        return n if isinstance(n, int) else n.node.hint

    if not isinstance(fake, torch.Tensor) or fake.layout is not torch.strided:
        return None
    shape, strides = ([number(n) for n in ns] for ns in (fake.shape, fake.stride()))
    if None in (*shape, *strides):
        return None
    order = order_of(shape, strides)
    if order is None:
        return None
    return Layout(order, tuple(n if isinstance(n, int) else None for n in fake.shape))


def _type(node: Any) -> str:
    return str(node.meta["val"].dtype).removeprefix("torch.")


def _writes(graph: Any) -> bool:
    """Whether some operation of a graph is not a function: it writes, or is a graph itself."""
    for node in graph.nodes:
        if node.op == "call_function" and isinstance(node.target, torch._ops.OperatorBase):
            schema = getattr(node.target, "_schema", None)
            if str(node.target) in _UNCHANGED:
                continue
            if schema is None or schema.is_mutable or _keeps_statistics(node):
                return True
    return False


def _keeps_statistics(node: Any) -> bool:
    place = _STATISTICS.get(str(node.target))
    if place is None or len(node.args) <= place:
        return False
    return bool(node.args[place]) and node.args[3] is not None


def import_exported(program: Any) -> Any:
    """The module of a program that returns its results alone."""
    made = import_program(program)
    if made.writes:
        raise UnsupportedError(
            f"the program writes to {', '.join(made.bound) or 'its arguments'}; expected one that "
            "leaves its inputs and buffers as they are"
        )
    return made.module
