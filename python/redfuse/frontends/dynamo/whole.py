"""Operations that are kept whole while PyTorch records a graph, and are taken apart in the pass."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable
from typing import Any

import torch

from ...errors import Error

LOG = logging.getLogger("redfuse.dynamo")

_ENTRIES = (torch._C._set_grad_enabled, torch.amp.autocast_mode._enter_autocast)


def is_plain_inference(graph: Any, inputs: Any) -> bool:
    """Whether in a graph of TorchDynamo no gradient is recorded and nothing is cast on the way in:
    an operation of ours has no gradient, and no rule for autocast."""
    if torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in inputs
    ):
        return False
    if torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu"):
        return False
    return not any(n.op == "call_function" and n.target in _ENTRIES for n in graph.graph.nodes)


def take_apart(graph: Any, node: Any, spelled: Callable[..., Any]) -> None:
    """Replaces a node by what PyTorch makes of ``spelled``, which takes the node's arguments and
    returns its results, in place. What cannot be is left, to be called as it is."""
    try:
        traced, results = traced_of(node, spelled)
    except Exception as error:
        LOG.info("%s is left whole: %s: %s", node.target, type(error).__name__, error)
        return
    given = traced.find_nodes(op="placeholder")
    made: dict[Any, Any] = dict(zip(given, _operands(node), strict=True))
    about = {k: node.meta[k] for k in ("stack_trace", "nn_module_stack") if k in node.meta}
    needed = _needed_for(results)
    with graph.inserting_before(node):
        for inner in traced.nodes:
            if inner in needed and inner not in made:
                made[inner] = graph.node_copy(inner, made.__getitem__)
                made[inner].meta = {**about, "val": inner.meta["val"]}
    if isinstance(results, torch.fx.Node):
        node.replace_all_uses_with(made[results])
    for user in list(node.users):
        assert user.target is operator.getitem, "of several results each is asked for"
        user.replace_all_uses_with(made[results[user.args[1]]])
        graph.erase_node(user)
    graph.erase_node(node)


def traced_of(node: Any, spelled: Callable[..., Any]) -> tuple[Any, Any]:
    """The graph that PyTorch makes of ``spelled``, and its result there, or the list of them. In
    the graph is nothing that cannot be copied; raises Error."""
    from torch._guards import detect_fake_mode
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    operands = _operands(node)
    values = [n.meta["val"] for n in operands]
    place = {n: i for i, n in enumerate(operands)}

    def function(*given: torch.Tensor) -> Any:
        def of(n: Any) -> Any:
            return given[place[n]] if n in place else getattr(n.graph.owning_module, n.target)

        return spelled(*torch.fx.map_arg(node.args, of), **torch.fx.map_arg(node.kwargs, of))

    with detect_fake_mode(values), torch.no_grad():
        traced = make_fx(function, decomposition_table=select_decomp_table())(*values).graph
    results = traced.output_node().args[0]
    for inner in _needed_for(results):
        if inner.op == "get_attr":
            raise Error("it needs tensors that are constants")
        if "val" not in inner.meta:
            raise Error(f"PyTorch does not tell the shape of {inner.name}")
    return traced, results


def _operands(node: Any) -> list[Any]:
    """The tensors that a node is given, not the functions."""
    return [n for n in node.all_input_nodes if n.op != "get_attr" or "val" in n.meta]


def _needed_for(results: Any) -> set[Any]:
    """The nodes that results are made of, with themselves. A kernel of PyTorch's returns more than
    an attention (what a gradient or a random number needs, of some of which there is no tensor);
    none of it is left behind, nor the kernel called for its sake: it counts as one that draws
    random numbers, which is never removed as dead."""
    seen: set[Any] = set()
    todo = [results] if isinstance(results, torch.fx.Node) else list(results)
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += node.all_input_nodes
    return seen
