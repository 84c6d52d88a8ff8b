"""Blocks of models as one writes them, and what trains and samples them."""

from __future__ import annotations

from typing import Any

import torch
from cases import Cases
from torch.nn import functional

BF, F16, F32, I8, I64 = torch.bfloat16, torch.float16, torch.float32, torch.int8, torch.int64
C = Cases()
add, case = C.add, C.case


def heads(x: Any, n: int) -> Any:
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


# ---- layers of transformers


def rotate(x: Any, c: Any, s: Any) -> Any:
    a, b = x.chunk(2, -1)
    return x * c + torch.cat((-b, a), -1) * s


def llama_attention(x: Any, g: Any, wq: Any, wk: Any, wv: Any, wo: Any, c: Any, s: Any) -> Any:
    d = c.shape[-1]
    y = functional.rms_norm(x, (x.shape[-1],), g) * 0.02
    q, k, v = (heads(y @ w.t(), w.shape[0] // d) for w in (wq, wk, wv))
    o = functional.scaled_dot_product_attention(
        rotate(q, c, s), rotate(k, c, s), v, is_causal=True, enable_gqa=True
    )
    return x + o.transpose(1, 2).flatten(2) @ wo.t()


for name, (n, length, e, h, kv, d) in {
    "llama_attention": (1, 4096, 2048, 32, 8, 64), "llama_attention_odd": (3, 1111, 1536, 12, 2, 128)
}.items():  # fmt: skip
    add(
        name, llama_attention, ((n, length, e), BF), ((e,), BF), ((h * d, e), BF), ((kv * d, e), BF),
        ((kv * d, e), BF), ((e, h * d), BF), ((length, d), BF), ((length, d), BF),
    )  # fmt: skip


def swiglu_norm(x: Any, g: Any, a: Any, b: Any, c: Any) -> Any:
    y = functional.rms_norm(x, (x.shape[-1],), g)
    return x + (functional.silu(y @ a.t()) * (y @ b.t())) @ c.t()


for rows in (1, 13, 200, 3000):
    add(
        f"mlp_block_{rows}", swiglu_norm, ((rows, 3072), BF), ((3072,), BF), ((8192, 3072), BF),
        ((8192, 3072), BF), ((3072, 8192), BF),
    )  # fmt: skip


def bert_layer(x: Any, w: Any, b: Any, o: Any, p: Any, g: Any, c: Any, u: Any, d: Any, v: Any, e: Any) -> Any:  # fmt: skip
    q, k, t = (heads(y, 12) for y in functional.linear(x * 0.02, w, b).chunk(3, -1))
    a = functional.scaled_dot_product_attention(q, k, t).transpose(1, 2).flatten(2)
    x = functional.layer_norm(x + functional.linear(a, o, p), (768,), g, c)
    y = functional.linear(functional.gelu(functional.linear(x, u, d)), v, e)
    return functional.layer_norm(x + y, (768,), g, c)


for dtype, label in ((BF, "bf16"), (F16, "f16"), (F32, "f32")):
    add(
        f"bert_layer_{label}", bert_layer, ((16, 384, 768), dtype), ((2304, 768), dtype), ((2304,), dtype),
        ((768, 768), dtype), ((768,), dtype), ((768,), dtype), ((768,), dtype), ((3072, 768), dtype),
        ((3072,), dtype), ((768, 3072), dtype), ((768,), dtype),
    )  # fmt: skip


def dit_block(x: Any, t: Any, w: Any, b: Any, u: Any, v: Any) -> Any:
    shift, scale, gate = functional.linear(functional.silu(t), w, b)[:, None].chunk(3, -1)
    y = functional.layer_norm(x, (1152,)) * (1 + scale) + shift
    return x + gate * (functional.gelu(y @ u.t(), approximate="tanh") @ v.t())


add(
    "dit_block", dit_block, ((8, 1024, 1152), BF), ((8, 1152), BF), ((3456, 1152), BF), ((3456,), BF),
    ((4608, 1152), BF), ((1152, 4608), BF),
)  # fmt: skip


def t5_attention(x: Any, w: Any, o: Any, table: Any, bucket: Any) -> Any:
    q, k, v = (heads(y, 12) for y in (0.02 * x @ w.t()).chunk(3, -1))
    s = q @ k.transpose(-1, -2) + table[bucket].permute(2, 0, 1)
    a = torch.softmax(s.float(), -1).to(x.dtype) @ v
    return a.transpose(1, 2).flatten(2) @ o.t()


@case("t5_attention", ((8, 512, 768), BF), ((2304, 768), BF), ((768, 768), BF), ((32, 12), BF))
def t5(x: Any, w: Any, o: Any, table: Any) -> Any:
    i = torch.arange(512, device=x.device)
    return t5_attention(x, w, o, table, (i[None] - i[:, None]).abs().clamp(max=31))


@case("gemma_attention", ((1, 8, 3000, 256), BF), ((1, 4, 3000, 256), BF), ((1, 4, 3000, 256), BF))
def gemma_attention(q: Any, k: Any, v: Any) -> Any:
    k, v = (y.repeat_interleave(2, 1) for y in (k, v))
    s = 50 * torch.tanh((q @ k.transpose(-1, -2)).float() * (256**-0.5 / 50))
    i = torch.arange(3000, device=q.device)
    keep = (i[None] <= i[:, None]) & (i[None] > i[:, None] - 1024)
    return torch.softmax(s.masked_fill(~keep, float("-inf")), -1).to(q.dtype) @ v


@case(
    "alibi_attention", ((2, 16, 2000, 64), F16), ((2, 16, 2000, 64), F16), ((2, 16, 2000, 64), F16)
)
def alibi_attention(q: Any, k: Any, v: Any) -> Any:
    i = torch.arange(2000, device=q.device)
    slope = torch.exp2(-0.5 * torch.arange(1, 17, device=q.device))
    bias = slope[:, None, None] * (i[None] - i[:, None]).float()
    bias = bias.masked_fill(i[None] > i[:, None], float("-inf"))
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))


