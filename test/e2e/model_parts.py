"""Parts of models, written as torch-mlir writes them: what people run that the corpus lacks."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch_like import Torch, Value

PARTS: dict[str, Callable[[], str]] = {}


def part(function: Callable[[Torch], str]) -> Callable[[Torch], str]:
    """Adds the program that a function writes."""
    PARTS[function.__name__] = lambda: function(Torch())
    return function


@part
def gelu_mlp(p: Torch) -> str:
    """Two linear layers with an erf gelu between."""
    x, w, b, v = p.argument(13, 24), p.argument(24, 37), p.argument(37), p.argument(37, 11)
    return p.text(p.matmul(p.gelu(p.add(p.matmul(x, w), b)), v))


@part
def gelu_tanh(p: Torch) -> str:
    """The tanh form of gelu, with math.powf."""
    x = p.argument(5, 33)
    cube = p.pointwise([x], [f"%r = math.powf %in0, {p.constant(3.0, 'f32')} : f32"], "%r")
    inner = p.mul(p.add(x, p.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
    return p.text(p.mul(p.mul(x, p.add(p.unary("math.tanh", inner), 1.0)), 0.5))


def _rms(p: Torch, x: Value, weight: Value) -> Value:
    mean = p.mean(p.mul(x, x), [len(x.shape) - 1], keepdim=True)
    return p.mul(p.mul(x, p.unary("math.rsqrt", p.add(mean, 1e-6))), weight)


def _rotated(p: Torch, x: Value, cos: Value, sin: Value) -> Value:
    """x cos + rotate_half(x) sin."""
    half = x.shape[-1] // 2
    left = p.part(x, [0] * len(x.shape), [*x.shape[:-1], half])
    right = p.part(x, [*[0] * (len(x.shape) - 1), half], [*x.shape[:-1], half])
    turned = p.concat([p.unary("arith.negf", right), left], len(x.shape) - 1)
    return p.add(p.mul(x, cos), p.mul(turned, sin))


@part
def rope_attention(p: Torch) -> str:
    """RMS norm of queries and keys, rotary positions, causal attention."""
    q, k, v = (p.argument(2, 19, 16) for _ in range(3))
    cos, sin, weight = p.argument(19, 16), p.argument(19, 16), p.argument(16)
    q, k = (_rotated(p, _rms(p, x, weight), cos, sin) for x in (q, k))
    rows, columns = p.positions(19, 19)
    scores = p.masked(p.scores(q, k, 0.25), p.compare("slt", rows, columns))
    return p.text(p.batch_matmul(p.softmax_last(scores), v))


@part
def padding_mask_attention(p: Torch) -> str:
    """Keys that are padding; rows with nothing left are 0."""
    q, k, v, mask = (
        p.argument(2, 9, 8),
        p.argument(2, 23, 8),
        p.argument(2, 23, 8),
        p.argument(2, 23, dtype="i1"),
    )
    scores = p.masked(p.scores(q, k, 0.35), p.unsqueeze(mask, 1))
    weights = p.softmax_last(scores)
    least = p.constant("0xFF800000", "f32")
    dead = p.pointwise([scores], [f"%r = arith.cmpf oeq, %in0, {least} : f32"], "%r", "i1")
    every = p.generic(
        [dead], ["d0, d1, d2", "d0, d1, 0"], p.full([2, 9, 1], True, "i1"),
        ["parallel", "parallel", "reduction"], ["%r = arith.andi %in0, %out : i1"], "%r",
    )  # fmt: skip
    return p.text(p.batch_matmul(p.where(every, p.scalar(0.0), weights), v))


@part
def large_negative_mask(p: Torch) -> str:
    """A causal mask of the most negative finite number, added."""
    q, k, v = (p.argument(2, 17, 8) for _ in range(3))
    rows, columns = p.positions(17, 17)
    least = p.scalar(-3.4028234663852886e38)
    bias = p.where(p.compare("slt", rows, columns), least, p.scalar(0.0))
    return p.text(p.batch_matmul(p.softmax_last(p.add(p.scores(q, k, 0.3), bias)), v))


@part
def bf16_scores_attention(p: Torch) -> str:
    """Everything in bf16: scores, weights and values."""
    q, k, v = (p.argument(2, 17, 16, dtype="bf16") for _ in range(3))
    scores = p.with_scalar("mulf", p.batch_matmul(q, p.transposed(k)), 0.25)
    return p.text(p.batch_matmul(p.cast(p.softmax_last(p.cast(scores, "f32")), "bf16"), v))


def _channel_norm(p: Torch, dims: list[int], groups: bool = False) -> Value:
    x, weight, bias = p.argument(3, 4, 5, 7), p.argument(4), p.argument(4)
    parts = p.expand(x, [[0], [1, 2], [3], [4]], [3, 2, 2, 5, 7]) if groups else x
    away = p.centred(parts, dims)
    variance = p.mean(p.mul(away, away), dims, keepdim=True)
    normal = p.mul(away, p.unary("math.rsqrt", p.add(variance, 1e-5)))
    if groups:
        normal = p.collapse(normal, [[0], [1, 2], [3], [4]])
    tall = [[0, 1, 2]]
    scaled = p.mul(normal, p.expand(weight, tall, [4, 1, 1]))
    return p.add(scaled, p.expand(bias, tall, [4, 1, 1]))


@part
def groupnorm_silu(p: Torch) -> str:
    """silu(group_norm(x))."""
    return p.text(p.silu(_channel_norm(p, [2, 3, 4], groups=True)))


@part
def batchnorm_training(p: Torch) -> str:
    """Statistics over batch and image."""
    return p.text(_channel_norm(p, [0, 2, 3]))


@part
def instance_norm(p: Torch) -> str:
    """Statistics of each image and channel."""
    return p.text(_channel_norm(p, [2, 3]))


@part
def batchnorm_inference(p: Torch) -> str:
    """Running statistics, folded by nobody."""
    x, mean, variance = p.argument(3, 4, 5, 7), p.argument(4), p.argument(4)
    tall = [[0, 1, 2]]
    scale = p.unary("math.rsqrt", p.add(p.unary("math.absf", variance), 1e-5))
    away = p.sub(x, p.expand(mean, tall, [4, 1, 1]))
    return p.text(p.mul(away, p.expand(scale, tall, [4, 1, 1])))


def _gathered(p: Torch, rows: Value, labels: Value) -> Value:
    """rows[i, labels[i]]."""
    body = ["%i = linalg.index 0 : index", "%j = arith.index_cast %in0 : i64 to index",
            f"%e = tensor.extract {rows.name}[%i, %j] : {rows.type}"]  # fmt: skip
    out = p.empty(labels.shape, rows.dtype)
    return p.generic([labels], ["d0", "d0"], out, ["parallel"], body, "%e")


@part
def nll_loss(p: Torch) -> str:
    """mean(-log_softmax(x)[label])."""
    x, labels = p.argument(11, 23), p.argument(11, dtype="i64")
    picked = _gathered(p, p.log_softmax(x), labels)
    return p.text(p.unary("arith.negf", p.mean(picked, [0])))


@part
def label_smoothing(p: Torch) -> str:
    """0.9 nll + 0.1 mean(-log_softmax)."""
    x, labels = p.argument(11, 23), p.argument(11, dtype="i64")
    logs = p.log_softmax(x)
    picked, smooth = _gathered(p, logs, labels), p.mean(logs, [1])
    mixed = p.add(p.mul(picked, 0.9), p.mul(smooth, 0.1))
    return p.text(p.unary("arith.negf", p.mean(mixed, [0])))


@part
def linear_cross_entropy(p: Torch) -> str:
    """Logits of a linear layer, their log-sum-exp less the label's."""
    x, w, labels = p.argument(11, 16), p.argument(16, 29), p.argument(11, dtype="i64")
    logits = p.matmul(x, w)
    return p.text(p.sub(p.squeeze(p.logsumexp(logits), 1), _gathered(p, logits, labels)))


