"""A part of a graph as a graph of its own, with row-major tensors at its border."""

from __future__ import annotations

import dataclasses
import io
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...errors import UnsupportedError
from ..fx.decompose import attribute_of
from . import constants, nodes

# So many elements of a mask for one that it is made of.
FEWER = 16
_SDPA = torch.ops.aten.scaled_dot_product_attention.default


@dataclasses.dataclass
class Border:
    """A tensor at the border. order: its dims from the longest stride to the shortest, where that
    is not theirs as they are; the tensor that crosses is permuted so. copied: of an
    argument, it has gaps or repeats and a copy crosses; of a result, it gets its strides by a
    copy."""

    node: Any
    order: tuple[int, ...] | None = None
    copied: bool = False


@dataclasses.dataclass
class Part:
    """graph: with tensors as placeholders and a tuple as result. text: the same for every part that
    does the same work. inputs, outputs: in order, with nodes of the outer graph."""

    graph: Any
    text: str
    inputs: list[Border]
    outputs: list[Border]
    device: Any

    def source(self, name: str = "main") -> bytes:
        """As MLIR's bytecode, in a function of that name, from which kernels have theirs; raises
        UnsupportedError."""
        from mlir import ir

        from ... import dialects  # noqa: F401  known to the context
        from ..fx.importer import GraphImporter

        names = [n.name for n in self.graph.nodes if n.op == "placeholder"]
        context = ir.Context()
        with context, ir.Location.unknown():
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                GraphImporter(name).build(self.graph, names, lambda _: None)
            module.operation.verify()
        file = io.BytesIO()
        module.operation.write_bytecode(file)
        return file.getvalue()

    def fake(self) -> Callable[[Sequence[Any]], list[Any]]:
        """What makes results without data, of inputs like these."""
        values = [n.meta["val"] for n in self.graph.nodes if n.op == "placeholder"]
        results = [n.meta["val"] for n in self.graph.output_node().args[0]]
        symbols = {}
        for i, value in enumerate(values):
            for d, size in enumerate(value.shape):
                if not isinstance(size, int) and size.node.expr.is_Symbol:
                    symbols.setdefault(size.node.expr, (i, d))
        shapes = [tuple(n if isinstance(n, int) else n.node.expr for n in r.shape)
                  for r in results]  # fmt: skip
        kinds = [(r.dtype, r.device) for r in results]

        def made(inputs: Sequence[Any]) -> list[Any]:
            known = {s: inputs[i].shape[d] for s, (i, d) in symbols.items()}
            return [
                torch.empty([n if isinstance(n, int) else _size(n, known) for n in shape],
                            dtype=dtype, device=device)
                for shape, (dtype, device) in zip(shapes, kinds, strict=True)
            ]  # fmt: skip

        return made


def _size(expr: Any, known: dict[Any, Any]) -> Any:
    from torch.utils._sympy.interp import sympy_interp
    from torch.utils._sympy.reference import PythonReferenceAnalysis

    return sympy_interp(PythonReferenceAnalysis, known, expr)


def extract(members: set[Any], order: dict[Any, int], is_copied: bool = False) -> Part:
    """The part of ``members``. Views that make what is not row-major go in with it. is_copied:
    results are row-major, and others get their strides by a copy outside.

    Raises UnsupportedError for a result with gaps, or without one.
    """
    within = _with_views(members)
    for node in members:
        if nodes.kind_of(node) == nodes.ATTENTION:
            within |= sources_of_mask(node)
    sequence = sorted(within, key=order.__getitem__)
    inputs = _inputs(sequence, within)
    graph = torch.fx.Graph()
    made: dict[Any, Any] = {}
    for border in inputs:
        made[border.node] = _placeholder(graph, border)
    for node in sequence:
        made[node] = _copied(graph, node, made)
    outputs, results = [], []
    for node in sequence:
        if node not in members or all(user in members for user in node.users):
            continue
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            continue  # its parts are results, if they are used
        border = Border(node, _order_of(value), is_copied)
        if border.order is None and not _is_row_major(value):
            raise UnsupportedError(f"{node.name} has gaps between its elements")
        outputs.append(border)
        results.append(_permuted(graph, made[node], None if is_copied else border.order))
    if not results:
        raise UnsupportedError("nothing of it is used")
    if not inputs:  # PyTorch finds the device of a call by its tensors
        raise UnsupportedError("it is made of numbers alone")
    graph.output(tuple(results))
    inner = {n.target: n.meta["graph"] for n in graph.nodes if n.op == "get_attr"}
    if inner:
        graph = torch.fx.GraphModule(inner, graph).graph
    device = results[0].meta["val"].device
    return Part(graph, _text(graph), inputs, outputs, device)


