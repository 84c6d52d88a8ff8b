"""Operations that read memory by strides: of which tensor they do."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

BY_STRIDES = ("aten.as_strided.default", "aten.as_strided_copy.default")


@dataclasses.dataclass
class Stand:
    """What is read of a node that calls an operation."""

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    meta: dict[str, Any]


def of_memory(node: Any) -> Any:
    """The same read by strides of the tensor whose memory its argument is a view of, where that is
    in the graph."""
    viewed = node.args[0]
    given = {**dict(zip(("size", "stride", "storage_offset"), node.args[1:], strict=False)),
             **node.kwargs}  # fmt: skip
    base = _base(viewed)
    offset = given.get("storage_offset")
    if offset is None:
        offset = viewed.meta["val"].storage_offset()
    args = (base, given["size"], given["stride"], offset)
    return Stand(node.target, args, {}, node.meta)


def _base(node: Any) -> Any:
    """What a chain of views begins with."""
    while node.op == "call_function" and _is_view(node.target):
        first = node.args[0] if node.args else None
        if not isinstance(first, torch.fx.Node):
            break
        old, new = first.meta.get("val"), node.meta.get("val")
        if not isinstance(old, torch.Tensor) or not _shares(old, new):
            break
        node = first
    return node


def _is_view(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    if schema is None or not schema.arguments:
        return False
    return schema.arguments[0].alias_info is not None and not schema.is_mutable


def _shares(old: Any, new: Any) -> bool:
    """Whether two tensors are views of one memory; `reshape` may have copied."""
    return old.untyped_storage()._cdata == new.untyped_storage()._cdata