@case(
    "padded_attention",
    ((16, 512, 12, 64), BF),
    ((16, 512, 12, 64), BF),
    ((16, 512, 12, 64), BF),
    ((16, 512), I64),
)
def padded_attention(q: Any, k: Any, v: Any, keep: Any) -> Any:
    mask = torch.where(keep[:, None, None] % 8 > 0, 0.0, torch.finfo(q.dtype).min).to(q.dtype)
    q, k, v = (y.transpose(1, 2) for y in (q, k, v))
    s = q @ k.transpose(-1, -2) / 8 + mask
    return (torch.softmax(s, -1, dtype=torch.float32).to(q.dtype) @ v).transpose(1, 2)


add(
    "attention_f32", functional.scaled_dot_product_attention, ((4, 12, 1000, 64), F32), ((4, 12, 1000, 64), F32),
    ((4, 12, 1000, 64), F32),
)  # fmt: skip
add(
    "attention_192_128", lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    ((2, 32, 2048, 192), BF), ((2, 32, 2048, 192), BF), ((2, 32, 2048, 128), BF),
)  # fmt: skip


@case(
    "window_attention",
    ((256, 64, 384), BF),
    ((1152, 384), BF),
    ((1152,), BF),
    ((12, 64, 64), BF),
    ((384, 384), BF),
)
def window_attention(x: Any, w: Any, b: Any, bias: Any, o: Any) -> Any:
    q, k, v = functional.linear(0.05 * x, w, b).unflatten(-1, (3, 12, 32)).permute(2, 0, 3, 1, 4)
    a = torch.softmax(q @ k.transpose(-1, -2) * 32**-0.5 + bias, -1) @ v
    return a.transpose(1, 2).flatten(2) @ o.t()


