"""What kind of work a node of a core-ATen graph is, and why redfuse does not do it."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import torch

from ..fx.decompose import rules_of
from ..fx.dtypes import ELEMENT_NAMES
from ..fx.importer import LOWERINGS

_HERE = str(Path(__file__).parent)
POINTWISE, REDUCTION, VIEW, JOIN, PRODUCT, SCAN, WINDOW, ATTENTION, PART = (
    "pointwise", "reduction", "view", "join", "product", "scan", "window", "attention", "part",
)  # fmt: skip

_REDUCTIONS = (
    "aten.sum.dim_IntList", "aten.sum.default", "aten.mean.dim", "aten.mean.default",
    "aten.amax.default", "aten.amin.default", "aten.max.dim", "aten.min.dim",
    "aten.argmax.default", "aten.argmin.default", "aten.prod.dim_int", "aten.any.dim",
    "aten.all.dim", "aten.var.correction", "aten.var_mean.correction", "aten._softmax.default",
    "aten._log_softmax.default", "aten.logsumexp.default", "aten.native_layer_norm.default",
)  # fmt: skip
_VIEWS = (
    "aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
    "aten.permute.default", "aten.transpose.int", "aten.t.default", "aten.expand.default",
    "aten.unsqueeze.default", "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default",
    "aten.slice.Tensor", "aten.select.int", "aten.alias.default",
)  # fmt: skip
_POINTWISE = (
    "prims.convert_element_type.default", "aten._to_copy.default", "aten.clone.default",
    "aten.full.default", "aten.iota.default", "prims.iota.default", "aten.scalar_tensor.default",
)  # fmt: skip
_JOINS = ("aten.cat.default",)
_SCANS = ("associative_scan",)
_CONVOLUTIONS = ("aten.convolution.default",)
_PRODUCTS = (
    "aten.bmm.default", "aten.baddbmm.default", "aten.mm.default", "aten.addmm.default",
    "aten._scaled_mm.default",
)  # fmt: skip
ATTENTIONS = (
    "redfuse.attention.default",
    "aten.scaled_dot_product_attention.default",
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_cudnn_attention.default",
)
_KINDS = {
    **dict.fromkeys(_REDUCTIONS, REDUCTION),
    **dict.fromkeys(_VIEWS, VIEW),
    **dict.fromkeys(_POINTWISE, POINTWISE),
    **dict.fromkeys(_JOINS, JOIN),
    **dict.fromkeys(_PRODUCTS, PRODUCT),
    **dict.fromkeys(_SCANS, SCAN),
    **dict.fromkeys(_CONVOLUTIONS, WINDOW),
    **dict.fromkeys(ATTENTIONS, ATTENTION),
}


def kind_of(node: Any) -> str | None:
    """One of the kinds; None for other work."""
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        return PART
    known = _KINDS.get(str(node.target))
    if known is not None:
        return known
    if isinstance(node.target, torch._ops.OpOverload) and torch.Tag.pointwise in node.target.tags:
        return POINTWISE
    return None


def refusal(node: Any) -> str | None:
    """Why the importer cannot take the node; None where it should."""
    name = str(node.target)
    if kind_of(node) is None:
        if isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool, torch.SymFloat)):
            return "arithmetic of extents"
        return f"{name} is no operation that is claimed"
    if node.target is operator.getitem:
        return None
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return _refusal_of_tensors(node, name)
    if node.target._schema.is_mutable:
        return f"{name} writes to its argument"
    tags = node.target.tags
    if torch.Tag.nondeterministic_seeded in tags and kind_of(node) != ATTENTION:
        return f"{name} draws random numbers"
    if name not in LOWERINGS and name not in ATTENTIONS and not rules_of(node.target):
        return f"{name} has no lowering"
    if name in _CONVOLUTIONS and not _is_depthwise_along_one(node):
        return f"{name} of more than one channel a group, or of more than one dim, is not claimed"
    return _refusal_of_tensors(node, name)


def _is_depthwise_along_one(node: Any) -> bool:
    """Whether each channel of a sequence has a window of its own."""
    given, weight = (a.meta["val"] for a in node.args[:2])
    channels, groups = given.shape[1], node.args[8]
    return (
        weight.dim() == 3
        and not node.args[6]
        and isinstance(channels, int)
        and channels == groups == weight.shape[0]
    )


def _refusal_of_tensors(node: Any, name: str) -> str | None:
    for value in values_of(node):
        if (why := _value_refusal(value)) is not None:
            return why
    given = [a for a in node.all_input_nodes if isinstance(a.meta.get("val"), torch.Tensor)]
    devices = {a.meta["val"].device for a in given} | {v.device for v in values_of(node)}
    if len(devices) > 1:
        return f"{name} has tensors of {' and '.join(sorted(map(str, devices)))}"
    for argument in given:
        if (why := _value_refusal(argument.meta["val"])) is not None:
            return why
    return None


def is_product_of_vector(node: Any) -> bool:
    """Whether a product has one row or one column: sums that no matrix unit is needed for."""
    return kind_of(node) == PRODUCT and any(
        isinstance(n, int) and n == 1 for n in node.meta["val"].shape[-2:]
    )


def values_of(node: Any) -> list[Any]:
    """The fake tensors of a node's results."""
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [v for v in value if isinstance(v, torch.Tensor)]
    return []


def _value_refusal(value: Any) -> str | None:
    name = str(value.dtype).removeprefix("torch.")
    if name not in ELEMENT_NAMES:
        return f"tensors of {name} cannot be compiled"
    if value.device.type not in ("cpu", "cuda"):
        return f"tensors on {value.device} are not redfuse's"
    if value.layout is not torch.strided:
        return f"tensors of layout {value.layout} are not redfuse's"
    return None


def place_of(node: Any) -> str:
    """The user's line that made the node, ``file:line``; empty where PyTorch does not know."""
    from ..fx.importer import frame_of

    frame = frame_of(node)
    if frame is None or frame[0].startswith(_HERE):  # explain's own call
        return ""
    return f"{frame[0]}:{frame[1]}"
