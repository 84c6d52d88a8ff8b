"""The same work by PyTorch on a GPU, as functions of tensors: eager, torch.compile with and without
max-autotune, and for attention the fused kernels that PyTorch offers, FlexAttention, and
FlashAttention-4 where it is installed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .cases import Case

Function = Callable[..., Any]
PEERS = ("eager", "compile", "max-autotune", "cudnn", "flash", "flex", "fa4")
DEVICE = "cuda"
_EAGER_ELEMENTS = 1 << 31  # of a score matrix; more than this is not spelled out


def inputs(case: Case, seed: int) -> list[Any]:
    """Random tensors of the kinds that ``Case.inputs`` draws, made on the GPU."""
    import torch

    from ..runtime.specs import ELEMENT_TYPES

    random = torch.Generator("cuda").manual_seed(seed)

    def make(shape: tuple[int, ...], dtype: str, how: str) -> Any:
        kind = getattr(torch, ELEMENT_TYPES[dtype][0])
        words: dict[str, Any] = {"device": "cuda", "generator": random}
        if how == "labels":
            return torch.randint(0, case.shapes[0][0][1], shape, dtype=kind, **words)
        if how == "int8":
            return torch.randint(-127, 128, shape, dtype=kind, **words)
        if how == "slopes":
            heads = torch.arange(shape[0], device="cuda") + 1.0
            return torch.exp2(-8.0 * heads / shape[0]).to(kind)
        if how == "positive":
            return (torch.rand(shape, **words) + 0.1).to(kind)
        scale = 1.0 if how == "normal" else float(how)
        return (torch.randn(shape, **words) * scale).to(kind)

    return [make(*given) for given in case.shapes]


def functions(case: Case) -> dict[str, Callable[[], Function]]:
    """Makers of a case's peers by name; making one may compile or fail."""
    spelled = _spelled(case)
    made: dict[str, Callable[[], Function]] = {}
    if spelled is not None:
        made["eager"] = lambda: spelled
        made["compile"] = lambda: _compiled(spelled)
        made["max-autotune"] = lambda: _compiled(spelled, "max-autotune-no-cudagraphs")
    if case.kind is not None:
        kind, (q, k) = case.kind, (case.shapes[0][0], case.shapes[1][0])
        if kind == "none" or (kind == "causal" and q[2] == k[2]):
            made["cudnn"] = lambda: _sdpa("CUDNN_ATTENTION", kind, q, k)
            made["flash"] = lambda: _sdpa("FLASH_ATTENTION", kind, q, k)
        made["flex"] = lambda: _flex(kind, q, k)
        if "alibi" not in kind:
            made["fa4"] = lambda: _flash4(kind)
    return made


def _compiled(function: Function, mode: str = "default") -> Function:
    import torch

    torch._dynamo.reset()
    return torch.compile(function, mode=mode, dynamic=False)