@case("axial_attention", ((2, 64, 64, 256), BF), ((768, 256), BF))
def axial_attention(x: Any, w: Any) -> Any:
    q, k, v = (y.unflatten(-1, (8, 32)) for y in (0.05 * x @ w.t()).chunk(3, -1))
    s = torch.einsum("bijhd,bikhd->bihjk", q, k) * 32**-0.5
    return torch.einsum("bihjk,bikhd->bijhd", torch.softmax(s, -1), v).flatten(3)


@case(
    "cosine_attention",
    ((8, 12, 784, 64), F16),
    ((8, 12, 784, 64), F16),
    ((8, 12, 784, 64), F16),
    ((12, 1, 1), F16),
)
def cosine_attention(q: Any, k: Any, v: Any, scale: Any) -> Any:
    s = functional.normalize(q, dim=-1) @ functional.normalize(k, dim=-1).transpose(-1, -2)
    return torch.softmax(s * scale.clamp(max=4.6).exp(), -1) @ v


@case(
    "differential_attention",
    ((2, 16, 2, 2048, 64), BF),
    ((2, 16, 2, 2048, 64), BF),
    ((2, 16, 2048, 128), BF),
    ((16, 1, 1), BF),
)
def differential_attention(q: Any, k: Any, v: Any, t: Any) -> Any:
    s = (q @ k.transpose(-1, -2)).float() / 8
    i = torch.arange(2048, device=q.device)
    a = torch.softmax(s.masked_fill(i[None] > i[:, None], float("-inf")), -1)
    return (a[:, :, 0] - torch.sigmoid(t.float()) * a[:, :, 1]).to(q.dtype) @ v


@case("pooled_attention", ((32, 1024, 768), BF), ((768,), BF))
def pooled_attention(x: Any, w: Any) -> Any:
    return (torch.softmax((x * w).sum(-1), -1)[..., None] * x).sum(1)


@case(
    "additive_attention",
    ((16, 128, 256), F32),
    ((16, 512, 256), F32),
    ((256,), F32),
    ((16, 512, 256), F32),
)
def additive_attention(q: Any, k: Any, w: Any, v: Any) -> Any:
    s = (torch.tanh(q[:, :, None] + k[:, None]) * w).sum(-1)
    return torch.softmax(s, -1) @ v


# ---- experts, recurrences, state spaces


@case(
    "moe_dense",
    ((2048, 1024), BF),
    ((16, 1024), BF),
    ((16, 1024, 2816), BF),
    ((16, 2816, 1024), BF),
)
def moe_dense(x: Any, r: Any, u: Any, d: Any) -> Any:
    p, i = torch.topk(torch.softmax((x @ r.t()).float(), -1), 2, -1)
    w = torch.zeros(2048, 16, device=x.device).scatter(1, i, p / p.sum(-1, keepdim=True))
    y = functional.silu(torch.einsum("nd,edf->enf", x, u))
    return torch.einsum("enf,efd,ne->nd", y, d, w.to(x.dtype))


@case("router_grouped", ((8192, 256), F32), ((256,), F32))
def router_grouped(x: Any, b: Any) -> Any:
    s = torch.sigmoid(x)
    g = (s + b).unflatten(-1, (8, 32)).topk(2, -1)[0].sum(-1)
    keep = torch.zeros_like(g).scatter(1, g.topk(4, -1)[1], 1.0)
    t = ((s + b).unflatten(-1, (8, 32)) * keep[..., None]).flatten(1)
    i = t.topk(8, -1)[1]
    w = s.gather(1, i)
    return w / w.sum(-1, keepdim=True), i


