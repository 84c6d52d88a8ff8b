"""Scans that PyTorch spells as trees, kept whole until it is decided who computes them.

For ``associative_scan`` PyTorch has kernels on GPUs alone. Elsewhere (its mode is "generic") it
combines pairs of neighbours, finds the prefixes of the pairs in the same way, and makes the others
from these: a tree of slices and interleavings, whose every level is a tensor in memory.

``keep_whole`` follows such trees through a graph. Of a tensor it knows which elements of the leaves
each place along the first dim combines, a span from first to last. A combination joins the spans of
two tensors, slices and interleavings move them; a tensor whose place i holds elements 0 to i has
the prefixes, however it was made, and becomes a result of one ``associative_scan``.
"""

from __future__ import annotations

import dataclasses
import logging
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch._higher_order_ops.associative_scan import (
    associative_scan_op,
    generic_associative_scan,
)

from . import nodes, whole

LOG = logging.getLogger("redfuse.dynamo")

# What each place along the first dim combines: the first element and the last; None: padding.
Spans = list[tuple[int, int] | None]
_ENTER, _LEAVE, _ADD, _REMOVE = (
    "_vmap_increment_nesting", "_vmap_decrement_nesting", "_add_batch_dim", "_remove_batch_dim",
)  # fmt: skip


@dataclasses.dataclass
class Combination:
    """A function of two elements, mapped along the first dim (``torch.vmap``).

    given: tensors of the left elements, then of the right ones. made: the results. body: the nodes
    of the function, of ``arguments``, up to ``returned``. members: all of these, in order."""

    members: list[Any]

    def __post_init__(self) -> None:
        inputs = [n for n in self.members if _name(n) == _ADD]
        self.made = [n for n in self.members if _name(n) == _REMOVE]
        self.arguments = inputs
        self.given = [n.args[0] for n in inputs]
        self.returned = [n.args[0] for n in self.made]
        others = (_ENTER, _LEAVE, _ADD, _REMOVE, "lazy_load_decompositions")
        self.body = [n for n in self.members if _name(n) not in others]

    def is_plain(self) -> bool:
        """Whether it maps one function of whole elements along the first dim alone."""
        ends = self.arguments + self.made
        inside = {*self.arguments, *self.body}
        return (
            len(self.given) == 2 * len(self.made) > 0
            and all(n.args[1 if _name(n) == _ADD else 3] == 0 for n in ends)
            and all(a in inside for n in self.body for a in n.all_input_nodes)
            and all(n in inside for n in self.returned)
        )

    def key(self) -> str:
        """Equal for equal functions."""
        numbers = {n: f"%{i}" for i, n in enumerate(self.arguments + self.body)}

        def text(given: Any) -> str:
            return str(torch.fx.map_arg(given, numbers.__getitem__))

        lines = [f"{n.op} {n.target} {text((n.args, n.kwargs))}" for n in self.body]
        return "\n".join([*lines, text(self.returned)])


