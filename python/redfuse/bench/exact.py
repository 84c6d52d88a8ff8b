"""fp64 results of the workloads by NumPy, in pieces: generators of (output number, index, exact
values).

They are written from the formulas, independent of the compiler, and of a size that a test or a
benchmark can
afford: a large case is checked on a sample of its rows, drawn with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

Piece = tuple[int, Any, numpy.ndarray]
_BLOCK = 1 << 22  # elements of a piece: 32 MB of f64
_BUDGET = 2e10  # flops of a check: seconds


def error(pieces: Iterator[Piece], outputs: Sequence[Any]) -> float:
    """Largest difference over the largest exact magnitude, over all outputs; infinite for
    misplaced NaN or inf.

    Integer outputs count 0 where equal or where the values there tie, else infinity.
    """
    difference: dict[int, float] = {}
    scale: dict[int, float] = {}
    for number, index, want in pieces:
        got = numpy.asarray(outputs[number])[index]
        if want.dtype.kind in "iu":
            difference[number] = max(
                difference.get(number, 0.0), float((got != want).mean() > 1e-3)
            )
            scale[number] = 1.0
            continue
        got = got.astype(numpy.float64)
        with numpy.errstate(invalid="ignore"):
            off = numpy.where(
                (got == want) | (numpy.isnan(got) & numpy.isnan(want)), 0.0, numpy.abs(got - want)
            )
        largest = float(off.max(initial=0.0))
        difference[number] = max(
            difference.get(number, 0.0), math.inf if math.isnan(largest) else largest
        )
        scale[number] = max(
            scale.get(number, 0.0), float(numpy.abs(want[numpy.isfinite(want)]).max(initial=0.0))
        )
    return max((difference[n] / (scale[n] or 1.0) for n in difference), default=0.0)


def wide(array: Any) -> numpy.ndarray:
    """As f64."""
    return numpy.asarray(array).astype(numpy.float64)


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of rows of about a block each."""
    step = max(1, _BLOCK // max(columns, 1))
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))


def softmax_rows(x: numpy.ndarray) -> numpy.ndarray:
    """Softmax over the last dim; rows of minus infinity alone are NaN, as in PyTorch's
    decomposition."""
    with numpy.errstate(invalid="ignore"):
        e = numpy.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