@part
def binary_cross_entropy(p: Torch) -> str:
    """With logits: mean(max(x, 0) - x y + log1p(exp(-|x|)))."""
    x, y = p.argument(7, 31), p.argument(7, 31)
    small = p.exp(p.unary("arith.negf", p.unary("math.absf", x)))
    loss = p.add(p.sub(p.relu(x), p.mul(x, y)), p.unary("math.log1p", small))
    return p.text(p.mean(loss, [0, 1]))


@part
def softplus(p: Torch) -> str:
    """log1p(exp(x)), x itself above 20; then the mean of each row."""
    x = p.argument(5, 31)
    soft = p.unary("math.log1p", p.exp(x))
    limit = p.constant(20.0, "f32")
    above = p.pointwise([x], [f"%r = arith.cmpf ogt, %in0, {limit} : f32"], "%r", "i1")
    return p.text(p.mean(p.where(above, x, soft), [1]))


@part
def normalised_similarity(p: Torch) -> str:
    """Rows divided by their lengths, all dot products, scaled."""
    x, y = p.argument(9, 24), p.argument(13, 24)

    def unit(a: Value) -> Value:
        length = p.unary("math.sqrt", p.sum(p.mul(a, a), [1], keepdim=True))
        return p.div(a, p.clamp_min(length, 1e-12))

    return p.text(p.mul(p.matmul(unit(x), p.transpose(unit(y), [1, 0])), 14.0))