@dataclasses.dataclass
class Tree:
    """Combinations by one function, of leaves: a tensor for each part of an element. known: the
    part that a node has, and its spans, where it is of this tree."""

    leaves: list[Any]
    key: str
    combinations: list[Combination] = dataclasses.field(default_factory=list)
    known: dict[Any, tuple[int, Spans] | None] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for part, leaf in enumerate(self.leaves):
            self.known[leaf] = part, [(i, i) for i in range(_value(leaf).shape[0])]

    def of(self, node: Any) -> tuple[int, Spans] | None:
        """What a node has."""
        if node not in self.known:
            self.known[node] = self._moved(node) if node.op == "call_function" else None
        return self.known[node]

    def _moved(self, node: Any) -> tuple[int, Spans] | None:
        """Of a node that moves what others have."""
        name, args, given = _name(node), node.args, node.kwargs
        if name == "slice" and not given and len(args) > 2 and args[1] == 0:
            one = self.of(args[0])
            return one and (one[0], one[1][slice(*args[2:], *[None] * (len(args) == 3))])
        if name == "cat" and given == {"dim": 0}:
            parts = self._of_one_part(args[0])
            return parts and (parts[0], [s for spans in parts[1] for s in spans])
        if name == "flatten" and given == {"start_dim": 0, "end_dim": 1}:
            stack = args[0]
            if _name(stack) != "stack" or stack.kwargs != {"dim": 1}:
                return None
            parts = self._of_one_part(stack.args[0])
            return parts and (parts[0], [s for row in zip(*parts[1], strict=True) for s in row])
        if name == "pad" and len(args) > 1 and len(args[1]) == 2 * _value(node).dim():
            one = self.of(args[0])
            *others, behind = args[1]
            return one and (None if any(others) else (one[0], [*one[1], *[None] * behind]))
        return None

    def _of_one_part(self, given: Sequence[Any]) -> tuple[int, list[Spans]] | None:
        found = [self.of(node) for node in given]
        known = [one for one in found if one is not None]
        if len(known) < len(found) or len({part for part, _ in known}) != 1:
            return None
        return known[0][0], [spans for _, spans in known]

    def take(self, one: Combination) -> bool:
        """Takes a combination in, if it is one of neighbours, by the tree's function."""
        count = len(self.leaves)
        found = [self.of(node) for node in one.given]
        if one.key() != self.key or len(found) != 2 * count:
            return False
        sides = []
        for side in (found[:count], found[count:]):
            if any(had is None or had != (part, side[0][1]) for part, had in enumerate(side)):  # type: ignore[index]
                return False
            sides.append(side[0][1])  # type: ignore[index]
        joined: Spans = []
        for a, b in zip(*sides, strict=True):
            if a is None or b is None or a[1] + 1 != b[0]:
                return False
            joined.append((a[0], b[1]))
        self.known.update((node, (part, joined)) for part, node in enumerate(one.made))
        self.combinations.append(one)
        return True

    def prefixes(self, order: list[Any]) -> dict[int, list[Any]]:
        """The nodes that have all prefixes, by part."""
        wanted = [(0, i) for i in range(_value(self.leaves[0]).shape[0])]
        found: dict[int, list[Any]] = {}
        for node in order:
            had = self.of(node)
            if had is not None and had[1] == wanted and node not in self.leaves:
                found.setdefault(had[0], []).append(node)
        return found


def keep_whole(graph: Any) -> None:
    """Puts one ``associative_scan`` for each tree in a graph of TorchDynamo, in place, where
    extents are known, of tensors on the CPU."""
    trees: list[Tree] = []
    for one in _combinations(graph.graph):
        if not one.is_plain() or any(tree.take(one) for tree in trees):
            continue
        tree = _begun_by(one)
        if tree is not None and tree.take(one):
            trees.append(tree)
    for number, tree in enumerate(trees):
        try:
            _replace(graph, tree, f"redfuse_combine_{number}")
        except Exception as error:  # nothing is changed yet: the tree stays
            LOG.info("a scan is left apart: %s: %s", type(error).__name__, error)
    if trees:
        graph.recompile()


def _combinations(graph: Any) -> list[Combination]:
    """The functions mapped by vmap, but for those within others."""
    made: list[Combination] = []
    members: list[Any] = []
    depth = 0
    for node in graph.nodes:
        depth += _name(node) == _ENTER
        if depth:
            members.append(node)
        if _name(node) == _LEAVE:
            depth -= 1
            if depth == 0:
                made.append(Combination(members))
                members = []
    return made


def _begun_by(one: Combination) -> Tree | None:
    """The tree whose leaves' neighbours are combined here."""
    bases = [n.args[0] if _name(n) == "slice" else None for n in one.given]
    leaves = bases[: len(one.made)]
    values = [_value(n) for n in leaves]
    if leaves != bases[len(one.made) :] or not all(
        isinstance(v, torch.Tensor)
        and v.device.type == "cpu"
        and all(isinstance(n, int) for n in v.shape)
        and v.shape == values[0].shape
        for v in values
    ):
        return None
    return Tree(leaves, one.key())


