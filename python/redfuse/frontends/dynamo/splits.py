"""Splits as slices, which are nodes of one result each: others take them into parts as any view."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

_SPLITS = (
    torch.ops.aten.split.Tensor,
    torch.ops.aten.split_with_sizes.default,
)


def take_apart(graph: Any) -> None:
    """Replaces the parts of splits of known places by slices, in place."""
    for target in _SPLITS:
        for node in graph.find_nodes(op="call_function", target=target):
            _take_apart(graph, node)


def _take_apart(graph: Any, node: Any) -> None:
    parts = node.meta.get("val")
    dim = node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)
    if not isinstance(parts, Sequence) or not isinstance(dim, int):
        return
    sizes = [part.shape[dim] for part in parts]
    if not all(isinstance(size, int) for size in sizes):
        return
    for user in list(node.users):
        if user.target is not operator.getitem:
            continue
        place = user.args[1] % len(sizes)
        begin = sum(sizes[:place])
        with graph.inserting_before(user):
            made = graph.call_function(
                torch.ops.aten.slice.Tensor, (node.args[0], dim, begin, begin + sizes[place])
            )
        made.meta = dict(user.meta)
        user.replace_all_uses_with(made)
        graph.erase_node(user)
    if not node.users:
        graph.erase_node(node)