def _with_views(members: set[Any]) -> set[Any]:
    """With the views that operands come from, as long as those are not row-major."""
    within = set(members)
    todo = [a for n in members for a in _operands_of(n) if a not in members]
    while todo:
        node = todo.pop()
        value = node.meta.get("val")
        if node in within or not isinstance(value, torch.Tensor) or _is_row_major(value):
            continue
        if nodes.kind_of(node) == nodes.VIEW and nodes.refusal(node) is None:
            within.add(node)
            todo += node.all_input_nodes
    return within


def sources_of_mask(attention: Any) -> set[Any]:
    """The nodes that make the mask of an attention, if that is by element-wise work on far less
    than the mask: positions that are compared, the lengths of texts. Such a mask is made again
    where it is used, and not read from memory."""
    mask = mask_of(attention)
    sources: set[Any] = set()
    read: set[Any] = set()
    todo = [] if mask is None else [mask]
    while todo:
        node = todo.pop()
        if node in sources or node in read:
            continue
        if nodes.kind_of(node) in (nodes.POINTWISE, nodes.VIEW) and nodes.refusal(node) is None:
            sources.add(node)
            todo += node.all_input_nodes
        elif constants.number_of(node) is not None:
            sources.add(node)
        else:
            read.add(node)
    values = [v for n in read for v in nodes.values_of(n)]
    if mask is None or FEWER * sum(map(_numel, values)) > _numel(mask.meta["val"]):
        return set()
    return sources


def _is_filled(node: Any) -> bool:
    """Whether a source of a mask is taken as the number that it is throughout."""
    return nodes.kind_of(node) is None and constants.number_of(node) is not None


def mask_of(attention: Any) -> Any:
    """The node of its mask; None without one, or with one that leaves out and adds nothing."""
    mask = _mask_given(attention)
    source = mask
    while source is not None and source.target is torch.ops.aten.expand.default:
        source = source.args[0]
    number = None if source is None else constants.number_of(source)
    if number is not None and number == (source.meta["val"].dtype is torch.bool):
        return None
    return mask


def _mask_given(attention: Any) -> Any:
    names = [a.name for a in attention.target._schema.arguments]
    given = {**dict(zip(names, attention.args, strict=False)), **attention.kwargs}
    return given.get("attn_mask", given.get("attn_bias"))


def _operands_of(node: Any) -> list[Any]:
    """The nodes that a node needs."""
    if nodes.kind_of(node) != nodes.ATTENTION or mask_of(node) is not None:
        return node.all_input_nodes
    return [n for n in node.all_input_nodes if n is not _mask_given(node)]


def _numel(value: Any) -> int:
    return math.prod(n if isinstance(n, int) else n.node.hint or 1 for n in value.shape)


def _inputs(sequence: Sequence[Any], within: set[Any]) -> list[Border]:
    made: dict[Any, Border] = {}
    for node in sequence:
        for given in [] if _is_filled(node) else _operands_of(node):
            value = given.meta.get("val")
            if given in within or given in made or not isinstance(value, torch.Tensor):
                continue
            order = _order_of(value)
            made[given] = Border(given, order, order is None and not _is_row_major(value))
    return list(made.values())


def _placeholder(graph: Any, border: Border) -> Any:
    value = border.node.meta["val"]
    place = graph.placeholder(f"x{len(graph.nodes)}")
    if border.copied:
        value = torch.empty(value.shape, dtype=value.dtype, device="meta") if value.is_meta else (
            value.clone(memory_format=torch.contiguous_format))  # fmt: skip
    place.meta["val"] = value if border.order is None else value.permute(border.order)
    if border.order is None:
        return place
    back = [border.order.index(d) for d in range(len(border.order))]
    return _permuted(graph, place, tuple(back))


def _permuted(graph: Any, node: Any, order: tuple[int, ...] | None) -> Any:
    if order is None:
        return node
    made = graph.call_function(torch.ops.aten.permute.default, (node, list(order)))
    made.meta["val"] = node.meta["val"].permute(order)
    return made


