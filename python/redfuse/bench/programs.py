"""The workloads as linalg programs, for any shape, in torch-mlir's spelling. Each function
returns module text."""

from __future__ import annotations

import math

from .builder import Program, Value


def attention(
    batch: int,
    heads: int,
    q: int,
    kv: int,
    dim: int,
    dtype: str = "f32",
    kv_heads: int | None = None,
    kind: str = "none",
    window: int = 4096,
    sums: bool = False,
) -> str:
    """softmax(q k^T / sqrt(dim)) v.

    kind: what happens to the scores: words among "causal", "alibi" (a slope for each head is a
        fourth argument), "softcap" (50 tanh(s / 50)) and "window" (the last ``window`` keys),
        joined by "+", or "none". sums: whether the logarithms of the sums of the scores'
        exponentials are a second result, in f32.
    """
    kv_heads = kv_heads or heads
    p = Program()
    query = p.argument(batch, heads, q, dim, dtype=dtype)
    key = p.argument(batch, kv_heads, kv, dim, dtype=dtype)
    value = p.argument(batch, kv_heads, kv, dim, dtype=dtype)
    words = kind.split("+")
    slopes = p.argument(heads, dtype="f32") if "alibi" in words else None
    if kv_heads != heads:
        key, value = repeat_heads(p, key, heads), repeat_heads(p, value, heads)
    scores = p.bmm4(query, p.transpose(key, [0, 1, 3, 2]))
    scores = p.with_scalar("divf", p.cast(scores, "f32"), math.sqrt(dim))
    if "softcap" in words:
        capped = p.unary("math.tanh", p.with_scalar("divf", scores, 50.0, f64=False))
        scores = p.with_scalar("mulf", capped, 50.0, f64=False)
    if "alibi" in words:
        scores = p.binary("addf", scores, _alibi(p, slopes, q, kv))  # type: ignore[arg-type]
    if "causal" in words or "window" in words:
        mask = _mask(p, q, kv, "causal" in words, window if "window" in words else None)
        infinity = p.constant("dense<0xFF800000>", "tensor<f32>")
        scores = p.pointwise(
            [mask, Value(infinity, (), "f32"), scores],
            ["%r = arith.select %in0, %in1, %in2 : f32"],
            "%r",
            "f32",
        )
    if not sums:
        return p.text(p.bmm4(p.cast(p.softmax_last(scores), dtype), value))
    most = p.max_last(scores)
    raised = p.unary("math.exp", p.binary("subf", scores, most))
    total = p.sum(raised, [3], keepdim=True)
    weights = p.cast(p.binary("divf", raised, total), dtype)
    logs = p.binary("addf", p.unary("math.log", total), most)
    return p.text(p.bmm4(weights, value), p.collapse(logs, [[0], [1], [2, 3]]))


