"""Programs beside those of the papers: few rows, quantised products, norms and losses around products."""

from __future__ import annotations

from typing import Any

import torch
from cases import Cases
from torch.nn import functional

BF, F16, F32, F8, I8, I64 = (
    torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.int8, torch.int64,
)  # fmt: skip
C = Cases()
add, case = C.add, C.case


# ---- few query rows


def grouped(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


for b, h, kv, q, n, d in (
    (1, 32, 8, 1, 8192, 128), (8, 32, 8, 1, 8192, 128), (16, 32, 4, 1, 4096, 128), (1, 32, 8, 1, 131072, 128),
    (64, 32, 1, 1, 2000, 128), (8, 32, 8, 4, 4096, 128), (8, 16, 16, 2, 4096, 64), (4, 24, 8, 1, 8000, 256),
    (128, 28, 4, 1, 1500, 128), (32, 32, 32, 1, 2048, 96), (2, 64, 8, 8, 16384, 128),
):  # fmt: skip
    add(
        f"decode_{b}x{h}x{kv}x{q}x{n}x{d}",
        grouped,
        ((b, h, q, d), BF),
        ((b, kv, n, d), BF),
        ((b, kv, n, d), BF),
    )


@case(
    "decode_masked",
    ((16, 32, 1, 128), BF),
    ((16, 8, 4096, 128), BF),
    ((16, 8, 4096, 128), BF),
    ((16,), I64),
)
def decode_masked(q: Any, k: Any, v: Any, position: Any) -> Any:
    mask = torch.arange(4096, device=q.device)[None, None, None] <= position[:, None, None, None]
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


@case("decode_f16", ((8, 40, 1, 128), F16), ((8, 40, 2049, 128), F16), ((8, 40, 2049, 128), F16))
def decode_f16(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax((q @ k.transpose(-1, -2)) * (128**-0.5), -1) @ v


@case("mla_16_heads", ((8, 16, 576), BF), ((8, 16384, 576), BF))
def mla_16_heads(q: Any, kv: Any) -> Any:
    s = torch.einsum("bhd,bsd->bhs", q, kv).float() * (192**-0.5)
    return torch.einsum("bhs,bsd->bhd", torch.softmax(s, -1).to(q.dtype), kv[..., :512])


@case(
    "mla_parts",
    ((16, 128, 512), BF),
    ((16, 128, 64), BF),
    ((16, 4096, 512), BF),
    ((16, 4096, 64), BF),
)
def mla_parts(q: Any, r: Any, c: Any, k: Any) -> Any:
    s = (torch.einsum("bhd,bsd->bhs", q, c) + torch.einsum("bhd,bsd->bhs", r, k)).float() * (
        192**-0.5
    )
    return torch.einsum("bhs,bsd->bhd", torch.softmax(s, -1).to(q.dtype), c)


# ---- attention in other forms


@case(
    "attention_sink",
    ((2, 64, 2048, 64), BF),
    ((2, 8, 2048, 64), BF),
    ((2, 8, 2048, 64), BF),
    ((64,), BF),
)
def attention_sink(q: Any, k: Any, v: Any, sink: Any) -> Any:
    k, v = (t.repeat_interleave(8, 1) for t in (k, v))
    s = (q @ k.transpose(-1, -2)).float() * 0.125
    i = torch.arange(2048, device=q.device)
    s = s.masked_fill(i[None] > i[:, None], float("-inf"))
    s = torch.cat((s, sink.float()[None, :, None, None].expand(2, 64, 2048, 1)), -1)
    return torch.softmax(s, -1)[..., :-1].to(q.dtype) @ v


@case(
    "attention_documents",
    ((2, 16, 4096, 128), BF),
    ((2, 16, 4096, 128), BF),
    ((2, 16, 4096, 128), BF),
    ((2, 4096), I64),
)
def attention_documents(q: Any, k: Any, v: Any, document: Any) -> Any:
    i = torch.arange(4096, device=q.device)
    mask = ((document // 8000)[:, None, :, None] == (document // 8000)[:, None, None]) & (
        i[None] <= i[:, None]
    )
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@case(
    "attention_relative",
    ((4, 12, 1024, 64), BF),
    ((4, 12, 1024, 64), BF),
    ((4, 12, 1024, 64), BF),
    ((32, 12), BF),
)
def attention_relative(q: Any, k: Any, v: Any, table: Any) -> Any:
    i = torch.arange(1024, device=q.device)
    bias = table[(i[None] - i[:, None]).abs().clamp(max=31)].permute(2, 0, 1)
    return torch.softmax((q @ k.transpose(-1, -2)).float() + bias.float(), -1).to(q.dtype) @ v


@case("attention_lse", ((2, 16, 4096, 128), BF), ((2, 16, 4096, 128), BF), ((2, 16, 4096, 128), BF))
def attention_lse(q: Any, k: Any, v: Any) -> Any:
    s = (q @ k.transpose(-1, -2)).float() * (128**-0.5)
    lse = torch.logsumexp(s, -1, keepdim=True)
    return torch.exp(s - lse).to(q.dtype) @ v, lse


@case(
    "attention_qk_norm",
    ((2, 4096, 16, 128), BF),
    ((2, 4096, 16, 128), BF),
    ((2, 4096, 16, 128), BF),
    ((128,), BF),
    ((128,), BF),
)
def attention_qk_norm(q: Any, k: Any, v: Any, a: Any, b: Any) -> Any:
    q, k, v = (
        t.transpose(1, 2)
        for t in (functional.rms_norm(q, (128,), a), functional.rms_norm(k, (128,), b), v)
    )
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


@case(
    "attention_swin",
    ((1024, 8, 49, 32), F16),
    ((1024, 8, 49, 32), F16),
    ((1024, 8, 49, 32), F16),
    ((8, 49, 49), F16),
)
def attention_swin(q: Any, k: Any, v: Any, bias: Any) -> Any:
    return torch.softmax(q @ k.transpose(-1, -2) * (32**-0.5) + bias, -1) @ v


@case("attention_cross", ((4, 10, 4096, 64), BF), ((4, 10, 77, 64), BF), ((4, 10, 77, 64), BF))
def attention_cross(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v)


@case("linear_attention", ((4, 16, 4096, 64), BF), ((4, 16, 4096, 64), BF), ((4, 16, 4096, 64), BF))
def linear_attention(q: Any, k: Any, v: Any) -> Any:
    q, k = functional.elu(q) + 1, functional.elu(k) + 1
    z = 1 / (q * k.sum(2, keepdim=True)).sum(-1, keepdim=True)
    return (q @ (k.transpose(-1, -2) @ v)) * z


@case("retention", ((2, 8, 2048, 128), BF), ((2, 8, 2048, 128), BF), ((2, 8, 2048, 128), BF))
def retention(q: Any, k: Any, v: Any) -> Any:
    i = torch.arange(2048, device=q.device)
    gamma = 1 - torch.exp2(-5.0 - torch.arange(8, device=q.device))
    decay = torch.where(
        i[:, None] >= i[None], gamma[:, None, None] ** (i[:, None] - i[None]).clamp(min=0), 0.0
    )
    return ((q @ k.transpose(-1, -2)).float() * decay).to(q.dtype) @ v


# ---- norms around products, gates


@case(
    "layernorm_linear",
    ((4096, 1024), BF),
    ((1024,), BF),
    ((1024,), BF),
    ((3072, 1024), BF),
    ((3072,), BF),
)
def layernorm_linear(x: Any, g: Any, b: Any, w: Any, c: Any) -> Any:
    return functional.linear(functional.layer_norm(x, (1024,), g, b), w, c)


for rows in (16, 256, 8192):
    add(f"rmsnorm_linear_{rows}", lambda x, g, w: functional.rms_norm(x, (4096,), g) @ w.t(),
        ((rows, 4096), BF), ((4096,), BF), ((6144, 4096), BF))  # fmt: skip


@case(
    "linear_residual_rmsnorm",
    ((2048, 4096), BF),
    ((4096, 4096), BF),
    ((2048, 4096), BF),
    ((4096,), BF),
)
def linear_residual_rmsnorm(x: Any, w: Any, r: Any, g: Any) -> Any:
    h = x @ w.t() + r
    return h, functional.rms_norm(h, (4096,), g)


for rows in (1, 8, 64, 2048):
    add(f"swiglu_{rows}", lambda x, g, u, d: (functional.silu(x @ g.t()) * (x @ u.t())) @ d.t(),
        ((rows, 4096), BF), ((14336, 4096), BF), ((14336, 4096), BF), ((4096, 14336), BF))  # fmt: skip

add(
    "geglu_packed",
    lambda x, w: (lambda a, b: functional.gelu(a) * b)(*(x @ w.t()).chunk(2, -1)),
    ((4096, 1280), BF),
    ((10240, 1280), BF),
)
add(
    "mlp_relu2",
    lambda x, w, v: functional.relu(x @ w.t()).square() @ v.t(),
    ((4096, 768), BF),
    ((3072, 768), BF),
    ((768, 3072), BF),
)
add(
    "lora",
    lambda x, w, a, b: x @ w.t() + (x @ a.t()) @ b.t() * 2.0,
    ((4096, 4096), BF),
    ((4096, 4096), BF),
    ((16, 4096), BF),
    ((4096, 16), BF),
)
add(
    "experts",
    lambda x, w: torch.bmm(x, w.transpose(1, 2)),
    ((64, 256, 2048), BF),
    ((64, 1408, 2048), BF),
)
add("matvec", lambda w, x: w @ x, ((14336, 4096), BF), ((4096,), BF))
add(
    "outer_sum",
    lambda a, b: torch.einsum("bi,bj->ij", a, b),
    ((65536, 256), F32),
    ((65536, 256), F32),
)
add(
    "bilinear",
    lambda x, w, y: torch.einsum("bi,oij,bj->bo", x, w, y),
    ((512, 128), F32),
    ((256, 128, 128), F32),
    ((512, 128), F32),
)
add("gram", lambda x: x @ x.transpose(-1, -2), ((16, 512, 16384), F16))
add(
    "softmax_of_linear",
    lambda x, w, b: torch.softmax(functional.linear(x, w, b), -1),
    ((4096, 1024), BF),
    ((8192, 1024), BF),
    ((8192,), BF),
)

# ---- quantised


@case("w8_linear", ((16, 4096), BF), ((11008, 4096), I8), ((11008,), BF))
def w8_linear(x: Any, w: Any, s: Any) -> Any:
    return (x @ w.to(x.dtype).t()) * s


@case("w8_linear_2048", ((2048, 4096), BF), ((11008, 4096), I8), ((11008,), BF))
def w8_linear_2048(x: Any, w: Any, s: Any) -> Any:
    return (x @ w.to(x.dtype).t()) * s


@case("w4_linear", ((16, 4096), BF), ((11008, 2048), torch.uint8), ((11008, 32), BF))
def w4_linear(x: Any, w: Any, s: Any) -> Any:
    v = torch.stack((w & 15, w >> 4), -1).reshape(11008, 32, 128).to(x.dtype) - 8
    return x @ (v * s[..., None]).reshape(11008, 4096).t()


@case("fp8_product", ((4096, 4096), F8), ((4096, 4096), F8))
def fp8_product(x: Any, w: Any) -> Any:
    return (x.float() @ w.float().t()).to(BF)


@case("fp8_blocks", ((4096, 4096), F8), ((4096, 32), F32), ((4096, 4096), F8), ((32, 32), F32))
def fp8_blocks(x: Any, a: Any, w: Any, b: Any) -> Any:
    x = (x.float().reshape(4096, 32, 128) * a[..., None]).reshape(4096, 4096)
    w = (w.float().reshape(32, 128, 32, 128) * b[:, None, :, None]).reshape(4096, 4096)
    return (x.to(BF) @ w.to(BF).t()).to(BF)


@case("int8_product", ((4096, 4096), BF), ((4096, 4096), I8), ((4096,), F32))
def int8_product(x: Any, w: Any, s: Any) -> Any:
    f = x.float()
    a = f.abs().amax(-1, keepdim=True) / 127.0
    q = torch.round(f / a).to(I8)
    return ((q.float() @ w.float().t()) * a * s).to(BF)


@case("quantise_blocks", ((8192, 7168), BF))
def quantise_blocks(x: Any) -> Any:
    f = x.float().reshape(8192, 56, 128)
    s = f.abs().amax(-1, keepdim=True) / 448.0
    return (f / s).to(F8).reshape(8192, 7168), s[..., 0]


@case("quantise_columns", ((4096, 4096), BF))
def quantise_columns(x: Any) -> Any:
    s = x.float().abs().amax(0) / 127.0
    return torch.round(x.float() / s).to(I8), s


# ---- losses and choices


@case("linear_ce_128256", ((2048, 2048), BF), ((128256, 2048), BF), ((2048,), I64))
def linear_ce_128256(x: Any, w: Any, t: Any) -> Any:
    return functional.cross_entropy((x @ w.t()).float(), t, label_smoothing=0.1)


add("lm_head_argmax", lambda x, w: (x @ w.t()).argmax(-1), ((8, 4096), BF), ((128256, 4096), BF))
add(
    "lm_head_top50",
    lambda x, w: torch.topk((x @ w.t()).float(), 50, -1),
    ((4, 4096), BF),
    ((32000, 4096), BF),
)
add("neighbours", lambda x, y: torch.cdist(x, y).min(-1), ((16384, 128), F32), ((4096, 128), F32))
add(
    "kmeans_1024",
    lambda x, c: ((x[:, None] - c[None]) ** 2).sum(-1).argmin(-1),
    ((16384, 32), F32),
    ((1024, 32), F32),
)


@case("clip_loss", ((4096, 512), F32), ((4096, 512), F32))
def clip_loss(a: Any, b: Any) -> Any:
    s = functional.normalize(a, dim=-1) @ functional.normalize(b, dim=-1).t() / 0.07
    t = torch.arange(4096, device=a.device)
    return (functional.cross_entropy(s, t) + functional.cross_entropy(s.t(), t)) / 2


@case("supcon", ((4096, 128), F32), ((4096,), I64))
def supcon(x: Any, label: Any) -> Any:
    x = functional.normalize(x, dim=-1)
    s = x @ x.t() / 0.1
    same = (label[:, None] // 100 == label[None] // 100).float()
    logp = s - torch.logsumexp(s, -1, keepdim=True)
    return -((same * logp).sum(-1) / same.sum(-1)).mean()


@case("focal", ((65536, 80), F32), ((65536, 80), F32))
def focal(x: Any, t: Any) -> Any:
    p = torch.sigmoid(x)
    ce = functional.binary_cross_entropy_with_logits(x, (t > 0).float(), reduction="none")
    return (ce * (1 - p) ** 2).sum(-1).mean()


add(
    "kl",
    lambda p, q: functional.kl_div(
        functional.log_softmax(p, -1),
        functional.log_softmax(q, -1),
        log_target=True,
        reduction="batchmean",
    ),
    ((4096, 32000), F32),
    ((4096, 32000), F32),
)
add(
    "gumbel",
    lambda x, u: (x.float() / 0.7 - torch.log(-torch.log(u.sigmoid()))).argmax(-1),
    ((256, 128256), BF),
    ((256, 128256), F32),
)

# ---- what memory limits


add(
    "batchnorm_relu_pool",
    lambda x, m, v, w, b: functional.max_pool2d(
        functional.relu(functional.batch_norm(x, m, v.abs() + 1, w, b)), 3, 2, 1
    ),
    ((32, 64, 112, 112), BF),
    *(((64,), BF),) * 4,
)
add("softmax_dim1", lambda x: torch.softmax(x, 1), ((64, 1000, 28, 28), F32))
add(
    "log_softmax_gather",
    lambda x, t: torch.log_softmax(x.float(), -1).gather(-1, t[:, None])[:, 0],
    ((8192, 32000), BF),
    ((8192,), I64),
)
add("cumsum_columns", lambda x: x.cumsum(0), ((8192, 4096), F32))
add("cumprod_rows", lambda x: (1 + 0.001 * x).cumprod(1), ((32768, 1024), F32))
add("cummax_rows", lambda x: torch.cummax(x, 1)[0], ((8192, 8192), F32))
add("argmax_middle", lambda x: x.argmax(1), ((64, 512, 1024), F32))
add("sort_rows", lambda x: torch.sort(x, -1)[0], ((8192, 1024), F32))
add("top64", lambda x: torch.topk(x, 64, -1), ((4096, 32000), F32))
add(
    "group_norm_nhwc",
    lambda x, w, b: functional.group_norm(x.permute(0, 3, 1, 2), 32, w, b).permute(0, 2, 3, 1),
    ((16, 64, 64, 256), BF),
    ((256,), BF),
    ((256,), BF),
)
add(
    "gelu_group_norm",
    lambda x, w, b: functional.group_norm(functional.gelu(x), 8, w, b),
    ((128, 64, 66, 66), F32),
    ((64,), F32),
    ((64,), F32),
)
add("global_pool", lambda x: x.mean((2, 3)), ((256, 2048, 7, 7), BF))
add(
    "embedding_norm",
    lambda t, i, w: functional.rms_norm(t[i], (4096,), w),
    ((128256, 4096), BF),
    ((16384,), I64),
    ((4096,), BF),
)
add("transpose_add", lambda x, y: x.t() + y, ((8192, 8192), BF), ((8192, 8192), BF))
add("pixel_shuffle", lambda x: functional.pixel_shuffle(x, 2), ((16, 256, 128, 128), BF))
add(
    "upsample",
    lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"),
    ((16, 64, 128, 128), F32),
)
add("unfold_mean", lambda x: x.unfold(-1, 16, 1).mean(-1), ((4096, 8192), F32))
add(
    "ema",
    lambda x: torch.stack([x[:, max(0, t - 3) : t + 1].mean(1) for t in range(64)], 1),
    ((65536, 64), F32),
)
add("var_mean_axes", lambda x: torch.var_mean(x, (0, 2)), ((256, 512, 784), F32))
add("norm_all", lambda x: x.norm(), ((1 << 26,), F32))
add("histogram", lambda x: functional.one_hot(x % 64, 64).sum(0), ((1 << 22,), I64))
add(
    "rope",
    lambda x, c, s: x * c + torch.cat((-x[..., 64:], x[..., :64]), -1) * s,
    ((4, 32, 4096, 128), BF),
    ((4096, 128), BF),
    ((4096, 128), BF),
)
add(
    "adaln",
    lambda x, s, b: functional.layer_norm(x, (1152,)) * (1 + s[:, None]) + b[:, None],
    ((32, 4096, 1152), BF),
    ((32, 1152), BF),
    ((32, 1152), BF),
)
add("rms_odd", lambda x, w: functional.rms_norm(x, (4097,), w), ((16384, 4097), BF), ((4097,), BF))

# ---- convolutions


for name, x, w, more in (
    ("depthwise_3_s2", (32, 144, 112, 112), (144, 1, 3, 3), {"padding": 1, "stride": 2, "groups": 144}),
    ("depthwise_5", (32, 240, 28, 28), (240, 1, 5, 5), {"padding": 2, "groups": 240}),
    ("depthwise_7_convnext", (32, 96, 56, 56), (96, 1, 7, 7), {"padding": 3, "groups": 96}),
    ("grouped", (32, 128, 56, 56), (128, 4, 3, 3), {"padding": 1, "groups": 32}),
    ("stem_7", (32, 3, 224, 224), (64, 3, 7, 7), {"padding": 3, "stride": 2}),
    ("patches", (64, 3, 224, 224), (768, 3, 16, 16), {"stride": 16}),
    ("pointwise", (32, 96, 56, 56), (384, 96, 1, 1), {}),
    ("unet", (4, 320, 64, 64), (320, 320, 3, 3), {"padding": 1}),
    ("unet_small", (2, 1280, 16, 16), (1280, 1280, 3, 3), {"padding": 1}),
    ("dilated", (8, 256, 64, 64), (256, 256, 3, 3), {"padding": 2, "dilation": 2}),
):  # fmt: skip
    add(
        name,
        lambda x, w, b, more=more: functional.silu(functional.conv2d(x, w, b, **more)),
        (x, BF),
        (w, BF),
        ((w[0],), BF),
    )

add(
    "conv1d",
    lambda x, w: functional.gelu(functional.conv1d(x, w, padding=1)),
    ((8, 384, 3000), BF),
    ((384, 384, 3), BF),
)
add(
    "conv3d",
    lambda x, w: functional.conv3d(x, w, padding=1),
    ((4, 64, 16, 56, 56), BF),
    ((64, 64, 3, 3, 3), BF),
)
add(
    "causal_conv1d",
    lambda x, w: functional.silu(functional.conv1d(functional.pad(x, (3, 0)), w, groups=4096)),
    ((4, 4096, 2048), BF),
    ((4096, 1, 4), BF),
)
add(
    "conv_transposed_4",
    lambda x, w: functional.conv_transpose2d(x, w, stride=2, padding=1),
    ((16, 256, 64, 64), BF),
    ((256, 128, 4, 4), BF),
)
add(
    "conv_f32",
    lambda x, w, b: functional.relu(functional.conv2d(x, w, b, padding=1)),
    ((16, 256, 28, 28), F32),
    ((256, 256, 3, 3), F32),
    ((256,), F32),
)
