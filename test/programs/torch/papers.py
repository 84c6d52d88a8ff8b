"""The shapes of the papers (RedFuser, Neptune, FlashFuser), written as one writes them in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cases import Cases
from torch.nn import functional

BF, F32, F8 = torch.bfloat16, torch.float32, torch.float8_e4m3fn
C = Cases()
add = C.add


# ---- RedFuser


def attention(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v)


for name, (b, h, q, kv, d) in {
    "H1": (32, 8, 512, 512, 64), "H2": (32, 12, 512, 512, 64), "H3": (32, 16, 512, 512, 64),
    "H4": (32, 12, 256, 256, 64), "H5": (32, 16, 256, 256, 64), "H6": (32, 16, 256, 256, 80),
    "H7": (32, 64, 1, 1024, 128), "H8": (32, 64, 1, 2048, 128), "H9": (32, 64, 1, 4096, 128),
}.items():  # fmt: skip
    add(
        name,
        attention,
        ((b, h, q, d), BF),
        ((b, h, kv, d), BF),
        ((b, h, kv, d), BF),
        flops=4 * b * h * q * kv * d,
    )


def mla(q: Any, kv: Any) -> Any:
    s = torch.einsum("bhd,bsd->bhs", q, kv).float() * (192**-0.5)
    return torch.einsum("bhs,bsd->bhd", torch.softmax(s, -1).to(q.dtype), kv[..., :512])


for name, (b, kv) in {
    "L1": (32, 1024), "L2": (32, 2048), "L3": (32, 4096), "L4": (16, 1024), "L5": (16, 2048),
    "L6": (16, 4096), "L7": (1, 1024), "L8": (1, 2048), "L9": (1, 4096),
}.items():  # fmt: skip
    add(name, mla, ((b, 128, 576), BF), ((b, kv, 576), BF), flops=2 * b * 128 * kv * (576 + 512))


def routing(count: int) -> Callable[..., Any]:
    def route(x: Any, w: Any) -> Any:
        return torch.topk(torch.softmax((x @ w).float(), -1), count, -1)

    return route


for name, (hidden, experts, count) in {
    "R1": (768, 128, 1), "R2": (1024, 128, 1), "R3": (4096, 128, 1), "R4": (2560, 64, 6),
    "R5": (8192, 64, 8), "R6": (2048, 64, 6), "R7": (2048, 128, 8), "R8": (4096, 128, 8),
}.items():  # fmt: skip
    add(
        name,
        routing(count),
        ((2048, hidden), BF),
        ((hidden, experts), BF),
        flops=2 * 2048 * hidden * experts,
    )


def quantised(x: Any, w: Any) -> Any:
    f = x.float()
    s = f.abs().amax(-1, keepdim=True) / 448.0
    return (((f / s).to(F8).float() @ w.float().t()) * s).to(x.dtype)


for name, (n, k) in {
    "Q1": (1536, 2560), "Q2": (2560, 1536), "Q3": (3584, 8192), "Q4": (8192, 3584), "Q5": (7168, 2048),
    "Q6": (2048, 7168), "Q7": (2048, 768), "Q8": (768, 2048), "Q9": (4096, 1536), "Q10": (1536, 4096),
}.items():  # fmt: skip
    add(name, quantised, ((4096, k), BF), ((n, k), F8), flops=2 * 4096 * n * k)


def inertia(m: Any, x: Any) -> Any:
    total = m.sum(-1)
    centre = (m[..., None] * x).sum(1) / total[:, None]
    return (m * ((x - centre[:, None]) ** 2).sum(-1)).sum(-1)


for b, n in ((1, 8192), (1, 32768), (128, 8192), (128, 32768), (1024, 32768)):
    add(f"variance_{b}_{n}", lambda x: x.var(-1, unbiased=False), ((b, n), F32))
    add(f"inertia_{b}_{n}", inertia, ((b, n), F32), ((b, n, 3), F32))

# ---- Neptune


def operator(length: int, queries: int, heads: int, shared: int, kind: str) -> Callable[..., Any]:
    def attend(q: Any, k: Any, v: Any) -> Any:
        if heads != shared:
            k, v = (t.repeat_interleave(heads // shared, 1) for t in (k, v))
        s = (q @ k.transpose(-1, -2)).float() * (128**-0.5)
        i = torch.arange(length - queries, length, device=q.device)[:, None]
        j = torch.arange(length, device=q.device)[None]
        if "alibi" in kind:
            slopes = torch.exp2(-8.0 * torch.arange(1, heads + 1, device=q.device) / heads)
            s = s + slopes[:, None, None] * (j - i)
        if "cap" in kind:
            s = 50.0 * torch.tanh(s / 50.0)
        if "causal" in kind:
            s = s.masked_fill(j > i, float("-inf"))
        if "window" in kind:
            s = s.masked_fill(j <= i - 4096, float("-inf"))
        return torch.softmax(s, -1).to(q.dtype) @ v

    return attend


for name, (heads, shared, kind, queries, length) in {
    "PF_Global": (32, 32, "", 2048, 2048),
    "PF_Causal": (32, 32, "causal", 4096, 4096),
    "PF_GQA": (64, 8, "causal", 2048, 2048),
    "PF_ALiBi": (32, 32, "causal alibi", 2048, 2048),
    "PF_SoftCap": (32, 16, "causal cap", 2048, 2048),
    "PF_Window": (32, 8, "causal window cap", 8192, 8192),
    "DC_Causal": (32, 32, "", 1, 8192),
    "DC_GQA": (64, 8, "", 1, 32768),
    "DC_ALiBi": (32, 32, "alibi", 1, 4096),
    "DC_SoftCap": (32, 16, "cap", 1, 16384),
}.items():
    add(name, operator(length, queries, heads, shared, kind),
         ((1, heads, queries, 128), BF), ((1, shared, length, 128), BF), ((1, shared, length, 128), BF),
         flops=4 * heads * queries * length * 128 * (0.5 if "causal" in kind else 1))  # fmt: skip

# ---- FlashFuser


def chain(a: Any, b: Any, d: Any) -> Any:
    return torch.relu(a @ b) @ d


for name, (n, k, m) in {
    "G1": (512, 32, 256), "G2": (256, 512, 64), "G3": (512, 416, 256), "G4": (3072, 768, 768),
    "G5": (16384, 4096, 4096), "G6": (4096, 1024, 1024), "G7": (768, 768, 768), "G8": (8192, 2048, 2048),
    "G9": (2048, 512, 512), "G10": (1536, 384, 384),
}.items():  # fmt: skip
    add(name, chain, ((128, k), BF), ((k, n), BF), ((n, m), BF), flops=2 * 128 * n * (k + m))


def gated(a: Any, g: Any, u: Any, d: Any) -> Any:
    return (functional.silu(a @ g) * (a @ u)) @ d


for name, (n, k) in {
    "S1": (8192, 3072), "S2": (5632, 2048), "S3": (11008, 4096), "S4": (8192, 2048), "S5": (11008, 2048),
    "S6": (8960, 1536), "S7": (9728, 2560), "S8": (3072, 1024),
}.items():  # fmt: skip
    add(
        name, gated, ((128, k), BF), ((k, n), BF), ((k, n), BF), ((n, k), BF), flops=6 * 128 * n * k
    )


def convolutions(x: Any, w: Any, v: Any) -> Any:
    return functional.conv2d(functional.relu(functional.conv2d(x, w, padding=w.shape[-1] // 2)), v)


for name, (c, hw, one, two, taps) in {
    "C1": (64, 56, 256, 64, 1), "C2": (128, 28, 512, 128, 1), "C3": (256, 14, 1024, 256, 1),
    "C4": (512, 7, 2048, 512, 1), "C5": (64, 56, 64, 256, 3), "C6": (128, 28, 128, 512, 3),
    "C7": (256, 14, 256, 1024, 3), "C8": (512, 7, 512, 2048, 3),
}.items():  # fmt: skip
    for batch in (1, 8):
        add(
            f"{name}_b{batch}",
            convolutions,
            ((batch, c, hw, hw), BF),
            ((one, c, taps, taps), BF),
            ((two, one, 1, 1), BF),
        )
