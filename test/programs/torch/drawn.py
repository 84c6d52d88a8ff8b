"""Programs of many kinds at shapes that a generator draws: none of them is of anybody's choice.

Each family draws three members with a seed of its own, so a family that is added changes no other.
Others are drawn with the environment variable DRAWN_FROM: from the member of that number on.
"""

from __future__ import annotations

import functools
import itertools
import os
import random
from collections.abc import Callable
from typing import Any

import torch
from cases import Cases
from torch.nn import functional as fn

BF, F16, F32, I64 = torch.bfloat16, torch.float16, torch.float32, torch.int64
C = Cases()
FIRST, MEMBERS = int(os.environ.get("DRAWN_FROM", "0")), 3


class Draw(random.Random):
    """Sizes as models and data have them: mostly round, some odd or prime."""

    def size(self, low: int, high: int) -> int:
        n = int(low * (high / low) ** self.random() ** 0.4)
        kind = self.random()
        if kind < 0.5:
            step = max(s for s in (1, 8, 16, 64, 128) if s <= max(1, low))
            return max(low, n // step * step)
        return n | 1 if kind < 0.8 else n

    def dtype(self) -> torch.dtype:
        return self.choice((BF, BF, F16, F32))

    def rows(self, elements: int, low: int = 32, high: int = 16384) -> tuple[int, int]:
        """Rows and columns of about that many elements."""
        columns = self.size(low, high)
        return max(1, elements // columns), columns


Member = tuple[Callable[..., Any], tuple[Any, ...]]


def draw(name: str, make: Callable[[Draw], Member]) -> None:
    for i in range(FIRST, FIRST + MEMBERS):
        f, specs = make(Draw(f"{name} {i}"))
        C.add(f"{name}_{i}", f, *specs)


def family(make: Callable[[Draw], Member]) -> Callable[[Draw], Member]:
    draw(make.__name__, make)
    return make


# ---- attention
@family
def attention(d: Draw) -> Member:
    keys, group = d.choice((1, 2, 4, 8)), d.choice((1, 1, 2, 4, 7))
    n, depth = d.size(200, 6000), d.choice((40, 64, 80, 96, 128, 192))
    batch, causal, t = max(1, (1 << 23) // (n * n)), d.random() < 0.5, d.choice((BF, F16))
    kv = ((batch, keys, n, depth), t)
    return (
        lambda q, k, v: fn.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True),
        (((batch, keys * group, n, depth), t), kv, kv),
    )


@family
def cross_attention(d: Draw) -> Member:
    batch, heads, depth = d.size(1, 16), d.choice((5, 8, 12)), d.choice((32, 64, 128))
    n, m, t = d.size(100, 4096), d.size(60, 2000), d.choice((BF, F16))

    def f(q: Any, k: Any, v: Any) -> Any:
        q, k, v = (x.unflatten(-1, (heads, depth)).transpose(1, 2) for x in (q, k, v))
        w = torch.softmax(q @ k.transpose(-1, -2) / depth**0.5, -1)
        return (w @ v).transpose(1, 2).flatten(2)

    width = heads * depth
    return f, (((batch, n, width), t), ((batch, m, width), t), ((batch, m, width), t))


@family
def masked_attention(d: Draw) -> Member:
    batch, heads, depth = d.size(1, 8), d.choice((6, 8, 16)), d.choice((64, 80, 128))
    n, t = d.size(100, 3000), d.choice((BF, F32))

    def f(q: Any, k: Any, v: Any, lengths: Any) -> Any:
        keep = torch.arange(n, device=q.device)[None] < lengths[:, None] % n + 1
        s = (q @ k.mT) * depth**-0.5
        s = s.masked_fill(~keep[:, None, None, :], float("-inf"))
        return torch.softmax(s.float(), -1).to(q.dtype) @ v

    x = ((batch, heads, n, depth), t)
    return f, (x, x, x, ((batch,), I64))


@family
def decoding(d: Draw) -> Member:
    batch, keys, group = d.size(1, 64), d.choice((1, 4, 8)), d.choice((1, 4, 8))
    n, depth, t = d.size(500, 20000), d.choice((64, 128)), d.choice((BF, F16))
    kv = ((batch, keys, n, depth), t)
    return (
        lambda q, k, v: fn.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        (((batch, keys * group, 1, depth), t), kv, kv),
    )


@family
def biased_attention(d: Draw) -> Member:
    batch, heads, n, depth = (
        d.size(1, 64),
        d.choice((3, 4, 12)),
        d.size(49, 800),
        d.choice((32, 64)),
    )
    t = d.choice((BF, F16, F32))
    x = ((batch, heads, n, depth), t)
    return (
        lambda q, k, v, b: fn.scaled_dot_product_attention(q, k, v, attn_mask=b),
        (x, x, x, ((1, heads, n, n), t)),
    )


# ---- rows, columns, channels
@family
def softmax(d: Draw) -> Member:
    shape, t = d.rows(1 << d.randint(20, 26), 50, 60000), d.dtype()
    return lambda x: torch.softmax(x, -1), ((shape, t),)


@family
def softmax_of_axis(d: Draw) -> Member:
    shape, t = (d.size(2, 16), d.size(20, 500), d.size(50, 2000)), d.dtype()
    return lambda x: torch.log_softmax(x, 1), ((shape, t),)


@family
def layer_norm(d: Draw) -> Member:
    (n, m), t = d.rows(1 << d.randint(20, 26), 64, 12000), d.dtype()
    return (
        lambda x, r, g, b: fn.layer_norm(x + r, (m,), g, b),
        (((n, m), t), ((n, m), t), ((m,), t), ((m,), t)),
    )


@family
def rms_norm(d: Draw) -> Member:
    (n, m), t = d.rows(1 << d.randint(20, 26), 64, 12000), d.choice((BF, F16))

    def f(x: Any, g: Any) -> Any:
        y = x.float()
        return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)).to(t) * g

    return f, (((n, m), t), ((m,), t))