@part
def nearest_neighbour(p: Torch) -> str:
    """The smallest distance to any of the points, and which."""
    x, y = p.argument(9, 5), p.argument(23, 5)
    away = p.sub(p.unsqueeze(x, 1), p.unsqueeze(y, 0))
    far = p.unary("math.sqrt", p.sum(p.mul(away, away), [2]))
    value, index = p.argmax_last(p.unary("arith.negf", far))
    return p.text(p.unary("arith.negf", value), index)


@part
def softmax_over_rows(p: Torch) -> str:
    """Over dim 0 of a matrix."""
    x = p.argument(37, 6)
    raised = p.exp(p.sub(x, p.unsqueeze(p.reduce("maximumf", x, -math.inf, [0]), 0)))
    return p.text(p.div(raised, p.sum(raised, [0], keepdim=True)))


@part
def softmax_over_the_middle(p: Torch) -> str:
    """Over dim 1 of three."""
    x = p.argument(3, 37, 5)
    raised = p.exp(p.sub(x, p.unsqueeze(p.reduce("maximumf", x, -math.inf, [1]), 1)))
    return p.text(p.div(raised, p.sum(raised, [1], keepdim=True)))


@part
def masked_mean_pooling(p: Torch) -> str:
    """sum(x mask) / max(sum(mask), 1e-9) over positions."""
    x, mask = p.argument(3, 29, 8), p.argument(3, 29, dtype="i1")
    kept = p.pointwise([mask], ["%r = arith.uitofp %in0 : i1 to f32"], "%r", "f32")
    total = p.sum(p.mul(x, p.unsqueeze(kept, 2)), [1])
    return p.text(p.div(total, p.clamp_min(p.sum(kept, [1], keepdim=True), 1e-9)))


@part
def attention_pooling(p: Torch) -> str:
    """Positions weighed by a learned score."""
    x, w = p.argument(3, 29, 8), p.argument(8)
    scores = p.sum(p.mul(p.unary("math.tanh", x), w), [2])
    weights = p.softmax_last(scores)
    return p.text(p.sum(p.mul(x, p.unsqueeze(weights, 2)), [1]))


@part
def gating(p: Torch) -> str:
    """The two best experts' weights, made to add up to one."""
    weights = p.softmax_last(p.argument(13, 8))
    best, index = p.topk_last(weights, 2)
    return p.text(p.div(best, p.sum(best, [1], keepdim=True)), index)