def _replace(graph: Any, tree: Tree, name: str) -> None:
    order = list(graph.graph.nodes)
    prefixes = tree.prefixes(order)
    if not prefixes:
        return
    function = _function(tree)
    if function is None:
        return
    graph.add_submodule(name, function)
    values = tuple(_value(leaf) for leaf in tree.leaves)
    with graph.graph.inserting_before(
        min((n for ns in prefixes.values() for n in ns), key=order.index)
    ):
        combine = graph.graph.get_attr(name)
        scan = graph.graph.call_function(associative_scan_op, (combine, tree.leaves, ()))
        scan.meta = {**_about(prefixes), "example_value": values}
        for part, found in prefixes.items():
            made = graph.graph.call_function(operator.getitem, (scan, part))
            made.meta = dict(found[0].meta)
            for node in found:
                node.replace_all_uses_with(made)
    _erase(graph.graph, tree)


def _about(prefixes: dict[int, list[Any]]) -> dict[str, Any]:
    """Where the scan is in the model."""
    meta = next(iter(prefixes.values()))[0].meta
    return {k: meta[k] for k in ("stack_trace", "nn_module_stack") if k in meta}


def _function(tree: Tree) -> Any:
    """The combining function as a module; None unless it is element by element."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    one = tree.combinations[0]
    made = torch.fx.Graph()
    copies = {n: made.placeholder(f"x{i}") for i, n in enumerate(one.arguments)}
    for node in one.body:
        copies[node] = made.node_copy(node, copies.__getitem__)
    made.output([copies[n] for n in one.returned])
    function = torch.fx.GraphModule(torch.nn.Module(), made)
    values = [_value(leaf) for leaf in tree.leaves]
    with FakeTensorMode(), torch.no_grad():  # that of the values is not the one of this moment
        elements = [torch.empty(v.shape[1:], dtype=v.dtype) for v in values * 2]
        traced = make_fx(function)(*elements).graph
    calls = [n for n in traced.nodes if n.op not in ("placeholder", "output")]
    is_pointwise = all(
        nodes.kind_of(n) == nodes.POINTWISE and not n.target._schema.is_mutable for n in calls
    )
    results = traced.output_node().args[0]
    kept = [getattr(n, "meta", {}).get("val") for n in results]
    is_same = all(
        k is not None and k.shape == v.shape[1:] and k.dtype == v.dtype
        for k, v in zip(kept, values, strict=True)
    )
    return function if is_pointwise and is_same else None


def _erase(graph: Any, tree: Tree) -> None:
    """What nobody needs any more, from the last: only where all results of a combination are
    unused are the calls of vmap around it."""
    inside = {n: one for one in tree.combinations for n in one.members}
    for node in reversed(list(graph.nodes)):
        one = inside.get(node)
        if one is not None:
            is_last = node is one.members[-1]
            if is_last and not any(n.users for n in one.made):
                for member in reversed(one.members):
                    graph.erase_node(member)
        elif node.users or node in tree.leaves:
            continue
        elif tree.known.get(node) is not None or _name(node) == "stack":
            graph.erase_node(node)


def take_apart(graph: Any) -> None:
    """What PyTorch makes of the scans on the CPU that are still whole, in place."""
    for node in graph.find_nodes(op="call_function", target=associative_scan_op):
        if all(v.device.type == "cpu" for v in nodes.values_of(node)):
            whole.take_apart(graph, node, _spelled)


def _spelled(combine: Any, xs: Sequence[Any], additional: Sequence[Any]) -> Any:
    """PyTorch's own spelling."""
    dims = (0,) * (2 * len(xs)) + (None,) * len(additional)
    return generic_associative_scan(
        torch.vmap(combine, dims), list(xs), additional_inputs=additional
    )


def _name(node: Any) -> str:
    """Of the function that a node calls, in whatever module it is; empty for others."""
    return str(getattr(node.target, "__name__", "")) if node.op == "call_function" else ""


def _value(node: Any) -> Any:
    return node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