@family
def group_norm(d: Draw) -> Member:
    groups, size, t = d.choice((4, 16, 32)), d.size(8, 128), d.dtype()
    channels = groups * d.choice((2, 5, 10, 16))
    return (
        lambda x, g, b: fn.silu(fn.group_norm(x, groups, g, b)),
        (((d.size(1, 16), channels, size, size), t), ((channels,), t), ((channels,), t)),
    )


@family
def batch_norm(d: Draw) -> Member:
    channels, size, t = d.size(16, 512), d.size(7, 112), d.choice((F32, BF))
    batch = max(2, (1 << 25) // (channels * size * size))
    return (
        lambda x, g, b: fn.relu(fn.batch_norm(x, None, None, g, b, True)),
        (((batch, channels, size, size), t), ((channels,), F32), ((channels,), F32)),
    )


@family
def instance_norm(d: Draw) -> Member:
    shape, t = (d.size(1, 16), d.size(16, 256), d.size(14, 256), d.size(14, 256)), d.dtype()
    return lambda x: fn.instance_norm(x), ((shape, t),)


@family
def statistics(d: Draw) -> Member:
    axis = d.randint(0, 2)
    shape, t = (d.size(8, 300), d.size(8, 400), d.size(8, 500)), d.choice((F32, BF))
    return lambda x: torch.var_mean(x.float(), axis), ((shape, t),)


@family
def sums(d: Draw) -> Member:
    axes = d.choice(((0,), (1,), (0, 2), (1, 3), (2, 3), (0, 2, 3)))
    shape, t = (d.size(2, 64), d.size(3, 128), d.size(7, 128), d.size(7, 128)), d.dtype()
    return lambda x: (x.float() * x).sum(axes), ((shape, t),)


@family
def extremes(d: Draw) -> Member:
    axis = d.randint(0, 2)
    shape, t = (d.size(8, 128), d.size(8, 600), d.size(8, 600)), d.dtype()
    return lambda x: torch.max(x, axis), ((shape, t),)


@family
def entropy(d: Draw) -> Member:
    (n, m), t = d.rows(1 << d.randint(22, 26), 1000, 60000), d.dtype()

    def f(x: Any) -> Any:
        logs = torch.log_softmax(x.float(), -1)
        return -(logs.exp() * logs).sum(-1)

    return f, (((n, m), t),)


@family
def cross_entropy(d: Draw) -> Member:
    (n, m), t = d.rows(1 << d.randint(22, 26), 100, 60000), d.dtype()
    return lambda x, y: fn.cross_entropy(x.float(), y % m, reduction="none"), (
        ((n, m), t),
        ((n,), I64),
    )


@family
def scan(d: Draw) -> Member:
    (n, m), t, axis = d.rows(1 << d.randint(20, 25), 100, 30000), d.dtype(), d.randint(0, 1)
    op = d.choice((torch.cumsum, torch.logcumsumexp, lambda x, a: torch.cummax(x, a).values))
    return lambda x: op(x, axis), (((n, m), t),)


@family
def top_k(d: Draw) -> Member:
    (n, m), k = d.rows(1 << d.randint(18, 24), 64, 50000), d.choice((2, 4, 8, 20, 50))
    return lambda x: torch.topk(torch.softmax(x, -1), k), (((n, m), F32),)


@family
def sort(d: Draw) -> Member:
    return lambda x: torch.sort(x, dim=-1, stable=True), (
        (d.rows(1 << d.randint(18, 23), 30, 8000), F32),
    )


@family
def distances(d: Draw) -> Member:
    n, m, depth = d.size(500, 20000), d.size(16, 2000), d.size(3, 256)
    return (
        lambda x, y: torch.min(torch.cdist(x, y), -1),
        (((n, depth), F32), ((m, depth), F32)),
    )


# ---- windows, layouts
@family
def pooling(d: Draw) -> Member:
    op = d.choice((fn.max_pool2d, fn.avg_pool2d))
    kernel = d.choice((2, 3, 5))
    stride, pad = d.choice((1, 2, kernel)), kernel // 2
    shape = (d.size(1, 32), d.size(16, 256), d.size(14, 224), d.size(14, 224))
    return lambda x: op(x, kernel, stride, pad), ((shape, d.dtype()),)


@family
def adaptive(d: Draw) -> Member:
    out, shape = d.randint(1, 9), (d.size(1, 32), d.size(32, 512), d.size(14, 100), d.size(14, 100))
    return lambda x: fn.adaptive_avg_pool2d(x, out), ((shape, d.dtype()),)


@family
def permuted(d: Draw) -> Member:
    order = d.sample(range(4), 4)
    shape = (d.size(2, 32), d.size(3, 128), d.size(7, 128), d.size(7, 128))
    return lambda x: (x.permute(order) * 2).contiguous(), ((shape, d.dtype()),)


@family
def joined(d: Draw) -> Member:
    a, b, c = d.size(100, 5000), d.size(10, 5000), d.size(100, 4000)
    t = d.dtype()
    return (
        lambda x, y: torch.cat([fn.relu(x), y * 2], 1).transpose(0, 1).contiguous(),
        (((c, a), t), ((c, b), t)),
    )


@family
def embedding(d: Draw) -> Member:
    words, width, n, t = d.size(1000, 50000), d.size(64, 4096), d.size(100, 16384), d.dtype()

    def f(i: Any, w: Any, p: Any) -> Any:
        return fn.layer_norm(w[i % words] + p, (width,))

    return f, (((8, n // 8 + 1), I64), ((words, width), t), ((n // 8 + 1, width), t))


@family
def resized(d: Draw) -> Member:
    shape, scale = (
        (d.size(1, 16), d.size(3, 256), d.size(14, 128), d.size(14, 128)),
        d.choice((2, 1.5)),
    )
    mode = d.choice(("nearest", "bilinear"))
    return lambda x: fn.interpolate(x, scale_factor=scale, mode=mode), ((shape, d.dtype()),)


@family
def quantised_rows(d: Draw) -> Member:
    (n, m), t = d.rows(1 << d.randint(20, 25), 128, 16000), d.choice((BF, F16))

    def f(x: Any) -> Any:
        s = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
        return (x / s).round().clamp(-128, 127).to(torch.int8), s

    return f, (((n, m), t),)


# ---- products
def activation(d: Draw) -> Callable[[Any], Any]:
    return d.choice((fn.relu, fn.gelu, fn.silu, torch.tanh, torch.sigmoid, lambda x: x))


@family
def linear(d: Draw) -> Member:
    m, n, k, t, a = d.size(16, 8192), d.size(128, 8192), d.size(128, 8192), d.dtype(), activation(d)
    return lambda x, w, b: a(fn.linear(x, w, b)), (((m, k), t), ((n, k), t), ((n,), t))


@family
def few_rows(d: Draw) -> Member:
    m, n, k, t = d.size(1, 24), d.size(512, 16384), d.size(512, 16384), d.choice((BF, F16))
    return lambda x, w: fn.silu(x @ w), (((m, k), t), ((k, n), t))


@family
def batched(d: Draw) -> Member:
    b, m, n, k, t = d.size(2, 128), d.size(32, 1024), d.size(32, 1024), d.size(32, 1024), d.dtype()
    return lambda x, y: torch.einsum("bmk,bnk->bmn", x, y), (((b, m, k), t), ((b, n, k), t))


@family
def tall(d: Draw) -> Member:
    m, n, k, t = d.size(8, 300), d.size(8, 300), d.size(20000, 200000), d.dtype()
    return lambda x, y: x.t() @ y, (((k, m), t), ((k, n), t))


@family
def gated(d: Draw) -> Member:
    m, n, k, t = d.size(8, 4096), d.size(512, 8192), d.size(256, 4096), d.choice((BF, F16))

    def f(x: Any, g: Any, u: Any, w: Any) -> Any:
        return (fn.gelu(x @ g) * (x @ u)) @ w

    return f, (((m, k), t), ((k, n), t), ((k, n), t), ((n, k), t))


@family
def normed_linear(d: Draw) -> Member:
    m, n, k, t = d.size(32, 8192), d.size(128, 8192), d.size(256, 4096), d.choice((BF, F16, F32))
    return lambda x, w, g: fn.linear(fn.layer_norm(x, (k,), g), w), (
        ((m, k), t),
        ((n, k), t),
        ((k,), t),
    )


@family
def linear_softmax(d: Draw) -> Member:
    m, n, k, t = d.size(64, 4096), d.size(100, 4000), d.size(128, 4096), d.dtype()
    return lambda x, w: torch.softmax(fn.linear(x, w), -1), (((m, k), t), ((n, k), t))


@family
def head_loss(d: Draw) -> Member:
    m, n, k, t = d.size(256, 4096), d.size(5000, 60000), d.size(256, 4096), d.choice((BF, F16))
    return (
        lambda x, w, y: fn.cross_entropy((x @ w.t()).float(), y % n),
        (((m, k), t), ((n, k), t), ((m,), I64)),
    )


# ---- chains behind a convolution or a layer, as a network has them
def tail(d: Draw, dims: int) -> Callable[[Any], Any]:
    """Two to four operations over results of shape (batch, channels, *dims)."""
    image = tuple(range(2, 2 + dims))
    steps: list[Callable[[Any], Any]] = [
        lambda x: fn.relu(x), lambda x: fn.gelu(x), lambda x: x * torch.sigmoid(x),
        lambda x: torch.tanh(fn.softplus(x)) * x, lambda x: x * 0.5 + 1.5, lambda x: torch.clamp(x, -1, 1),
        lambda x: fn.leaky_relu(x, 0.1), lambda x: fn.hardswish(x), lambda x: x - x.mean(1, keepdim=True),
        lambda x: fn.softmax(x, 1), lambda x: torch.logsumexp(x, 1, keepdim=True),
    ]  # fmt: skip
    if dims:
        steps += [
            lambda x: fn.instance_norm(x), lambda x: x.mean(image, keepdim=True),
            lambda x: fn.group_norm(x, 4 if x.shape[1] % 4 == 0 else 1),
            lambda x: torch.amin(x, 1, keepdim=True),
        ]  # fmt: skip
    else:
        steps += [lambda x: fn.layer_norm(x, x.shape[1:]), lambda x: torch.amax(x, 1, keepdim=True)]
    if dims == 2:
        steps += [lambda x: fn.max_pool2d(x, 2) if min(x.shape[2:]) > 1 else x]
    chosen = d.sample(steps, d.randint(2, 4))

    def f(x: Any) -> Any:
        for step in chosen:
            x = step(x)
        return x

    return f


def convolution(d: Draw, dims: int, transposed: bool) -> Member:
    op = getattr(fn, f"conv{'_transpose' if transposed else ''}{dims}d")
    kernel, stride, t = d.choice((1, 3, 3, 4, 5)), d.choice((1, 1, 2)), d.choice((F32, BF, F16))
    channels, filters = d.size(3, 128), d.size(8, 160)
    image = d.size(*((200, 8000), (16, 130), (8, 32))[dims - 1])
    batch = max(1, (1 << 23) // (channels * image**dims))
    follow = tail(d, dims)
    weights = (channels, filters) if transposed else (filters, channels)
    return (
        lambda x, w, b: follow(op(x, w, b, stride=stride, padding=kernel // 2)),
        (
            ((batch, channels) + (image,) * dims, t),
            (weights + (kernel,) * dims, t),
            ((filters,), t),
        ),
    )


for name, dims, transposed in (
    ("conv1d_chain", 1, False), ("conv2d_chain", 2, False), ("conv2d_chain_more", 2, False),
    ("conv3d_chain", 3, False), ("transposed2d_chain", 2, True), ("transposed3d_chain", 3, True),
):  # fmt: skip
    draw(name, functools.partial(convolution, dims=dims, transposed=transposed))


@family
def grouped_conv(d: Draw) -> Member:
    groups, each, t = d.choice((2, 8, 32)), d.choice((4, 8, 16)), d.choice((BF, F32))
    channels, image, stride = groups * each, d.size(14, 112), d.choice((1, 2))
    return (
        lambda x, w, b: fn.relu(fn.conv2d(x, w, b, stride=stride, padding=1, groups=groups)),
        (
            ((d.size(1, 32), channels, image, image), t),
            ((channels, each, 3, 3), t),
            ((channels,), t),
        ),
    )


@family
def depthwise_conv(d: Draw) -> Member:
    channels, image, t, k = (
        d.size(32, 512),
        d.size(14, 112),
        d.choice((BF, F32)),
        d.choice((3, 5, 7)),
    )
    return (
        lambda x, w, b: fn.hardswish(fn.conv2d(x, w, b, padding=k // 2, groups=channels)),
        (((d.size(1, 32), channels, image, image), t), ((channels, 1, k, k), t), ((channels,), t)),
    )


@family
def linear_chain(d: Draw) -> Member:
    m, n, k, t, follow = d.size(64, 4096), d.size(64, 8192), d.size(64, 8192), d.dtype(), tail(d, 0)
    return lambda x, w, b: follow(fn.linear(x, w, b)), (((m, k), t), ((n, k), t), ((n,), t))


draw("linear_chain_more", linear_chain)


@family
def perceptron(d: Draw) -> Member:
    widths, m, t = [d.size(32, 4096) for _ in range(d.randint(3, 5))], d.size(1, 2048), d.dtype()

    def f(x: Any, *weights: Any) -> Any:
        for w in weights[:-1]:
            x = fn.relu(fn.linear(x, w))
        return fn.linear(x, weights[-1])

    pairs = itertools.pairwise(widths)
    return f, (((m, widths[0]), t), *(((b, a), t) for a, b in pairs))