def _spelled(case: Case) -> Function | None:
    """The formula, op by op."""
    import torch
    from torch.nn import functional

    name = case.workload
    if case.kind is not None:
        q, k = case.shapes[0][0], case.shapes[1][0]
        if q[0] * q[1] * q[2] * k[2] > _EAGER_ELEMENTS:
            return None
        return _attention(case.kind, q, k)
    if name == "mla_decode":

        def mla(q: Any, cache: Any) -> Any:
            s = (q @ cache.transpose(1, 2)).float() / math.sqrt(192.0)
            return torch.softmax(s, -1).to(q.dtype) @ cache[..., :512]

        return mla
    if name == "moe_routing":
        topk = case.topk

        def routing(x: Any, w: Any) -> Any:
            return torch.topk(torch.softmax((x @ w).float(), -1), topk, -1)

        return routing
    if name == "quant_gemm":

        def quant(x: Any, w: Any, scale: Any) -> Any:
            largest = x.abs().amax(-1, keepdim=True).clamp(min=1e-12)
            q = torch.round(x * (1.0 / largest * 127.0)).clamp(-127.0, 127.0)
            return torch._int_mm(q.to(torch.int8), w).float() * (largest / 127.0) * scale

        return quant
    if name == "variance":
        return lambda x: ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1)
    if name == "inertia":

        def inertia(mass: Any, points: Any) -> Any:
            centre = (mass[..., None] * points).sum(1) / mass.sum(1, keepdim=True)
            return (mass * ((points - centre[:, None]) ** 2).sum(-1)).sum(-1)

        return inertia
    return {
        "softmax": lambda x: torch.softmax(x, -1),
        "layernorm": lambda x, w, b: functional.layer_norm(x, (x.shape[1],), w, b),
        "rmsnorm": lambda x, w: functional.rms_norm(x, (x.shape[1],), w, 1e-6),
        "cross_entropy": lambda x, y: functional.cross_entropy(x.float(), y, reduction="none"),
        "gemm_chain": lambda a, b, d: torch.relu(a @ b) @ d,
        "gated_ffn": lambda a, g, u, d: (functional.silu(a @ g) * (a @ u)) @ d,
        "conv_chain": lambda x, w1, w2: functional.conv2d(
            torch.relu(functional.conv2d(x, w1, padding=w1.shape[2] // 2)), w2
        ),
    }.get(name)


# ---- attention ----------------------------------------------------------------------------------


def _attention(kind: str, q_shape: tuple, k_shape: tuple) -> Function:
    import torch

    words = kind.split("+")
    rows, kv = q_shape[2], k_shape[2]
    groups = q_shape[1] // k_shape[1]

    def attention(q: Any, k: Any, v: Any, slopes: Any = None) -> Any:
        if groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        s = (q @ k.transpose(-1, -2)).float() / math.sqrt(q.shape[3])
        if "softcap" in words:
            s = 50.0 * torch.tanh(s / 50.0)
        i = torch.arange(rows, device=q.device)[:, None] + (kv - rows)
        j = torch.arange(kv, device=q.device)[None, :]
        if "alibi" in words:
            s = s + slopes[:, None, None] * (j - i)
        if "causal" in words:
            s = s.masked_fill(i < j, -math.inf)
        if "window" in words:
            s = s.masked_fill(i - j >= 4096, -math.inf)
        return torch.softmax(s, -1).to(q.dtype) @ v

    return attention


def _sdpa(backend: str, kind: str, q_shape: tuple, k_shape: tuple) -> Function:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    grouped = q_shape[1] != k_shape[1]

    def attention(q: Any, k: Any, v: Any) -> Any:
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return scaled_dot_product_attention(
                q, k, v, is_causal=kind == "causal", enable_gqa=grouped
            )

    return attention


def _flex(kind: str, q_shape: tuple, k_shape: tuple) -> Function:
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    words = kind.split("+")
    rows, kv = q_shape[2], k_shape[2]
    shift = kv - rows
    grouped = q_shape[1] != k_shape[1]
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False)
    mask = None
    if "causal" in words:
        window = "window" in words

        def seen(b: Any, h: Any, i: Any, j: Any) -> Any:
            ok = i + shift >= j
            return ok & (i + shift - j < 4096) if window else ok

        mask = create_block_mask(seen, None, None, rows, kv, device=DEVICE)

    def attention(q: Any, k: Any, v: Any, slopes: Any = None) -> Any:
        def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            if "softcap" in words:
                s = 50.0 * torch.tanh(s / 50.0)
            if "alibi" in words:
                s = s + slopes[h] * (j - i - shift)
            return s

        plain = "softcap" not in words and "alibi" not in words
        return compiled(
            q, k, v, score_mod=None if plain else score, block_mask=mask, enable_gqa=grouped
        )

    return attention


def _flash4(kind: str) -> Function:
    """FlashAttention-4's CuTe kernels; they take rows before heads. Causal is aligned to the last
    row, as in ``programs.attention``."""
    import torch
    from flash_attn.cute import flash_attn_func

    words = kind.split("+")
    chosen: dict[str, Any] = {"causal": "causal" in words}
    if "softcap" in words:
        chosen["softcap"] = 50.0
    if "window" in words:
        chosen["window_size"] = (4095, 0)

    def attention(q: Any, k: Any, v: Any) -> Any:
        out = flash_attn_func(*(x.transpose(1, 2) for x in (q, k, v)), **chosen)
        out = out[0] if isinstance(out, tuple) else out
        return torch.transpose(out, 1, 2)

    return attention