def _copied(graph: Any, node: Any, made: dict[Any, Any]) -> Any:
    """The node for the inner graph. Extents are numbers or SymInts there, not nodes."""

    def value_of(given: Any) -> Any:
        if given.op == "get_attr" and given not in made:
            made[given] = _function(graph, given)
        return made[given] if given in made else given.meta["val"]

    if _is_filled(node):
        value = node.meta["val"]
        new = graph.call_function(
            torch.ops.aten.full.default, (list(value.shape), constants.number_of(node)),
            {"dtype": value.dtype, "device": value.device},
        )  # fmt: skip
        new.meta["val"] = value
        return new
    args = torch.fx.map_arg(node.args, value_of)
    kwargs = torch.fx.map_arg(node.kwargs, value_of)
    meta = {k: node.meta[k] for k in ("val", "stack_trace", "nn_module_stack") if k in node.meta}
    if nodes.kind_of(node) == nodes.ATTENTION:
        args, kwargs = _attention(node, args, kwargs)
        new = graph.call_function(_SDPA, args, kwargs)
        if isinstance(meta["val"], (tuple, list)):
            meta["val"] = meta["val"][0]
        new.meta = meta
        return new
    if node.target is operator.getitem and nodes.kind_of(node.args[0]) == nodes.ATTENTION:
        if node.args[1] != 0 or node.args[0] not in made:
            raise UnsupportedError("of an attention only the result is made")
        return args[0]
    with warnings.catch_warnings():
        # PyTorch warns of extents that are no nodes; the importer takes them as they are.
        warnings.filterwarnings("ignore", "Raw SymInt value")
        new = graph.call_function(node.target, args, kwargs)
    new.meta = meta
    return new


def _function(graph: Any, node: Any) -> Any:
    """A graph that an operation calls, as an attribute of the inner graph's module."""
    held = attribute_of(node)
    if not isinstance(held, torch.fx.GraphModule):
        raise UnsupportedError(f"{node.target} is no tensor and no graph")
    new = graph.get_attr(f"f{len(graph.nodes)}")
    new.meta["graph"] = held
    return new


def _attention(node: Any, args: Any, kwargs: Any) -> tuple[Any, dict]:
    """Arguments of the operation that all attentions stand for."""
    names = [a.name for a in node.target._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if given.get("dropout_p"):
        raise UnsupportedError("an attention with dropout draws random numbers")
    if given.get("return_debug_mask"):
        raise UnsupportedError("the debug mask of an attention is not made")
    made = {
        "attn_mask": None
        if mask_of(node) is None
        else given.get("attn_mask", given.get("attn_bias")),
        "is_causal": bool(given.get("is_causal", False)),
    }
    if given.get("scale") is not None:
        made["scale"] = given["scale"]
    query, key = (a.meta["val"] for a in node.args[:2])
    if query.dim() > 2 and not _is_same(query.shape[-3], key.shape[-3]):
        made["enable_gqa"] = True  # that the kernels of PyTorch are not told
    return (given["query"], given["key"], given["value"]), made


def _is_same(a: Any, b: Any) -> bool:
    return str(a) == str(b)


def _is_row_major(value: Any) -> bool:
    return bool(value.is_contiguous())


def _order_of(value: Any) -> tuple[int, ...] | None:
    """The dims by stride, where that makes a row-major tensor of one that is not."""
    if _is_row_major(value) or any(not isinstance(n, int) for n in value.stride()):
        return _open_order(value)
    order = sorted(range(value.dim()), key=lambda d: (-value.stride(d), d))
    return tuple(order) if value.permute(order).is_contiguous() else None


def _open_order(value: Any) -> tuple[int, ...] | None:
    """The same of one with open extents: by what the strides are at the moment."""
    if _is_row_major(value):
        return None
    hints = [n if isinstance(n, int) else n.node.hint for n in value.stride()]
    if any(h is None for h in hints):
        return None
    order = sorted(range(value.dim()), key=lambda d: (-hints[d], d))
    return tuple(order) if value.permute(order).is_contiguous() else None


def _text(graph: Any) -> str:
    """The graph with numbers for names, also of open extents."""
    numbers: dict[Any, str] = {}
    symbols: dict[str, str] = {}

    def size(n: Any) -> str:
        if isinstance(n, int):
            return str(n)
        expr = n.node.expr
        for symbol in sorted(expr.free_symbols, key=str):
            symbols.setdefault(str(symbol), f"e{len(symbols)}")
        return str(expr.xreplace({s: type(s)(symbols[str(s)]) for s in expr.free_symbols}))

    def shown(given: Any) -> str:
        if isinstance(given, torch.fx.Node):
            return numbers[given]
        if isinstance(given, (list, tuple)):
            return "[" + ", ".join(map(shown, given)) + "]"
        if isinstance(given, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return size(given)
        return repr(given)

    lines = []
    for node in graph.nodes:
        numbers[node] = f"%{len(numbers)}"
        values = [f"{v.dtype}[{', '.join(map(size, v.shape))}]" for v in nodes.values_of(node)]
        kwargs = [f"{k}={shown(v)}" for k, v in sorted(node.kwargs.items())]
        args = [*map(shown, node.args), *kwargs]
        target = node.op if node.op != "call_function" else str(node.target)
        if node.op == "get_attr":
            args = [_text(node.meta["graph"].graph)]
        lines.append(f"{numbers[node]} = {target}({', '.join(args)}): {' '.join(values)}")
    return "\n".join(lines)
