"""Attention, as PyTorch's fused operations have it."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from typing import Any

import torch
from mlir.dialects import arith, math

from . import dtypes
from .builder import Builder, Tensor, refuse, same_shape
from .pointwise import F, computed_in
from .registry import Call, lowers

Scalar = Any


@lowers("scaled_dot_product_attention.default")
def _attention(
    c: Call, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    return _weighed(c, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)[0]


@lowers(
    "_scaled_dot_product_flash_attention_for_cpu.default",
    "_scaled_dot_product_flash_attention.default",
    "_scaled_dot_product_efficient_attention.default",
    "_scaled_dot_product_cudnn_attention.default",
    "_scaled_dot_product_fused_attention_overrideable.default",
)
def _fused_attention(
    c: Call, query: Tensor, key: Tensor, value: Tensor, attn_bias: Tensor | None = None,
    compute_log_sumexp: bool = True, dropout_p: float = 0.0, is_causal: bool = False,
    return_debug_mask: bool = False, attn_mask: Tensor | None = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """With the logarithms of the weights' sums, which gradients need. What kernels return for
    themselves is zero."""
    mask = attn_bias if attn_mask is None else attn_mask
    call = Call(c.b, c.value[0])
    grouped = not _is_same(query.shape[-3], key.shape[-3])
    made, top, total = _weighed(call, query, key, value, mask, dropout_p, is_causal, scale, grouped)
    top, total = (c.b.reshape(t, query.shape[:-1]) for t in (top, total))
    sums = c.b.map([top, total], top.shape, top.dtype,
                   lambda m, s: arith.addf(m, math.log(s)))  # fmt: skip
    meta = c.value[1]
    shape = tuple(meta.shape)
    if not same_shape(shape, sums.shape):  # none, or of more rows than there are
        sums = c.b.full(shape, top.dtype, 0) if 0 in shape else c.b.pad(
            sums, [0] * 3, [0, 0, shape[-1] - sums.shape[-1]], 0, shape)  # fmt: skip
    rest = [c.b.full(tuple(m.shape), m.dtype, 0) if isinstance(m, torch.Tensor) else m
            for m in c.value[2:]]  # fmt: skip
    return (made, c.b.cast(sums, meta.dtype), *rest)


def _weighed(
    c: Call, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float,
    is_causal: bool, scale: float | None, enable_gqa: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """softmax(q k' scale + mask) v, the rows' maxima and the sums of their weights. Scores and
    weights are sums in f32; of 16-bit operands the weights are rounded to their type before the
    second product, as PyTorch's fused kernels do."""
    if dropout_p > 0:
        refuse("with dropout it draws random numbers; expected dropout_p=0, or eval mode")
    b, inner = c.b, computed_in(c.dtype)
    factor = 1 / numbers.sqrt(query.shape[-1]) if scale is None else scale
    lead, groups = "abcdef"[: query.rank - 2], ""
    q = query
    if enable_gqa and not _is_same(query.shape[-3], key.shape[-3]):
        heads, kept = query.shape[-3], key.shape[-3]
        q = b.reshape(query, (*query.shape[:-3], kept, heads // kept, *query.shape[-2:]))
        groups = "g"
    else:
        key, value = (_with_lead(b, x, query.shape[:-2]) for x in (key, value))
    scores = b.contract(f"{lead}{groups}ld,{lead}sd->{lead}{groups}ls", q, key, inner, inner)
    scores = _masked(b, scores, attn_mask, is_causal, factor, inner, groups != "")
    last = [scores.rank - 1]
    top = b.reduce([scores], last, [(-numbers.inf, inner)], arith.maximumf)[0]
    column = b.reshape(top, (*top.shape, 1))
    raised = b.map([scores, column], scores.shape, inner,
                   lambda x, m: math.exp(arith.subf(x, m)))  # fmt: skip
    total = b.reduce([raised], last, [(0, inner)], arith.addf)[0]
    sums = b.reshape(total, (*total.shape, 1))
    weights = b.map([raised, sums], raised.shape, value.dtype,
                    lambda x, s: dtypes.convert(arith.divf(x, s), inner, value.dtype))  # fmt: skip
    made = b.contract(
        f"{lead}{groups}ls,{lead}sd->{lead}{groups}ld", weights, value, c.dtype, inner
    )
    if attn_mask is not None:  # a row of which nothing is left is zero

        def finish(x: Scalar, m: Scalar) -> Scalar:
            least = dtypes.constant(-numbers.inf, inner)
            is_empty = arith.cmpf(F.OEQ, m, least)
            return arith.select(is_empty, dtypes.constant(0, c.dtype), x)

        made = b.map([made, column], made.shape, c.dtype, finish)
    return b.reshape(made, c.shape), top, total


def _with_lead(b: Builder, x: Tensor, lead: Sequence[Any]) -> Tensor:
    """Keys or values of one head, say, for all that the queries have."""
    shape = (*lead, *x.shape[-2:])
    return x if same_shape(x.shape, shape) else b.map([x], shape, x.dtype, lambda v: v)


def _is_same(a: Any, b: Any) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a == b


def _masked(
    b: Builder, scores: Tensor, mask: Tensor | None, is_causal: bool, factor: float, inner: Any,
    is_grouped: bool,
) -> Tensor:  # fmt: skip
    """Scores as they are weighed."""
    inputs = [scores]
    if mask is not None:
        if is_grouped and mask.rank > 2:
            heads = mask.shape[-3]
            split = (1, 1) if heads == 1 else (scores.shape[-4], scores.shape[-3])
            mask = b.reshape(mask, (*mask.shape[:-3], *split, *mask.shape[-2:]))
        inputs.append(mask)

    def body(x: Scalar, *given: Scalar) -> Scalar:
        x = arith.mulf(x, dtypes.constant(factor, inner))
        least = dtypes.constant(-numbers.inf, inner)
        if given and mask is not None and mask.dtype == torch.bool:
            x = arith.select(given[0], x, least)
        elif given and mask is not None:
            x = arith.addf(x, dtypes.convert(given[0], mask.dtype, inner))
        if is_causal:
            row, column = Builder.position(scores.rank - 2), Builder.position(scores.rank - 1)
            x = arith.select(arith.cmpi(arith.CmpIPredicate.sle, column, row), x, least)
        return x

    return b.map(inputs, scores.shape, inner, body)
