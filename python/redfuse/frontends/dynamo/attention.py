"""Attentions that are kept whole until it is decided who computes them.

PyTorch takes ``scaled_dot_product_attention`` apart while it records a graph, where none of its own
kernels takes the operands: into products in f32 and a softmax in memory. So calls of it become an
operation of ours before that, which the pass claims as a whole. What is not claimed becomes what
PyTorch would have made of it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention as pytorchs

from . import whole
from .kernels import LIBRARY

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


def keep_whole(graph: Any) -> None:
    """Puts our operation for each call in a graph of TorchDynamo, in place, where all extents are
    known."""
    calls = [
        node
        for node in graph.graph.nodes
        if node.op == "call_function" and node.target is pytorchs and _is_plain(node)
    ]
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
        whole.take_apart(graph, node, pytorchs)


def traced_of(node: Any) -> tuple[Any, Any]:
    """The graph that PyTorch makes of an attention that is whole, and its result there."""
    return whole.traced_of(node, pytorchs)