@part
def lstm_cell(p: Torch) -> str:
    """One step: gates of a linear layer of input and state."""
    x, h, c = p.argument(5, 12), p.argument(5, 7), p.argument(5, 7)
    w, u, b = p.argument(12, 28), p.argument(7, 28), p.argument(28)
    gates = p.add(p.add(p.matmul(x, w), p.matmul(h, u)), b)
    i, f, g, o = (p.part(gates, [0, 7 * n], [5, 7]) for n in range(4))
    kept = p.mul(p.sigmoid(f), c)
    cell = p.add(kept, p.mul(p.sigmoid(i), p.unary("math.tanh", g)))
    return p.text(p.mul(p.sigmoid(o), p.unary("math.tanh", cell)), cell)


@part
def cumulative_sum(p: Torch) -> str:
    """torch.cumsum over the last dim."""
    x = p.argument(5, 23)
    out, start = p.empty((5, 23), "f32"), p.full((5,), 0.0, "f32")
    name = f"%{p.count}"
    p.count += 1
    p.lines += [
        f"    {name}:2 = tm_tensor.scan dimension(1) inclusive(true) ins({x.name} : {x.type}) "
        f"outs({out.name}, {start.name} : {out.type}, {start.type}) {{",
        "    ^bb0(%a: f32, %b: f32):", "      %s = arith.addf %b, %a : f32",
        "      tm_tensor.yield %s : f32", f"    }} -> {out.type}, {start.type}",
    ]  # fmt: skip
    return p.text(Value(f"{name}#0", out.shape, "f32"))


@part
def argmax_of_all(p: Torch) -> str:
    """torch.max of the flattened image, for each of a batch, and where it is."""
    x = p.argument(3, 7, 11)
    return p.text(*p.argmax_last(p.collapse(x, [[0], [1, 2]])))


@part
def var_mean(p: Torch) -> str:
    """torch.var_mean(x, 1): by n - 1, in f64."""
    x = p.argument(5, 31)
    away = p.centred(p.cast(x, "f64"), [1])
    spread = p.div(p.sum(p.mul(away, away), [1]), 30.0)
    return p.text(p.cast(spread, "f32"), p.mean(x, [1]))


@part
def quantise_rows(p: Torch) -> str:
    """To int8 by the largest of each row, and back."""
    x = p.argument(7, 29)
    largest = p.max_last(p.unary("math.absf", x))
    scale = p.mul(p.clamp_min(largest, 1e-5), 1 / 127)
    whole = p.unary("math.roundeven", p.div(x, scale))
    low, high = p.constant(-128.0, "f32"), p.constant(127.0, "f32")
    held = p.pointwise(
        [whole],
        [f"%a = arith.cmpf ult, %in0, {low} : f32", f"%b = arith.select %a, {low}, %in0 : f32",
         f"%c = arith.cmpf ugt, %b, {high} : f32", f"%d = arith.select %c, {high}, %b : f32",
         "%r = arith.fptosi %d : f32 to i8"],
        "%r", "i8",
    )  # fmt: skip
    back = p.pointwise([held], ["%r = arith.sitofp %in0 : i8 to f32"], "%r", "f32")
    return p.text(p.mul(back, scale))


@part
def embedding_layernorm(p: Torch) -> str:
    """Rows of a table by number, normalised."""
    table, tokens = p.argument(31, 16), p.argument(11, dtype="i64")
    body = ["%j = arith.index_cast %in0 : i64 to index", "%k = linalg.index 1 : index",
            f"%e = tensor.extract {table.name}[%j, %k] : {table.type}"]  # fmt: skip
    x = p.generic(
        [tokens], ["d0", "d0, d1"], p.empty((11, 16), "f32"), ["parallel"] * 2, body, "%e"
    )
    away = p.centred(x, [1])
    variance = p.mean(p.mul(away, away), [1], keepdim=True)
    return p.text(p.mul(away, p.unary("math.rsqrt", p.add(variance, 1e-5))))


