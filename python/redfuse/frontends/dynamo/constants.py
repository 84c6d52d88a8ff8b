"""Tensors of a graph that are made of numbers alone, and are one number throughout.

Such are the counts by which transformers tell texts apart that are packed into one: of texts that
are not, all are zero, and a mask that compares them leaves out nothing.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

# What is computed while compiling, at most: elements of a tensor, and operations.
_ELEMENTS, _OPERATIONS = 1 << 22, 64
_KEY = "redfuse_number"


def number_of(node: Any) -> bool | int | float | None:
    """The number that all elements of a node's tensor are, however it is made; else None."""
    if _KEY not in node.meta:
        node.meta[_KEY] = _computed(node)
    return node.meta[_KEY]


def _computed(node: Any) -> bool | int | float | None:
    sequence = _made_of_numbers(node)
    if not sequence:
        return None
    made: dict[Any, Any] = {}

    def on_cpu(given: Any) -> Any:
        return torch.device("cpu") if isinstance(given, torch.device) else given

    try:
        with unset_fake_temporarily(), torch.no_grad():
            for one in sequence:
                args, kwargs = torch.fx.map_arg((one.args, one.kwargs), made.__getitem__)
                kwargs = {k: on_cpu(v) for k, v in kwargs.items()}
                made[one] = one.target(*args, **kwargs)
            value = made[node].flatten()
            return value[0].item() if value.numel() and (value == value[0]).all() else None
    except Exception:  # PyTorch has no kernel for it, or has to be told more
        return None


def _made_of_numbers(node: Any) -> list[Any]:
    """A node and all that it is made of, in order; empty if there is a tensor among it that is
    given, drawn or written to, or too much to compute."""
    seen: set[Any] = set()
    todo = [node]
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        if len(seen) > _OPERATIONS or not _is_computed(one):
            return []
        todo += one.all_input_nodes
    return [n for n in node.graph.nodes if n in seen]


def _is_computed(node: Any) -> bool:
    target, value = node.target, node.meta.get("val")
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return False
    if target.namespace not in ("aten", "prims") or target._schema.is_mutable:
        return False
    if torch.Tag.nondeterministic_seeded in target.tags or not isinstance(value, torch.Tensor):
        return False
    if any(not isinstance(n, int) for n in value.shape):
        return False
    return math.prod(value.shape) <= _ELEMENTS
