"""Attentions that are kept whole until it is decided who computes them.

PyTorch takes ``scaled_dot_product_attention`` apart while it records a graph, where none of its own
kernels takes the operands: into products in f32 and a softmax in memory. So calls of it become an
operation of ours before that, which the pass claims as a whole. What is not claimed becomes what
PyTorch would have made of it.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention as pytorchs

from ...errors import Error
from .kernels import LIBRARY

LOG = logging.getLogger("redfuse.dynamo")

LIBRARY.define(
    "attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) "
    "-> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
LIBRARY.impl("attention", pytorchs, "CPU")
LIBRARY.impl("attention", pytorchs, "CUDA")
# Of fake tensors: so its result has the strides that the rest of a graph reckons with.
torch.library.register_fake("redfuse::attention", pytorchs, lib=LIBRARY)
WHOLE = torch.ops.redfuse.attention.default


def keep_whole(graph: Any, inputs: Any) -> None:
    """Puts our operation for each call in a graph of TorchDynamo, in place: where no gradient is
    recorded (the operation has none), nothing is cast on the way in, and all extents are known."""
    if torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in inputs
    ):
        return
    if torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu"):
        return
    calls = []
    for node in graph.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target in (torch._C._set_grad_enabled, torch.amp.autocast_mode._enter_autocast):
            return
        if node.target is pytorchs and _is_plain(node):
            calls.append(node)
    for node in calls:
        node.target = WHOLE
    if calls:
        graph.recompile()


def _is_plain(node: Any) -> bool:
    values = [n.meta.get("example_value") for n in node.all_input_nodes]
    if not all(isinstance(v, torch.Tensor) for v in values):
        return False
    if node.kwargs.get("dropout_p") or (len(node.args) > 4 and node.args[4]):
        return False
    return all(isinstance(n, int) for v in values for n in v.shape)


def take_apart(graph: Any) -> None:
    """What PyTorch makes of the attentions that are still whole, in place."""
    for node in graph.find_nodes(op="call_function", target=WHOLE):
        try:
            _take_apart(graph, node)
        except Exception as error:  # it is called as it is, by PyTorch's own kernels
            LOG.info("an attention is left whole: %s: %s", type(error).__name__, error)


def _take_apart(graph: Any, node: Any) -> None:
    operands = node.all_input_nodes
    traced, result = traced_of(node)
    given = traced.find_nodes(op="placeholder")
    made: dict[Any, Any] = dict(zip(given, operands, strict=True))
    about = {k: node.meta[k] for k in ("stack_trace", "nn_module_stack") if k in node.meta}
    needed = _needed_for(result)
    with graph.inserting_before(node):
        for inner in traced.nodes:
            if inner in needed and inner not in made:
                made[inner] = graph.node_copy(inner, made.__getitem__)
                made[inner].meta = {**about, "val": inner.meta["val"]}
    node.replace_all_uses_with(made[result])
    graph.erase_node(node)


def traced_of(node: Any) -> tuple[Any, Any]:
    """The graph that PyTorch makes of an attention that is whole, and its result there. In the
    graph is nothing that cannot be copied; raises Error."""
    from torch._guards import detect_fake_mode
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    operands = node.all_input_nodes
    values = [n.meta["val"] for n in operands]
    place = {n: i for i, n in enumerate(operands)}

    def attention(*given: torch.Tensor) -> torch.Tensor:
        def of(n: Any) -> torch.Tensor:
            return given[place[n]]

        return pytorchs(*torch.fx.map_arg(node.args, of), **torch.fx.map_arg(node.kwargs, of))

    with detect_fake_mode(values), torch.no_grad():
        traced = make_fx(attention, decomposition_table=select_decomp_table())(*values).graph
    result = traced.output_node().args[0]
    for inner in _needed_for(result):
        if inner.op == "get_attr":
            raise Error("it needs tensors that are constants")
        if "val" not in inner.meta:
            raise Error(f"PyTorch does not tell the shape of {inner.name}")
    return traced, result


def _needed_for(result: Any) -> set[Any]:
    """The nodes that a result is made of, with itself. A kernel of PyTorch's returns more than the
    attention (what a gradient or a random number needs, of some of which there is no tensor); none
    of it is left behind, nor the kernel called for its sake: it counts as one that draws random
    numbers, which is never removed as dead."""
    seen: set[Any] = set()
    todo = [result]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += node.all_input_nodes
    return seen