def _pool(p: Torch, op: str, x: Value, start: float) -> Value:
    window = p.empty((2, 2), "f32")
    shape = (x.shape[0], x.shape[1], x.shape[2] // 2, x.shape[3] // 2)
    out = p.full(shape, start, "f32")
    name = p.emit(
        f"linalg.pooling_nchw_{op} {{dilations = dense<1> : vector<2xi64>, strides = dense<2> : "
        f"vector<2xi64>}} ins({x.name}, {window.name} : {x.type}, {window.type}) "
        f"outs({out.name} : {out.type}) -> {out.type}"
    )
    return Value(name, shape, "f32")


@part
def conv_pools(p: Torch) -> str:
    """A convolution, relu, maximum pooling; and average pooling of the same."""
    x, w, b = p.argument(2, 3, 10, 12), p.argument(4, 3, 3, 3), p.argument(4)
    hidden = p.relu(p.add(p.convolve(x, w), p.expand(b, [[0, 1, 2]], [4, 1, 1])))
    return p.text(_pool(p, "max", hidden, -math.inf), p.mul(_pool(p, "sum", hidden, 0.0), 0.25))


@part
def depthwise_conv(p: Torch) -> str:
    """A filter a channel, then a hard swish."""
    x, w = p.argument(2, 4, 9, 11), p.argument(4, 3, 3)
    out = p.full((2, 4, 7, 9), 0.0, "f32")
    name = p.emit(
        "linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = "
        f"dense<1> : vector<2xi64>}} ins({x.name}, {w.name} : {x.type}, {w.type}) "
        f"outs({out.name} : {out.type}) -> {out.type}"
    )
    y = Value(name, out.shape, "f32")
    zero, six = p.constant(0.0, "f32"), p.constant(6.0, "f32")
    gate = p.pointwise(
        [p.add(y, 3.0)],
        [f"%a = arith.maximumf %in0, {zero} : f32", f"%r = arith.minimumf %a, {six} : f32"], "%r",
    )  # fmt: skip
    return p.text(p.div(p.mul(y, gate), 6.0))


@part
def squeeze_and_excite(p: Torch) -> str:
    """Channels weighed by a small network of their means."""
    x, w, v = p.argument(2, 6, 5, 7), p.argument(6, 3), p.argument(3, 6)
    means = p.mean(x, [2, 3])
    weights = p.sigmoid(p.matmul(p.relu(p.matmul(means, w)), v))
    return p.text(p.mul(x, p.unsqueeze(p.unsqueeze(weights, 2), 3)))


@part
def padded_conv_norm(p: Torch) -> str:
    """A padded convolution, then the norm of each image."""
    x, w = p.argument(2, 3, 7, 9), p.argument(4, 3, 3, 3)
    y = p.convolve(p.pad(x, 1), w)
    away = p.centred(y, [1, 2, 3])
    variance = p.mean(p.mul(away, away), [1, 2, 3], keepdim=True)
    return p.text(p.mul(away, p.unary("math.rsqrt", p.add(variance, 1e-5))))


@part
def int8_linear(p: Torch) -> str:
    """int8 by int8 in i32, scaled to floats, then the largest of each row."""
    x, w, scale = p.argument(9, 24, dtype="i8"), p.argument(24, 11, dtype="i8"), p.argument(11)
    product = p.matmul(p.widened(x), p.widened(w))
    values = p.mul(p.cast(product, "f32"), scale)
    return p.text(*p.argmax_last(values))


@part
def mixture_of_two(p: Torch) -> str:
    """log(sum_k exp(log pi_k - (x - mu_k)^2 / 2)) of every point: mixture densities."""
    x, mu, logits = p.argument(13), p.argument(5), p.argument(5)
    away = p.sub(p.unsqueeze(x, 1), p.unsqueeze(mu, 0))
    logs = p.sub(p.log_softmax(p.unsqueeze(logits, 0)), p.mul(p.mul(away, away), 0.5))
    return p.text(p.mean(p.squeeze(p.logsumexp(logs), 1), [0]))


@part
def embedding_bag(p: Torch) -> str:
    """The largest and the sum of each row of a table that is looked up."""
    table, tokens = p.argument(31, 16), p.argument(11, dtype="i64")
    body = ["%j = arith.index_cast %in0 : i64 to index", "%k = linalg.index 1 : index",
            f"%e = tensor.extract {table.name}[%j, %k] : {table.type}"]  # fmt: skip
    x = p.generic(
        [tokens], ["d0", "d0, d1"], p.empty((11, 16), "f32"), ["parallel"] * 2, body, "%e"
    )
    return p.text(p.sum(x, [1]), p.reduce("maximumf", x, -math.inf, [1]))


@part
def positions_only(p: Torch) -> str:
    """Sums of what is made of positions alone: a mask's rows, a table of sines."""
    rows, columns = p.positions(9, 13)
    seen = p.compare("sle", columns, rows)
    kept = p.pointwise([seen], ["%r = arith.uitofp %in0 : i1 to f32"], "%r", "f32")
    waves = p.unary(
        "math.sin",
        p.cast(p.pointwise([rows, columns], ["%r = arith.muli %in0, %in1 : i64"], "%r"), "f32"),
    )
    x = p.argument(9)
    return p.text(p.mul(p.sum(kept, [1]), x), p.add(p.sum(waves, [1]), x))


@part
def attention_with_sink(p: Torch) -> str:
    """One more score a row, from a learned logit by concatenation, whose weight is dropped."""
    q, k, v, sink = p.argument(2, 13, 8), p.argument(2, 21, 8), p.argument(2, 21, 8), p.argument(2)
    logit = p.add(p.full((2, 13, 1), 0.0, "f32"), p.unsqueeze(p.unsqueeze(sink, 1), 2))
    weights = p.softmax_last(p.concat([p.scores(q, k, 0.35), logit], 2))
    return p.text(p.batch_matmul(p.part(weights, [0, 0, 0], [2, 13, 21]), v))


@part
def attention_appends_to_cache(p: Torch) -> str:
    """A new key and value behind those of the cache, which are returned as well."""
    q, k, v = p.argument(3, 1, 8), p.argument(3, 19, 8), p.argument(3, 19, 8)
    keys = p.concat([k, p.argument(3, 1, 8)], 1)
    values = p.concat([v, p.argument(3, 1, 8)], 1)
    weights = p.softmax_last(p.scores(q, keys, 0.35))
    return p.text(p.batch_matmul(weights, values), keys, values)


@part
def rotated_attention(p: Torch) -> str:
    """Halves of the queries and keys turned by angles, then attention."""
    q, k, v = p.argument(2, 13, 8), p.argument(2, 13, 8), p.argument(2, 13, 6)
    cosines, sines = p.argument(13, 4), p.argument(13, 4)

    def turned(x: Value) -> Value:
        a, b = p.part(x, [0, 0, 0], [2, 13, 4]), p.part(x, [0, 0, 4], [2, 13, 4])
        left = p.sub(p.mul(a, cosines), p.mul(b, sines))
        return p.concat([left, p.add(p.mul(b, cosines), p.mul(a, sines))], 2)

    return p.text(p.batch_matmul(p.softmax_last(p.scores(turned(q), turned(k), 0.35)), v))


@part
def most_likely_renormalised(p: Torch) -> str:
    """The weights of the five most likely, which sum to 1 again, and their numbers."""
    values, index = p.topk_last(p.softmax_last(p.argument(7, 23)), 5)
    return p.text(p.div(values, p.sum(values, [1], keepdim=True)), index)


@part
def covariance(p: Torch) -> str:
    """Of the columns: the mean is needed at rows and at columns of the result."""
    away = p.centred(p.argument(37, 11), [0])
    return p.text(p.mul(p.matmul(p.transposed(away), away), 1 / 36))


@part
def squeeze_of_convolution(p: Torch) -> str:
    """The mean of each channel that a convolution makes, through a matrix."""
    x, w, v = p.argument(2, 3, 8, 9), p.argument(5, 3, 3, 3), p.argument(5, 4)
    return p.text(p.matmul(p.mean(p.relu(p.convolve(x, w)), [2, 3]), v))