@case(
    "mamba_scan",
    ((4, 1536, 1024), F32),
    ((4, 1536, 1024), F32),
    ((1536, 16), F32),
    ((4, 16, 1024), F32),
)
def mamba_gates(u: Any, dt: Any, a: Any, b: Any) -> Any:
    t = functional.softplus(dt)
    decay = torch.exp((t[:, :, None] * -torch.exp(a)[None, :, :, None]).cumsum(-1).clamp(min=-60))
    return (decay * ((t * u)[:, :, None] * b[:, None] / decay).cumsum(-1)).sum(2)


@case(
    "gated_linear_chunk",
    ((4, 8, 32, 64, 128), BF),
    ((4, 8, 32, 64, 128), BF),
    ((4, 8, 32, 64, 128), BF),
    ((4, 8, 32, 64), F32),
)
def gated_linear_chunk(q: Any, k: Any, v: Any, g: Any) -> Any:
    c = functional.logsigmoid(g).cumsum(-1)
    i = torch.arange(64, device=q.device)
    decay = torch.where(i[:, None] >= i[None], torch.exp(c[..., :, None] - c[..., None, :]), 0.0)
    return ((q @ k.transpose(-1, -2)).float() * decay).to(q.dtype) @ v


@case(
    "lstm_cell",
    ((512, 1024), F32),
    ((512, 1024), F32),
    ((512, 1024), F32),
    ((4096, 1024), F32),
    ((4096, 1024), F32),
    ((4096,), F32),
)
def lstm_cell(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
    i, f, g, o = (x @ w.t() + h @ u.t() + b).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


@case(
    "rwkv_mix",
    ((8, 1024, 2048), BF),
    ((2048,), BF),
    ((2048,), BF),
    ((2048, 2048), BF),
    ((2048, 2048), BF),
)
def rwkv_mix(x: Any, m: Any, n: Any, k: Any, r: Any) -> Any:
    y = torch.cat((torch.zeros_like(x[:, :1]), x[:, :-1]), 1)
    a = torch.relu((x * m + y * (1 - m)) @ k.t()).square()
    return torch.sigmoid((x * n + y * (1 - n)) @ r.t()) * a


# ---- blocks of images and sound


def separable(x: Any, d: Any, g: Any, b: Any, u: Any, v: Any, s: Any) -> Any:
    y = functional.conv2d(x, d, padding=3, groups=x.shape[1]).permute(0, 2, 3, 1)
    y = functional.layer_norm(y, (x.shape[1],), g, b, 1e-6)
    y = functional.gelu(y @ u.t()) @ v.t() * s
    return x + y.permute(0, 3, 1, 2)


add(
    "convnext_block", separable, ((32, 192, 28, 28), BF), ((192, 1, 7, 7), BF), ((192,), BF), ((192,), BF),
    ((768, 192), BF), ((192, 768), BF), ((192,), BF),
)  # fmt: skip


def bottleneck(x: Any, a: Any, b: Any, c: Any, *p: Any) -> Any:
    def norm(y: Any, w: Any, s: Any) -> Any:
        return y * w[:, None, None] + s[:, None, None]

    y = torch.relu(norm(functional.conv2d(x, a), *p[:2]))
    y = torch.relu(norm(functional.conv2d(y, b, padding=1), *p[2:4]))
    return torch.relu(norm(functional.conv2d(y, c), *p[4:]) + x)


for dtype, label in ((F16, "f16"), (F32, "f32")):
    add(
        f"bottleneck_{label}", bottleneck, ((32, 512, 28, 28), dtype), ((128, 512, 1, 1), dtype),
        ((128, 128, 3, 3), dtype), ((512, 128, 1, 1), dtype), *(((c,), dtype) for c in (128, 128, 128, 128, 512, 512)),
    )  # fmt: skip


def inverted(x: Any, a: Any, d: Any, s: Any, t: Any, b: Any) -> Any:
    y = functional.silu(functional.conv2d(x, a))
    y = functional.silu(functional.conv2d(y, d, padding=2, groups=y.shape[1]))
    z = y.mean((2, 3), keepdim=True)
    z = torch.sigmoid(functional.conv2d(functional.silu(functional.conv2d(z, s)), t))
    return x + functional.conv2d(y * z, b)


add(
    "efficientnet_block", inverted, ((32, 80, 28, 28), BF), ((480, 80, 1, 1), BF), ((480, 1, 5, 5), BF),
    ((20, 480, 1, 1), BF), ((480, 20, 1, 1), BF), ((80, 480, 1, 1), BF),
)  # fmt: skip


def resnet_unet(x: Any, t: Any, g: Any, b: Any, w: Any, l: Any, v: Any) -> Any:  # noqa: E741
    y = functional.conv2d(functional.silu(functional.group_norm(x, 32, g, b)), w, padding=1)
    y = y + functional.linear(functional.silu(t), l)[:, :, None, None]
    return x + functional.conv2d(functional.silu(functional.group_norm(y, 32, g, b)), v, padding=1)


add(
    "unet_block", resnet_unet, ((4, 320, 64, 64), F16), ((4, 1280), F16), ((320,), F16), ((320,), F16),
    ((320, 320, 3, 3), F16), ((320, 1280), F16), ((320, 320, 3, 3), F16),
)  # fmt: skip


@case(
    "unet_attention",
    ((4, 512, 32, 32), F16),
    ((512,), F16),
    ((512,), F16),
    ((1536, 512, 1, 1), F16),
    ((512, 512, 1, 1), F16),
)
def unet_attention(x: Any, g: Any, b: Any, w: Any, o: Any) -> Any:
    q, k, v = (
        functional.conv2d(0.05 * functional.group_norm(x, 32, g, b), w)
        .flatten(2)
        .unflatten(1, (3, 8, 64))
        .unbind(1)
    )
    a = torch.softmax(torch.einsum("bhdi,bhdj->bhij", q, k).float() / 8, -1).to(x.dtype)
    y = torch.einsum("bhij,bhdj->bhdi", a, v).flatten(1, 2).unflatten(-1, (32, 32))
    return x + functional.conv2d(y, o)


@case(
    "whisper_stem",
    ((8, 80, 3000), F16),
    ((768, 80, 3), F16),
    ((768,), F16),
    ((768, 768, 3), F16),
    ((768,), F16),
)
def whisper_stem(x: Any, w: Any, b: Any, u: Any, c: Any) -> Any:
    y = functional.gelu(functional.conv1d(x, w, b, padding=1))
    return functional.gelu(functional.conv1d(y, u, c, stride=2, padding=1)).transpose(1, 2)


@case(
    "patch_embedding",
    ((64, 3, 224, 224), BF),
    ((768, 3, 16, 16), BF),
    ((768,), BF),
    ((196, 768), BF),
)
def patch_embedding(x: Any, w: Any, b: Any, p: Any) -> Any:
    return functional.conv2d(x, w, b, stride=16).flatten(2).transpose(1, 2) + p


@case(
    "conformer_conv",
    ((16, 800, 256), F32),
    ((512, 256), F32),
    ((256, 1, 31), F32),
    ((256,), F32),
    ((256,), F32),
)
def conformer_conv(x: Any, w: Any, d: Any, g: Any, b: Any) -> Any:
    y = functional.glu(x @ w.t(), -1).transpose(1, 2)
    y = functional.conv1d(y, d, padding=15, groups=256).transpose(1, 2)
    return x + functional.silu(functional.layer_norm(y, (256,), g, b))


@case("vgg_pool", ((32, 64, 112, 112), F16), ((128, 64, 3, 3), F16), ((128,), F16))
def vgg_pool(x: Any, w: Any, b: Any) -> Any:
    return functional.max_pool2d(torch.relu(functional.conv2d(x, w, b, padding=1)), 2)


@case("upsample_conv", ((8, 128, 64, 64), BF), ((64, 128, 3, 3), BF))
def upsample_conv(x: Any, w: Any) -> Any:
    return functional.conv2d(
        functional.interpolate(x, scale_factor=2, mode="nearest"), w, padding=1
    )


@case("video_conv", ((2, 64, 16, 56, 56), F16), ((64, 64, 3, 3, 3), F16), ((64,), F16))
def video_conv(x: Any, w: Any, b: Any) -> Any:
    return torch.relu(functional.conv3d(x, w, b, padding=1))


@case("dilated_wave", ((8, 128, 16000), F32), ((256, 128, 3), F32), ((128, 128, 1), F32))
def dilated_wave(x: Any, w: Any, o: Any) -> Any:
    a, b = functional.conv1d(x, w, padding=8, dilation=8).chunk(2, 1)
    return x + functional.conv1d(torch.tanh(a) * torch.sigmoid(b), o)


add(
    "conv_transpose_stride", lambda x, w, b: torch.relu(functional.conv_transpose2d(x, w, b, stride=2)),
    ((16, 128, 56, 56), F16), ((128, 64, 2, 2), F16), ((64,), F16),
)  # fmt: skip
add(
    "channels_last_conv", lambda x, w, b: functional.conv2d(x.permute(0, 3, 1, 2), w, b, padding=1).permute(0, 2, 3, 1),
    ((16, 64, 64, 256), BF), ((256, 256, 3, 3), BF), ((256,), BF),
)  # fmt: skip

# ---- gradients and steps of optimisers


@case("layernorm_backward", ((8192, 2048), BF), ((8192, 2048), BF), ((2048,), BF))
def layernorm_backward(x: Any, dy: Any, g: Any) -> Any:
    x, dy = x.float(), dy.float()
    r = torch.rsqrt(x.var(-1, correction=0, keepdim=True) + 1e-5)
    h = (x - x.mean(-1, keepdim=True)) * r
    d = dy * g.float()
    dx = (d - d.mean(-1, keepdim=True) - h * (d * h).mean(-1, keepdim=True)) * r
    return dx.to(BF), (dy * h).sum(0), dy.sum(0)


@case("softmax_backward", ((16384, 3000), F32), ((16384, 3000), F32))
def softmax_backward(y: Any, dy: Any) -> Any:
    return y * (dy - (y * dy).sum(-1, keepdim=True))


@case(
    "attention_backward",
    ((2, 16, 2048, 64), BF),
    ((2, 16, 2048, 64), BF),
    ((2, 16, 2048, 64), BF),
    ((2, 16, 2048, 64), BF),
    ((2, 16, 2048, 64), BF),
    ((2, 16, 2048), F32),
)
def attention_backward(q: Any, k: Any, v: Any, o: Any, do: Any, lse: Any) -> Any:
    p = torch.exp((q @ k.transpose(-1, -2)).float() / 8 - (lse.abs() + 12)[..., None])
    dv = p.to(BF).transpose(-1, -2) @ do
    ds = p * ((do @ v.transpose(-1, -2)).float() - (do * o).float().sum(-1, keepdim=True)) / 8
    return ds.to(BF) @ k, ds.to(BF).transpose(-1, -2) @ q, dv


@case("cross_entropy_backward", ((4096, 50257), BF), ((4096,), I64))
def cross_entropy_backward(x: Any, t: Any) -> Any:
    p = torch.softmax(x.float(), -1)
    return ((p - functional.one_hot(t % 50257, 50257)) / 4096).to(BF)


@case("linear_backward", ((8192, 1024), BF), ((8192, 4096), BF), ((4096, 1024), BF))
def linear_backward(x: Any, dy: Any, w: Any) -> Any:
    return dy @ w, dy.t() @ x, dy.float().sum(0)


@case("adam", ((1 << 25,), F32), ((1 << 25,), F32), ((1 << 25,), F32), ((1 << 25,), F32))
def adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    m, v = torch.lerp(m, g, 0.1), torch.lerp(v.abs(), g * g, 0.001)
    return p - 0.001 * m / (v.sqrt() + 1e-8), m, v


@case("clip_norm", ((4096, 4096), F32), ((4096, 11008), F32), ((4096,), F32))
def clip_norm(a: Any, b: Any, c: Any) -> Any:
    scale = 1 / torch.sqrt(sum((x * x).sum() for x in (a, b, c))).clamp(min=1)
    return a * scale, b * scale, c * scale


@case("batch_norm_training", ((64, 128, 56, 56), BF), ((128,), F32), ((128,), F32))
def batch_norm_training(x: Any, g: Any, b: Any) -> Any:
    m, v = x.float().mean((0, 2, 3)), x.float().var((0, 2, 3), correction=0)
    s = g * torch.rsqrt(v + 1e-5)
    return torch.relu(x * s[:, None, None] + (b - m * s)[:, None, None]).to(BF), m, v


@case("embedding_backward", ((16384,), I64), ((16384, 768), F32))
def embedding_backward(i: Any, dy: Any) -> Any:
    return torch.zeros(30522, 768, device=dy.device).index_add(0, i % 30522, dy)


# ---- sampling and selections


@case("top_p", ((64, 32000), F32))
def top_p(x: Any) -> Any:
    y, i = torch.sort(x, -1, descending=True)
    p = torch.softmax(y, -1)
    return y.masked_fill(p.cumsum(-1) - p > 0.9, float("-inf")), i


@case("gumbel_top1", ((256, 50257), BF), ((256, 50257), F32))
def gumbel_top1(x: Any, u: Any) -> Any:
    return (x.float() / 0.7 - torch.log(u.abs() + 1e-6)).argmax(-1)


add("topk_1000", lambda x: torch.topk(x, 1000, -1), ((512, 100000), F32))
add("topk_16_long", lambda x: torch.topk(x, 16, -1), ((8, 1 << 20), F32))
add("median_rows", lambda x: x.median(-1)[0], ((4096, 2048), F32))
add("kth_value", lambda x: torch.kthvalue(x, 100, -1)[0], ((1024, 8192), F32))
add("argsort", lambda x: torch.argsort(x, dim=-1, stable=True), ((2048, 4096), F32))
add(
    "beam_topk",
    lambda x, s: torch.topk((torch.log_softmax(x, -1) + s[..., None]).flatten(1), 8, -1),
    ((32, 4, 32000), F32),
    ((32, 4), F32),
)

# ---- what memory limits, once more

add(
    "segment_mean",
    lambda x, i: torch.zeros(4096, 128, device=x.device).index_add(0, i % 4096, x),
    ((1 << 19, 128), F32),
    ((1 << 19,), I64),
)
add("gather_rows", lambda x, i: x[i % 100000].sum(1), ((100000, 256), BF), ((8192, 32), I64))
add("softmax_columns", lambda x: torch.softmax(x, 0), ((2048, 6000), F32))
add("log_softmax_channels", lambda x: torch.log_softmax(x, 1), ((16, 21, 512, 512), F32))
add(
    "layer_norm_channels",
    lambda x, g: functional.layer_norm(x.permute(0, 2, 3, 1), (96,), g).permute(0, 3, 1, 2),
    ((32, 96, 56, 56), F32),
    ((96,), F32),
)
add("instance_norm", lambda x: functional.instance_norm(x), ((8, 64, 256, 256), F16))
add("max_pool_3d", lambda x: functional.max_pool3d(x, 3, 2, 1), ((4, 64, 32, 64, 64), F32))
add("avg_pool_1d", lambda x: functional.avg_pool1d(x, 7, 1, 3), ((32, 128, 16384), F32))
add("adaptive_pool", lambda x: functional.adaptive_avg_pool2d(x, (7, 7)), ((32, 512, 32, 32), BF))
add(
    "bilinear",
    lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"),
    ((8, 64, 128, 128), BF),
)
add("cumsum_middle", lambda x: x.cumsum(1), ((64, 2000, 256), F32))
add("logcumsumexp", lambda x: torch.logcumsumexp(x, -1), ((8192, 4096), F32))
add(
    "pad_reflect",
    lambda x: functional.pad(x, (3, 3, 3, 3), mode="reflect"),
    ((16, 64, 224, 224), BF),
)
add(
    "roll_windows",
    lambda x: (
        torch.roll(x, (-4, -4), (1, 2))
        .unflatten(1, (8, 8))
        .unflatten(3, (8, 8))
        .transpose(2, 3)
        .contiguous()
    ),
    ((32, 64, 64, 192), BF),
)
add(
    "concat_channels",
    lambda a, b, c: torch.relu(torch.cat((a, b, c), 1)),
    ((32, 64, 56, 56), F16),
    ((32, 128, 56, 56), F16),
    ((32, 33, 56, 56), F16),
)
add(
    "channel_shuffle",
    lambda x: x.unflatten(1, (8, 32)).transpose(1, 2).flatten(1, 2),
    ((64, 256, 28, 28), F32),
)
add(
    "triplet",
    lambda a, p, n: torch.relu(1 + (a - p).norm(dim=-1) - (a - n).norm(dim=-1)).mean(),
    ((65536, 512), F32),
    ((65536, 512), F32),
    ((65536, 512), F32),
)
add(
    "dice",
    lambda x, t: (
        1
        - (2 * (torch.sigmoid(x) * t.abs()).sum((2, 3)) + 1)
        / (torch.sigmoid(x).sum((2, 3)) + t.abs().sum((2, 3)) + 1)
    ),
    ((16, 8, 512, 512), F32),
    ((16, 8, 512, 512), F32),
)
add("huber_all", lambda x, y: functional.huber_loss(x, y), ((1 << 25,), F32), ((1 << 25,), F32))
add(
    "bce_all",
    lambda x, y: functional.binary_cross_entropy_with_logits(x, torch.sigmoid(y)),
    ((1 << 24,), F32),
    ((1 << 24,), F32),
)
add(
    "kmeans_step",
    lambda x, c: (x.square().sum(-1, keepdim=True) - 2 * x @ c.t() + c.square().sum(-1)).min(-1),
    ((65536, 64), F32),
    ((512, 64), F32),
)
add(
    "quantise_rows",
    lambda x: ((x / (x.abs().amax(-1, keepdim=True) / 127)).round().to(I8), x.abs().amax(-1)),
    ((8192, 5120), BF),
)
add(
    "norm_quantise",
    lambda x, g: (
        lambda y: (lambda s: ((y / s).round().clamp(-127, 127).to(I8), s))(
            y.abs().amax(-1, keepdim=True).float() / 127
        )
    )(functional.rms_norm(x, (4096,), g)),
    ((4096, 4096), BF),
    ((4096,), BF),
)
add("covariance", lambda x: (x - x.mean(0)).t() @ (x - x.mean(0)) / 8191, ((8192, 512), F32))
add(
    "pairwise_l1",
    lambda x, y: (x[:, None] - y[None]).abs().sum(-1),
    ((1024, 128), F32),
    ((1000, 128), F32),
)
add("batched_small", lambda a, b: a @ b, ((10000, 32, 32), F32), ((10000, 32, 32), F32))
add(
    "bilinear_form",
    lambda x, w, y: torch.einsum("bi,oij,bj->bo", x, w, y),
    ((512, 256), BF),
    ((64, 256, 256), BF),
    ((512, 256), BF),
)
add(
    "outer_linear",
    lambda x, a, b, w: functional.linear(x, w) + (x @ a.t()) @ b.t() * 2,
    ((4096, 4096), BF),
    ((16, 4096), BF),
    ((4096, 16), BF),
    ((4096, 4096), BF),
)
