"""The same work by PyTorch on the CPU, eager: what a user has without redfuse.

Each function takes torch tensors (the case's inputs) and returns named calls; the runner times
all of them and keeps the fastest. A call marked ``True`` writes into an output that it was given,
so redfuse's is timed that way too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Calls = dict[str, tuple[Callable[[], Any], bool]]


def attention(inputs: Sequence[Any], kind: str) -> Calls:
    """scaled_dot_product_attention; with a mask tensor, or spelled, where it has no flag for the
    variant."""
    import torch
    from torch.nn import functional

    q, k, v = inputs[:3]
    words = kind.split("+")
    rows, kv, heads = q.shape[2], k.shape[2], q.shape[1]
    gqa = k.shape[1] != heads
    if kind == "none" or (kind == "causal" and rows == kv):
        causal = kind == "causal"

        def call() -> Any:
            return functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal, enable_gqa=gqa
            )

        return {"scaled_dot_product_attention": (call, False)}
    i = torch.arange(rows)[:, None] + (kv - rows)
    j = torch.arange(kv)[None, :]
    hidden = torch.zeros(rows, kv, dtype=torch.bool)
    if "causal" in words:
        hidden |= i < j
    if "window" in words:
        hidden |= i - j >= 4096
    bias = torch.zeros(rows, kv).masked_fill(hidden, -math.inf)
    if "alibi" in words:
        bias = bias + inputs[3][:, None, None] * (j - i)
    bias = bias.to(q.dtype)
    if "softcap" not in words:

        def call() -> Any:
            return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, enable_gqa=gqa)

        return {"scaled_dot_product_attention+mask": (call, False)}

    def spelled() -> Any:
        a, b = (t.repeat_interleave(heads // t.shape[1], 1) if gqa else t for t in (k, v))
        s = (
            50.0 * torch.tanh((q @ a.transpose(-1, -2)).float() / math.sqrt(q.shape[3]) / 50.0)
            + bias
        )
        return torch.softmax(s, -1).to(q.dtype) @ b

    return {"eager": (spelled, False)}


def mla_decode(inputs: Sequence[Any]) -> Calls:
    """Spelled."""
    import torch

    q, cache = inputs

    def spelled() -> Any:
        s = (q @ cache.transpose(1, 2)).float() / math.sqrt(192.0)
        return torch.softmax(s, -1).to(q.dtype) @ cache[..., :512]

    return {"eager": (spelled, False)}


def moe_routing(inputs: Sequence[Any], topk: int) -> Calls:
    """Spelled."""
    import torch

    x, w = inputs
    return {"eager": (lambda: torch.topk(torch.softmax((x @ w).float(), -1), topk, -1), False)}


def quant_gemm(inputs: Sequence[Any]) -> Calls:
    """Spelled, with an f32 and with an int8 matmul."""
    import torch

    x, w, scale = inputs

    def rounded() -> tuple[Any, Any]:
        largest = x.abs().amax(-1, keepdim=True).clamp(min=1e-12)
        return torch.round(x * (1.0 / largest * 127.0)).clamp(-127.0, 127.0), largest

    def floats() -> Any:
        q, largest = rounded()
        return (q @ w.float()) * (largest / 127.0) * scale

    def integers() -> Any:
        q, largest = rounded()
        return torch._int_mm(q.to(torch.int8), w).float() * (largest / 127.0) * scale

    return {"eager": (floats, False), "eager+_int_mm": (integers, False)}


def variance(inputs: Sequence[Any]) -> Calls:
    """torch.var and the formula."""
    import torch

    (x,) = inputs
    out = torch.empty(x.shape[0])
    return {
        "var": (lambda: torch.var(x, dim=-1, correction=0, out=out), True),
        "eager": (lambda: ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1), False),
    }


def inertia(inputs: Sequence[Any]) -> Calls:
    """The formula."""
    mass, points = inputs

    def spelled() -> Any:
        centre = (mass[..., None] * points).sum(1) / mass.sum(1, keepdim=True)
        return (mass * ((points - centre[:, None]) ** 2).sum(-1)).sum(-1)

    return {"eager": (spelled, False)}


def softmax(inputs: Sequence[Any]) -> Calls:
    """torch.softmax, with and without out=."""
    import torch

    (x,) = inputs
    out = torch.empty_like(x)
    calls: Calls = {"softmax": (lambda: torch.softmax(x, -1), False)}
    try:
        torch.softmax(x[:1, :1].contiguous(), -1, out=torch.empty(1, 1, dtype=x.dtype))
    except (TypeError, RuntimeError):
        return calls
    calls["softmax(out=)"] = (lambda: torch.softmax(x, -1, out=out), True)
    return calls


def layernorm(inputs: Sequence[Any]) -> Calls:
    """layer_norm."""
    from torch.nn import functional

    x, weight, bias = inputs
    return {"layer_norm": (lambda: functional.layer_norm(x, (x.shape[1],), weight, bias), False)}


def rmsnorm(inputs: Sequence[Any]) -> Calls:
    """rms_norm."""
    from torch.nn import functional

    x, weight = inputs
    return {"rms_norm": (lambda: functional.rms_norm(x, (x.shape[1],), weight, 1e-6), False)}


def cross_entropy(inputs: Sequence[Any]) -> Calls:
    """cross_entropy."""
    from torch.nn import functional

    x, labels = inputs
    return {
        "cross_entropy": (
            lambda: functional.cross_entropy(x.float(), labels, reduction="none"),
            False,
        )
    }


def gemm_chain(inputs: Sequence[Any]) -> Calls:
    """Two matmuls."""
    import torch

    a, b, d = inputs
    return {"eager": (lambda: torch.relu(a @ b) @ d, False)}


def gated_ffn(inputs: Sequence[Any]) -> Calls:
    """Three matmuls."""
    from torch.nn import functional

    a, gate, up, down = inputs
    return {"eager": (lambda: (functional.silu(a @ gate) * (a @ up)) @ down, False)}


def conv_chain(inputs: Sequence[Any]) -> Calls:
    """Two convolutions."""
    import torch
    from torch.nn import functional

    x, w1, w2 = inputs
    return {
        "eager": (
            lambda: functional.conv2d(
                torch.relu(functional.conv2d(x, w1, padding=w1.shape[2] // 2)), w2
            ),
            False,
        )
    }