def repeat_heads(p: Program, a: Value, heads: int) -> Value:
    """``a`` of shape batch x kv_heads x rows x dim, each of its heads several times in a row."""
    batch, kv_heads, rows, dim = a.shape
    out = p.empty([batch, kv_heads, heads // kv_heads, rows, dim], a.dtype)
    wide = p.generic(
        [a], ["d0, d1, d3, d4", "d0, d1, d2, d3, d4"], out, ["parallel"] * 5, [], "%in0"
    )
    return p.collapse(wide, [[0], [1, 2], [3], [4]])


def positions(p: Program, q: int, kv: int) -> tuple[Value, Value]:
    """Row and column numbers as i64 of shapes q x 1 and 1 x kv; the last row sees the last
    column."""
    rows = p.arange(q)
    if kv != q:
        offset = p.constant(kv - q, "i64")
        rows = p.pointwise([rows], [f"%r = arith.addi %in0, {offset} : i64"], "%r")
    return p.unsqueeze(rows, 1), p.unsqueeze(p.arange(kv), 0)


def _mask(p: Program, q: int, kv: int, causal: bool, window: int | None) -> Value:
    """i1 of shape q x kv: where a score is not wanted."""
    rows, columns = positions(p, q, kv)
    parts = []
    if causal:
        parts.append(
            p.pointwise([rows, columns], ["%r = arith.cmpi slt, %in0, %in1 : i64"], "%r", "i1")
        )
    if window is not None:
        size = p.constant(window, "i64")
        body = ["%d = arith.subi %in0, %in1 : i64", f"%r = arith.cmpi sge, %d, {size} : i64"]
        parts.append(p.pointwise([rows, columns], body, "%r", "i1"))
    if len(parts) == 1:
        return parts[0]
    return p.pointwise(parts, ["%r = arith.ori %in0, %in1 : i1"], "%r", "i1")


def _alibi(p: Program, slopes: Value, q: int, kv: int) -> Value:
    """slope[h] * (j - i) of shape heads x q x kv."""
    rows, columns = positions(p, q, kv)
    distance = p.pointwise([columns, rows], ["%r = arith.subi %in0, %in1 : i64"], "%r")
    heads = slopes.shape[0]
    tall = p.expand(slopes, [[0, 1, 2]], [heads, 1, 1])
    return p.binary("mulf", tall, p.cast(distance, "f32"))


def mla_decode(
    batch: int, kv: int, heads: int = 128, latent: int = 512, rope: int = 64, dtype: str = "f32"
) -> str:
    """One query of all heads on a shared latent; the values are its first ``latent`` columns."""
    p = Program()
    query = p.argument(batch, heads, latent + rope, dtype=dtype)
    cache = p.argument(batch, kv, latent + rope, dtype=dtype)
    scores = p.batch_matmul(query, p.transpose(cache, [0, 2, 1]))
    scores = p.with_scalar("divf", p.cast(scores, "f32"), math.sqrt(192.0), f64=False)
    weights = p.cast(p.softmax_last(scores), dtype)
    return p.text(p.batch_matmul(weights, p.slice(cache, [batch, kv, latent])))


def moe_routing(rows: int, hidden: int, experts: int, topk: int, dtype: str = "f32") -> str:
    """softmax(x w), then the ``topk`` largest with their indices."""
    p = Program()
    x, w = p.argument(rows, hidden, dtype=dtype), p.argument(hidden, experts, dtype=dtype)
    weights = p.softmax_last(p.cast(p.matmul(x, w), "f32"))
    return p.text(*p.topk_last(weights, topk))


def quant_gemm(m: int, n: int, k: int) -> str:
    """Rows of x scaled by their largest magnitude to int8's range and rounded, times int8
    weights, scaled back."""
    p = Program()
    x, w, scale = p.argument(m, k), p.argument(k, n, dtype="i8"), p.argument(n)
    least = p.constant(1e-12, "f64")
    largest = p.max_last(p.unary("math.absf", x))
    largest = p.pointwise(
        [largest],
        [f"%s = arith.truncf {least} : f64 to f32", "%c = arith.cmpf ult, %in0, %s : f32",
         "%r = arith.select %c, %s, %in0 : f32"],
        "%r",
    )  # fmt: skip
    one = p.constant(1.0, "f32")
    inverse = p.pointwise([largest], [f"%r = arith.divf {one}, %in0 : f32"], "%r")
    scaled = p.binary("mulf", x, p.with_scalar("mulf", inverse, 127.0, f64=False))
    low, high = p.constant(-127.0, "f32"), p.constant(127.0, "f32")
    rounded = p.pointwise(
        [p.unary("math.roundeven", scaled)],
        [f"%a = arith.cmpf ult, %in0, {low} : f32", f"%b = arith.select %a, {low}, %in0 : f32",
         f"%c = arith.cmpf ugt, %b, {high} : f32", f"%r = arith.select %c, {high}, %b : f32"],
        "%r",
    )  # fmt: skip
    product = p.matmul(rounded, p.cast(w, "f32"))
    product = p.binary("mulf", product, p.with_scalar("divf", largest, 127.0, f64=False))
    return p.text(p.binary("mulf", product, scale))


def variance(batch: int, n: int) -> str:
    """mean((x - mean(x)) ** 2) of each row."""
    p = Program()
    x = p.argument(batch, n)
    centred = p.binary("subf", x, p.mean(x, [1], keepdim=True))
    return p.text(p.mean(p.square(centred), [1]))


def inertia(batch: int, n: int) -> str:
    """Moment of inertia of n masses m at points x about their centre."""
    p = Program()
    mass, points = p.argument(batch, n), p.argument(batch, n, 3)
    weighted = p.binary("mulf", p.unsqueeze(mass, 2), points)
    centre = p.binary("divf", p.sum(weighted, [1]), p.sum(mass, [1], keepdim=True))
    away = p.square(p.binary("subf", points, p.unsqueeze(centre, 1)))
    return p.text(p.sum(p.binary("mulf", mass, p.sum(away, [2])), [1]))


def softmax(rows: int, columns: int, dtype: str = "f32") -> str:
    """Softmax of each row."""
    p = Program()
    x = p.argument(rows, columns, dtype=dtype)
    return p.text(p.cast(p.softmax_last(p.cast(x, "f32")), dtype))


def layernorm(rows: int, columns: int, dtype: str = "f32") -> str:
    """torch.nn.functional.layer_norm with weight and bias: its variance in f64, as torch-mlir
    writes it."""
    p = Program()
    x = p.argument(rows, columns, dtype=dtype)
    weight, bias = p.argument(columns, dtype=dtype), p.argument(columns, dtype=dtype)
    wide = p.cast(x, "f64")
    centred = p.binary("subf", wide, p.mean(wide, [1], keepdim=True))
    spread = p.cast(p.mean(p.binary("mulf", centred, centred), [1], keepdim=True), "f32")
    narrow = p.cast(x, "f32")
    mean = p.mean(narrow, [1], keepdim=True)
    inverse = p.unary("math.rsqrt", p.with_scalar("addf", spread, 1e-5))
    normal = p.binary("mulf", p.binary("subf", narrow, mean), inverse)
    scaled = p.binary("mulf", normal, p.cast(weight, "f32"))
    return p.text(p.cast(p.binary("addf", scaled, p.cast(bias, "f32")), dtype))


def rmsnorm(rows: int, columns: int, dtype: str = "f32") -> str:
    """x * rsqrt(mean(x * x) + 1e-6) * weight."""
    p = Program()
    x, weight = p.argument(rows, columns, dtype=dtype), p.argument(columns, dtype=dtype)
    wide = p.cast(x, "f32")
    mean = p.mean(p.binary("mulf", wide, wide), [1], keepdim=True)
    inverse = p.unary("math.rsqrt", p.with_scalar("addf", mean, 1e-6))
    scaled = p.binary("mulf", p.binary("mulf", wide, inverse), p.cast(weight, "f32"))
    return p.text(p.cast(scaled, dtype))


def cross_entropy(rows: int, columns: int, dtype: str = "f32") -> str:
    """-log_softmax(x)[row, label[row]] of each row."""
    p = Program()
    x, labels = p.argument(rows, columns, dtype=dtype), p.argument(rows, dtype="i64")
    wide = p.cast(x, "f32")
    shifted = p.binary("subf", wide, p.max_last(wide))
    total = p.unary("math.log", p.sum(p.unary("math.exp", shifted), [1], keepdim=True))
    logs = p.binary("subf", shifted, total)
    limit, zero = p.constant(columns, "index"), p.constant(0, "i64")
    start = p.full([rows, 1], 0.0, "f32")
    picked = p.generic(
        [p.unsqueeze(labels, 1)], ["d0, d1", "d0, d1"], start, ["parallel"] * 2,
        ["%i = linalg.index 0 : index", "%j = arith.index_cast %in0 : i64 to index",
         f"%c = arith.cmpi slt, %j, {limit} : index",
         'cf.assert %c, "index must be smaller than dim size"',
         f"%d = arith.cmpi sge, %in0, {zero} : i64",
         'cf.assert %d, "index must be larger or equal to 0"',
         f"%e = tensor.extract {logs.name}[%i, %j] : {logs.type}"],
        "%e",
    )  # fmt: skip
    return p.text(p.unary("arith.negf", p.collapse(picked, [[0, 1]])))


def linear_cross_entropy(rows: int, hidden: int, classes: int, dtype: str = "f32") -> str:
    """The loss of each row: log(sum(exp(h w^T))) less the label's logit, which is the sum of what
    a comparison of the class with the label leaves. Arguments: h, w of classes x hidden, labels."""
    p = Program()
    h = p.argument(rows, hidden, dtype=dtype)
    w = p.argument(classes, hidden, dtype=dtype)
    labels = p.argument(rows, dtype="i64")
    logits = p.cast(p.matmul(h, p.transpose(w, [1, 0])), "f32")
    most = p.max_last(logits)
    total = p.sum(p.unary("math.exp", p.binary("subf", logits, most)), [1], keepdim=True)
    zero = p.constant("0.0", "f32")
    picked = p.pointwise(
        [logits, p.unsqueeze(labels, 1), p.unsqueeze(p.arange(classes), 0)],
        ["%c = arith.cmpi eq, %in1, %in2 : i64", f"%r = arith.select %c, %in0, {zero} : f32"],
        "%r",
        "f32",
    )
    own = p.sum(picked, [1], keepdim=True)
    loss = p.binary("subf", p.binary("addf", p.unary("math.log", total), most), own)
    return p.text(p.collapse(loss, [[0, 1]]))


def gemm_chain(m: int, n: int, k: int, last: int, dtype: str = "f32") -> str:
    """relu(a b) d."""
    p = Program()
    a, b, d = (p.argument(*s, dtype=dtype) for s in ((m, k), (k, n), (n, last)))
    return p.text(p.matmul(p.relu(p.matmul(a, b)), d))


def gated_ffn(m: int, n: int, k: int, dtype: str = "f32") -> str:
    """(silu(a g) * (a u)) d."""
    p = Program()
    a, gate, up, down = (p.argument(*s, dtype=dtype) for s in ((m, k), (k, n), (k, n), (n, k)))
    hidden = p.binary("mulf", p.silu(p.matmul(a, gate)), p.matmul(a, up))
    return p.text(p.matmul(hidden, down))


def conv_chain(
    batch: int, channels: int, size: int, out1: int, out2: int, k1: int, dtype: str = "f32"
) -> str:
    """A k1 x k1 convolution that keeps the size, relu, a 1 x 1 convolution; NCHW."""
    p = Program()
    x = p.argument(batch, channels, size, size, dtype=dtype)
    w1 = p.argument(out1, channels, k1, k1, dtype=dtype)
    w2 = p.argument(out2, out1, 1, 1, dtype=dtype)
    return p.text(_conv(p, p.relu(_conv(p, _pad(p, x, k1 // 2), w1)), w2))


def _pad(p: Program, x: Value, by: int) -> Value:
    if by == 0:
        return x
    batch, channels, height, width = x.shape
    out = Value("", (batch, channels, height + 2 * by, width + 2 * by), x.dtype)
    zero = p.constant(0.0, x.dtype)
    name = p.emit(f"tensor.pad {x.name} low[0, 0, {by}, {by}] high[0, 0, {by}, {by}] {{")
    p.lines += [
        "    ^bb0(%a: index, %b: index, %c: index, %d: index):",
        f"      tensor.yield {zero} : {x.dtype}",
        f"    }} : {x.type} to {out.type}",
    ]
    return out._replace(name=name)


def _conv(p: Program, x: Value, w: Value) -> Value:
    batch, _, height, width = x.shape
    shape = (batch, w.shape[0], height - w.shape[2] + 1, width - w.shape[3] + 1)
    wide = "f32" if x.dtype in ("f16", "bf16") else x.dtype
    start = p.full(shape, 0.0, wide)
    name = p.emit(
        "linalg.conv_2d_nchw_fchw "
        "{dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} "
        f"ins({x.name}, {w.name} : {x.type}, {w.type}) outs({start.name} : {start.type}) -> "
        f"{start.type}"
    )
    return p.cast(Value(name, shape, wide), x.dtype)
