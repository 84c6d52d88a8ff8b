"""Rules for the gradients of windows and of moved elements: what was read from many places is added
up at them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...errors import UnsupportedError
from .composed import composes, pooling_windows


def _wide(x: Tensor) -> Tensor:
    """In the type that PyTorch adds up in."""
    is_narrow = x.dtype.is_floating_point and x.dtype.itemsize < 4
    return x.to(torch.float32) if is_narrow else x


def _each(values: Any, count: int, default: Sequence[int] = ()) -> list[int]:
    values = [values] if isinstance(values, int) else list(values or default)
    return values * count if len(values) == 1 else values


# ---- pooling


def _window_sizes(
    size: int, made: int, kernel: int, stride: int, padding: int, padded: bool
) -> list:
    """How many elements each window of a dim has."""
    low, high = (-padding, size + padding) if padded else (0, size)
    starts = [i * stride - padding for i in range(made)]
    return [min(s + kernel, high) - max(s, low) for s in starts]


def _avg_pool_backward(
    grad: Tensor, x: Tensor, kernel: Any, stride: Any, padding: Any, padded: bool, divisor: Any,
    dims: int,
) -> Tensor:  # fmt: skip
    kernel = _each(kernel, dims)
    stride, padding = _each(stride, dims, kernel), _each(padding, dims)
    lead, places = x.shape[: x.dim() - dims], x.shape[x.dim() - dims :]
    made = grad.shape[x.dim() - dims :]
    part = _wide(grad).reshape(math.prod(lead), 1, *made)
    if divisor is not None:
        part = part / divisor
    else:
        for d in range(dims):
            sizes = _window_sizes(places[d], made[d], kernel[d], stride[d], padding[d], padded)
            shape = [1] * (dims + 2)
            shape[2 + d] = made[d]
            part = part / torch.tensor(sizes, dtype=part.dtype).reshape(shape)
    ones = torch.ones((1, 1, *kernel), dtype=part.dtype)
    none = [0] * dims
    spread = torch.ops.aten.convolution(part, ones, None, stride, none, [1] * dims, True, none, 1)
    for d in range(dims):
        missing = padding[d] + places[d] - spread.shape[2 + d]
        if missing > 0:
            after = [0, 0] * (dims - 1 - d) + [0, missing]
            spread = torch.ops.aten.constant_pad_nd(spread, after)
        spread = spread.narrow(2 + d, padding[d], places[d])
    return spread.reshape(x.shape).to(x.dtype)


def _add_avg_pool(dims: int) -> None:
    @composes(f"avg_pool{dims}d_backward.default")
    def rule(
        grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any,
        ceil_mode: bool, count_include_pad: bool, divisor_override: Any,
    ) -> Tensor:  # fmt: skip
        return _avg_pool_backward(grad_output, self, kernel_size, stride, padding,
                                  count_include_pad, divisor_override, dims)  # fmt: skip


for _dims in (2, 3):
    _add_avg_pool(_dims)


@composes("_adaptive_avg_pool2d_backward.default", "_adaptive_avg_pool3d_backward.default")
def _adaptive_avg_pool_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    made = _wide(grad_output)
    dims = 2 if grad_output.dim() < 4 else grad_output.dim() - 2
    for d in range(self.dim() - dims, self.dim()):
        at, counts, is_in = pooling_windows(self.shape[d], grad_output.shape[d])
        shape = [1] * self.dim()
        shape[d] = -1
        parts = (made / counts.to(made.dtype).reshape(shape)).unsqueeze(d + 1)
        inside = is_in.reshape(*[1] * d, *at.shape, *[1] * (self.dim() - d - 1))
        parts = torch.where(inside, parts, 0)
        parts = parts.flatten(d, d + 1)
        size = list(made.shape)
        size[d] = self.shape[d]
        made = torch.zeros(size, dtype=made.dtype).index_add(d, at.reshape(-1), parts)
    return made.to(self.dtype)


def _by_places(grad: Tensor, x: Tensor, indices: Tensor, dims: int) -> Tensor:
    """Added up at places that count through the last dims."""
    lead = math.prod(x.shape[: x.dim() - dims])
    size = math.prod(x.shape[x.dim() - dims :])
    flat = torch.zeros((lead, size), dtype=_wide(grad).dtype)
    made = flat.scatter_add(1, indices.reshape(lead, -1), _wide(grad).reshape(lead, -1))
    return made.reshape(x.shape).to(x.dtype)


@composes("max_pool2d_with_indices_backward.default")
def _max_pool2d_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, indices: Tensor,
) -> Tensor:  # fmt: skip
    return _by_places(grad_output, self, indices, 2)


@composes("max_pool3d_with_indices_backward.default")
def _max_pool3d_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, indices: Tensor,
) -> Tensor:  # fmt: skip
    return _by_places(grad_output, self, indices, 3)


@composes("adaptive_max_pool2d_backward.default")
def _adaptive_max_pool2d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    return _by_places(grad_output, self, indices, 2)


@composes("adaptive_max_pool3d_backward.default")
def _adaptive_max_pool3d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    return _by_places(grad_output, self, indices, 3)


# ---- moved elements


def _nearest_backward(
    grad: Tensor, size: Sequence[int], scales: Sequence[Any], shift: float
) -> Tensor:
    """Each element of a dim of the result came from one place."""
    made = _wide(grad)
    lead = grad.dim() - len(scales)
    for i, scale in enumerate(scales):
        d = lead + i
        ratio = size[d] / grad.shape[d] if scale is None else 1 / scale
        at = (torch.arange(grad.shape[d], dtype=torch.float32) + shift) * ratio
        at = at.to(torch.int64).clamp_max(size[d] - 1)
        shape = list(made.shape)
        shape[d] = size[d]
        made = torch.zeros(shape, dtype=made.dtype).index_add(d, at, made)
    return made.to(grad.dtype)


@composes("upsample_nearest2d_backward.default")
def _upsample_nearest2d_backward(
    grad_output: Tensor, output_size: Any, input_size: Any, scales_h: Any = None,
    scales_w: Any = None,
) -> Tensor:  # fmt: skip
    return _nearest_backward(grad_output, input_size, (scales_h, scales_w), 0.0)


@composes("_upsample_nearest_exact2d_backward.default")
def _upsample_nearest_exact2d_backward(
    grad_output: Tensor, output_size: Any, input_size: Any, scales_h: Any = None,
    scales_w: Any = None,
) -> Tensor:  # fmt: skip
    return _nearest_backward(grad_output, input_size, (scales_h, scales_w), 0.5)


def _add_replication(dims: int) -> None:
    @composes(f"replication_pad{dims}d_backward.default")
    def rule(grad_output: Tensor, self: Tensor, padding: Sequence[int]) -> Tensor:
        made = _wide(grad_output)
        for i in range(dims):
            d = self.dim() - 1 - i
            at = torch.arange(grad_output.shape[d]) - padding[2 * i]
            shape = list(made.shape)
            shape[d] = self.shape[d]
            at = at.clamp(0, self.shape[d] - 1)
            made = torch.zeros(shape, dtype=made.dtype).index_add(d, at, made)
        return made.to(self.dtype)


for _dims in (1, 2, 3):
    _add_replication(_dims)


# ---- products


@composes("linear_backward.default")
def _linear_backward(
    self: Tensor, grad_output: Tensor, weight: Tensor, output_mask: Sequence[bool]
) -> Any:
    rows, grads = self.reshape(-1, self.shape[-1]), grad_output.reshape(-1, grad_output.shape[-1])
    return (
        grad_output @ weight if output_mask[0] else None,
        grads.T @ rows if output_mask[1] else None,
        grads.sum(0) if output_mask[2] else None,
    )


@composes("_weight_norm_interface_backward.default")
def _weight_norm_backward(
    grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
) -> Any:
    others = [d for d in range(saved_v.dim()) if d != dim]
    along = (grad_w * saved_v).sum(others, keepdim=True)
    norms = saved_norms.to(saved_g.dtype)
    part = grad_w - saved_v * (along / (norms * norms))
    return saved_g / norms * part, along / norms


@composes("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def _attention_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor,
    dropout_p: float, is_causal: bool, *, attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:  # fmt: skip
    """The weights are made again of the scores and their logarithms' sums."""
    if dropout_p > 0:
        raise UnsupportedError("the gradient of attention with dropout; expected dropout_p=0")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    q, k, v, g, o = (_wide(x) for x in (query, key, value, grad_out, out))
    groups = query.shape[1] // key.shape[1]  # of heads that have one head's keys
    if groups > 1:
        k, v = (x.repeat_interleave(groups, 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * factor
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        rows, columns = scores.shape[-2:]
        later = torch.arange(columns).unsqueeze(0) > torch.arange(rows).unsqueeze(1)
        scores = scores.masked_fill(later, float("-inf"))
    weights = torch.exp(scores - logsumexp.unsqueeze(-1))
    along = (g * o).sum(-1, keepdim=True)
    slopes = weights * (g @ v.transpose(-1, -2) - along) * factor
    of_k, of_v = slopes.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ g
    if groups > 1:
        of_k, of_v = (x.unflatten(1, (-1, groups)).sum(2) for x in (of_k, of_v))
    return (slopes @ k).to(query.dtype), of_k.to(key.dtype), of_v.to(value.dtype)


@composes("_scaled_dot_product_flash_attention_backward.default")
def _flash_attention_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor,
    cum_seq_q: Any, cum_seq_k: Any, max_q: Any, max_k: Any, dropout_p: float, is_causal: bool,
    philox_seed: Any, philox_offset: Any, *, scale: float | None = None,
) -> Any:  # fmt: skip
    return _attention_backward(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal,
                               scale=scale)  # fmt: skip


@composes("_scaled_dot_product_cudnn_attention_backward.default")
def _cudnn_attention_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor,
    philox_seed: Any, philox_offset: Any, attn_bias: Tensor | None, cum_seq_q: Any, cum_seq_k: Any,
    max_q: Any, max_k: Any, dropout_p: float, is_causal: bool, *, scale: float | None = None,
) -> Any:  # fmt: skip
    sums = logsumexp.squeeze(-1) if logsumexp.dim() > 3 else logsumexp
    return _attention_backward(grad_out, query, key, value, out, sums, dropout_p, is_causal,
                               attn_mask=attn_bias, scale=scale)  # fmt: skip


@composes("_scaled_dot_product_efficient_attention_backward.default")
def _efficient_attention_backward(
    grad_out_: Tensor, query: Tensor, key: Tensor, value: Tensor, attn_bias: Tensor | None,
    out: Tensor, logsumexp: Tensor, philox_seed: Any, philox_offset: Any, dropout_p: float,
    grad_input_mask: Sequence[bool], is_causal: bool = False, *, scale: float | None = None,
) -> Any:  # fmt: skip
    if grad_input_mask[3]:
        raise UnsupportedError("the gradient of a mask; expected one that needs none")
    sums = logsumexp[..., : query.shape[-2]]
    made = _attention_backward(grad_out_, query, key, value, out, sums, dropout_p, is_causal,
                               attn_mask=attn_bias, scale=scale)  # fmt: skip
    return (
        *(g if wanted else None for g, wanted in zip(made, grad_input_mask, strict=False)),
        None,
    )