def attention(inputs: Sequence[Any], kind: str) -> Iterator[Piece]:
    """Sampled heads and rows of programs.attention."""
    q, k, v = inputs[:3]
    batch, heads, rows, dim = q.shape
    kv_heads, kv = k.shape[1], k.shape[2]
    words = kind.split("+")
    random = numpy.random.default_rng(1)
    pairs = [(b, h) for b in range(batch) for h in range(heads)]
    per_row = 4.0 * kv * dim
    take_rows = rows if rows * per_row <= _BUDGET / 4 else max(64, int(_BUDGET / 4 / per_row))
    take_rows = min(rows, take_rows, max(1, 4 * _BLOCK // kv))
    count = max(1, min(len(pairs), int(_BUDGET / (take_rows * per_row))))
    for pick in random.choice(len(pairs), count, replace=False):
        b, h = pairs[pick]
        start = int(random.integers(0, rows - take_rows + 1))
        part = slice(start, start + take_rows)
        scores = wide(q[b, h, part]) @ wide(k[b, h * kv_heads // heads]).T / math.sqrt(dim)
        if "softcap" in words:
            scores = 50.0 * numpy.tanh(scores / 50.0)
        i = numpy.arange(start, start + take_rows)[:, None] + (kv - rows)
        j = numpy.arange(kv)[None, :]
        if "alibi" in words:
            scores = scores + float(inputs[3][h]) * (j - i)
        if "causal" in words:
            scores = numpy.where(i < j, -numpy.inf, scores)
        if "window" in words:
            scores = numpy.where(i - j >= 4096, -numpy.inf, scores)
        yield 0, (b, h, part), softmax_rows(scores) @ wide(v[b, h * kv_heads // heads])


def mla_decode(inputs: Sequence[Any]) -> Iterator[Piece]:
    """Two of the batches of programs.mla_decode."""
    q, cache = inputs
    for b in sorted({0, q.shape[0] - 1}):
        c = wide(cache[b])
        scores = wide(q[b]) @ c.T / math.sqrt(192.0)
        yield 0, b, softmax_rows(scores) @ c[:, : q.shape[2] - 64]


def moe_routing(inputs: Sequence[Any], topk: int) -> Iterator[Piece]:
    """Values and indices of programs.moe_routing."""
    x, w = inputs
    p = softmax_rows(wide(x) @ wide(w))
    order = numpy.argsort(-p, axis=-1, kind="stable")[:, :topk]
    yield 0, ..., numpy.take_along_axis(p, order, -1)
    yield 1, ..., order.astype(numpy.int64)


def quant_gemm(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.quant_gemm on some rows; the quantised rows are rounded from f32, as the program
    does."""
    x, w, scale = inputs
    rows = numpy.random.default_rng(1).choice(x.shape[0], min(64, x.shape[0]), replace=False)
    part = numpy.asarray(x)[rows]
    largest = numpy.maximum(numpy.abs(part).max(-1, keepdims=True), numpy.float32(1e-12))
    rounded = numpy.clip(
        numpy.rint(part * (numpy.float32(1) / largest * numpy.float32(127))), -127, 127
    )
    yield 0, rows, wide(rounded) @ wide(w) * (wide(largest) / 127.0) * wide(scale)


def variance(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.variance."""
    (x,) = inputs
    for part in row_blocks(*x.shape):
        yield 0, part, wide(x[part]).var(-1)


def inertia(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.inertia."""
    mass, points = inputs
    for part in row_blocks(mass.shape[0], 3 * mass.shape[1]):
        m, x = wide(mass[part]), wide(points[part])
        centre = (m[..., None] * x).sum(1) / m.sum(1, keepdims=True)
        yield 0, part, (m * ((x - centre[:, None]) ** 2).sum(-1)).sum(-1)


def softmax(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.softmax."""
    (x,) = inputs
    for part in row_blocks(*x.shape):
        yield 0, part, softmax_rows(wide(x[part]))


def layernorm(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.layernorm."""
    x, weight, bias = inputs
    for part in row_blocks(*x.shape):
        a = wide(x[part])
        mean, spread = a.mean(-1, keepdims=True), a.var(-1, keepdims=True)
        yield 0, part, (a - mean) / numpy.sqrt(spread + 1e-5) * wide(weight) + wide(bias)


def rmsnorm(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.rmsnorm."""
    x, weight = inputs
    for part in row_blocks(*x.shape):
        a = wide(x[part])
        yield 0, part, a / numpy.sqrt((a * a).mean(-1, keepdims=True) + 1e-6) * wide(weight)


def cross_entropy(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.cross_entropy."""
    x, labels = inputs
    for part in row_blocks(*x.shape):
        a = wide(x[part])
        a = a - a.max(-1, keepdims=True)
        picked = numpy.take_along_axis(a, numpy.asarray(labels)[part][:, None], -1)[:, 0]
        yield 0, part, numpy.log(numpy.exp(a).sum(-1)) - picked


def gemm_chain(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.gemm_chain."""
    a, b, d = map(wide, inputs)
    yield 0, ..., numpy.maximum(a @ b, 0.0) @ d


def gated_ffn(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.gated_ffn."""
    a, gate, up, down = map(wide, inputs)
    g = a @ gate
    yield 0, ..., (g / (1.0 + numpy.exp(-g)) * (a @ up)) @ down


def conv_chain(inputs: Sequence[Any]) -> Iterator[Piece]:
    """programs.conv_chain."""
    x, w1, w2 = map(wide, inputs)
    by = w1.shape[2] // 2
    padded = numpy.pad(x, [(0, 0), (0, 0), (by, by), (by, by)])
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, w1.shape[2:], axis=(2, 3))
    hidden = numpy.maximum(numpy.einsum("bchwij,ocij->bohw", windows, w1, optimize=True), 0.0)
    yield 0, ..., numpy.einsum("bchw,oc->bohw", hidden, w2[:, :, 0, 0], optimize=True)
