"""The programs of ``named/``: what redfuse is to fuse, one name each.

``python test/e2e/named_programs.py`` writes them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from redfuse.bench import programs
from torch_like import Torch, Value

FOLDER = Path(__file__).parent / "named"
ROWS, COLUMNS = 7, 257

PROGRAMS: dict[str, Callable[[], str]] = {
    "softmax": lambda: programs.softmax(ROWS, COLUMNS),
    "layernorm": lambda: programs.layernorm(ROWS, COLUMNS),
    "rmsnorm": lambda: programs.rmsnorm(ROWS, COLUMNS),
    "variance": lambda: programs.variance(ROWS, COLUMNS),
    "moment_of_inertia": lambda: programs.inertia(ROWS, COLUMNS),
    "cross_entropy": lambda: programs.cross_entropy(ROWS, COLUMNS),
    "attention": lambda: programs.attention(1, 2, 37, 67, 16),
    "attention_softcap": lambda: programs.attention(1, 2, 37, 67, 16, kind="softcap"),
    "attention_alibi": lambda: programs.attention(1, 2, 37, 67, 16, kind="alibi+causal"),
    "attention_gqa": lambda: programs.attention(1, 6, 37, 67, 16, kv_heads=2),
    "attention_mla": lambda: programs.mla_decode(2, 67, heads=5, latent=24, rope=8),
    "routing": lambda: programs.moe_routing(37, 24, 19, 4),
}


def named(function: Callable[[Torch], str]) -> Callable[[Torch], str]:
    """Adds the program that a function writes."""
    PROGRAMS[function.__name__] = lambda: function(Torch())
    return function


def _moments(p: Torch, *powers: int) -> list[Value]:
    """Central moments of the rows of the first argument, as n x 1."""
    x = p.argument(ROWS, COLUMNS)
    away = p.centred(x, [1])
    return [p.mean(p.power(away, n), [1], keepdim=True) for n in powers]


@named
def groupnorm(p: Torch) -> str:
    """torch.nn.functional.group_norm of 2 x 6 x 5 x 7 in 3 groups, with weight and bias."""
    x, weight, bias = p.argument(2, 6, 5, 7), p.argument(6), p.argument(6)
    parts = p.expand(x, [[0], [1, 2], [3], [4]], [2, 3, 2, 5, 7])
    away = p.centred(parts, [2, 3, 4])
    variance = p.mean(p.mul(away, away), [2, 3, 4], keepdim=True)
    normal = p.mul(away, p.unary("math.rsqrt", p.add(variance, 1e-5)))
    whole = p.collapse(normal, [[0], [1, 2], [3], [4]])
    tall = [[0, 1, 2]]
    scaled = p.mul(whole, p.expand(weight, tall, [6, 1, 1]))
    return p.text(p.add(scaled, p.expand(bias, tall, [6, 1, 1])))


@named
def standard_deviation(p: Torch) -> str:
    """torch.std: squares in f64, divided by n - 1."""
    x = p.argument(ROWS, COLUMNS)
    away = p.centred(p.cast(x, "f64"), [1])
    total = p.sum(p.mul(away, away), [1])
    return p.text(p.cast(p.unary("math.sqrt", p.div(total, COLUMNS - 1.0)), "f32"))


@named
def skewness(p: Torch) -> str:
    """mean(d^3) / mean(d^2)^1.5."""
    second, third = _moments(p, 2, 3)
    return p.text(p.div(third, p.mul(second, p.unary("math.sqrt", second))))


@named
def kurtosis(p: Torch) -> str:
    """mean(d^4) / mean(d^2)^2."""
    second, fourth = _moments(p, 2, 4)
    return p.text(p.div(fourth, p.mul(second, second)))


def _pair(p: Torch) -> tuple[Value, Value]:
    return (
        p.centred(p.argument(ROWS, COLUMNS), [1]),
        p.centred(p.argument(ROWS, COLUMNS), [1]),
    )


@named
def covariance(p: Torch) -> str:
    """mean((x - mean(x)) (y - mean(y)))."""
    x, y = _pair(p)
    return p.text(p.mean(p.mul(x, y), [1]))


@named
def pearson(p: Torch) -> str:
    """The correlation of the rows of x and y."""
    x, y = _pair(p)
    together = p.sum(p.mul(x, y), [1])
    apart = p.mul(p.sum(p.mul(x, x), [1]), p.sum(p.mul(y, y), [1]))
    return p.text(p.div(together, p.unary("math.sqrt", apart)))


@named
def weighted_mean(p: Torch) -> str:
    """sum(w x) / sum(w), w an exponential of its argument."""
    x, w = p.argument(ROWS, COLUMNS), p.exp(p.argument(ROWS, COLUMNS))
    return p.text(p.div(p.sum(p.mul(w, x), [1]), p.sum(w, [1])))


@named
def log_sum_exp(p: Torch) -> str:
    """torch.logsumexp."""
    return p.text(p.squeeze(p.logsumexp(p.argument(ROWS, COLUMNS)), 1))


@named
def entropy(p: Torch) -> str:
    """-sum(softmax(x) log_softmax(x))."""
    logs = p.log_softmax(p.argument(ROWS, COLUMNS))
    return p.text(p.unary("arith.negf", p.sum(p.mul(p.exp(logs), logs), [1])))


@named
def kl_divergence(p: Torch) -> str:
    """sum(p (log p - log q)) of two rows of logits."""
    x, y = (p.log_softmax(p.argument(ROWS, COLUMNS)) for _ in range(2))
    return p.text(p.sum(p.mul(p.exp(x), p.sub(x, y)), [1]))


@named
def cosine_similarity(p: Torch) -> str:
    """torch.nn.functional.cosine_similarity."""
    x, y = p.argument(ROWS, COLUMNS), p.argument(ROWS, COLUMNS)
    lengths = p.mul(p.sum(p.mul(x, x), [1]), p.sum(p.mul(y, y), [1]))
    together = p.sum(p.mul(x, y), [1])
    return p.text(p.div(together, p.unary("math.sqrt", p.clamp_min(lengths, 1e-16))))


@named
def min_max(p: Torch) -> str:
    """(x - min) / (max - min)."""
    x = p.argument(ROWS, COLUMNS)
    low, high = p.min_last(x), p.max_last(x)
    return p.text(p.div(p.sub(x, low), p.sub(high, low)))


def _attend(p: Torch, scores: Value, value: Value) -> Value:
    return p.batch_matmul(p.softmax_last(scores), value)


def _heads(p: Torch) -> tuple[Value, Value, Value]:
    return p.argument(2, 37, 16), p.argument(2, 67, 16), p.argument(2, 67, 16)


@named
def attention_bias(p: Torch) -> str:
    """softmax(q k^T / 4 + bias) v, a bias for each score."""
    q, k, v = _heads(p)
    bias = p.argument(37, 67)
    return p.text(_attend(p, p.add(p.scores(q, k, 0.25), bias), v))


@named
def attention_window(p: Torch) -> str:
    """Each query sees itself and the 12 keys before it."""
    q, k, v = _heads(p)
    rows, columns = p.positions(37, 67)
    body = [
        "%d = arith.subi %in0, %in1 : i64",
        f"%r = arith.cmpi sge, %d, {p.constant(13, 'i64')} : i64",
    ]
    past = p.pointwise([rows, columns], body, "%r", "i1")
    mask = p.pointwise(
        [past, p.compare("slt", rows, columns)], ["%r = arith.ori %in0, %in1 : i1"], "%r", "i1"
    )
    return p.text(_attend(p, p.masked(p.scores(q, k, 0.25), mask), v))


@named
def attention_sink(p: Torch) -> str:
    """A logit for each head takes part in the softmax, and its weight is dropped."""
    q, k, v = _heads(p)
    sink = p.unsqueeze(p.unsqueeze(p.argument(2), 1), 2)
    scores = p.scores(q, k, 0.25)
    top = p.pointwise([p.max_last(scores), sink], ["%r = arith.maximumf %in0, %in1 : f32"], "%r")
    raised = p.exp(p.sub(scores, top))
    total = p.add(p.sum(raised, [2], keepdim=True), p.exp(p.sub(sink, top)))
    return p.text(p.batch_matmul(p.div(raised, total), v))


@named
def attention_log_sum_exp(p: Torch) -> str:
    """Attention that returns the log-sum-exp of the scores too."""
    q, k, v = _heads(p)
    scores = p.scores(q, k, 0.25)
    top = p.max_last(scores)
    raised = p.exp(p.sub(scores, top))
    total = p.sum(raised, [2], keepdim=True)
    out = p.batch_matmul(p.div(raised, total), v)
    return p.text(out, p.squeeze(p.add(p.log(total), top), 2))


@named
def attention_sigmoid(p: Torch) -> str:
    """sigmoid(q k^T / 4 - log n) v."""
    q, k, v = _heads(p)
    return p.text(p.batch_matmul(p.sigmoid(p.sub(p.scores(q, k, 0.25), math.log(67))), v))


@named
def linear_attention_decay(p: Torch) -> str:
    """sum over j <= i of decay[h]^(i - j) (q_i k_j) v_j, the decay as its logarithm."""
    q, k, v = p.argument(2, 37, 16), p.argument(2, 37, 16), p.argument(2, 37, 8)
    rate = p.unsqueeze(p.unsqueeze(p.argument(2), 1), 2)
    rows, columns = p.positions(37, 37)
    apart = p.pointwise([rows, columns], ["%r = arith.subi %in0, %in1 : i64"], "%r")
    decay = p.exp(p.mul(p.unary("arith.negf", p.unary("math.absf", rate)), p.cast(apart, "f32")))
    decayed = p.masked(decay, p.compare("slt", rows, columns), 0.0)
    return p.text(p.batch_matmul(p.mul(p.scores(q, k, 1.0), decayed), v))


@named
def layernorm_gemm(p: Torch) -> str:
    """layer_norm(x) w + b."""
    x, w, b = p.argument(19, 64), p.argument(64, 23), p.argument(23)
    away = p.centred(x, [1])
    variance = p.mean(p.mul(away, away), [1], keepdim=True)
    normal = p.mul(away, p.unary("math.rsqrt", p.add(variance, 1e-5)))
    return p.text(p.add(p.matmul(normal, w), b))


@named
def rmsnorm_gemm(p: Torch) -> str:
    """rms_norm(x) w."""
    x, w = p.argument(19, 64), p.argument(64, 23)
    mean = p.mean(p.mul(x, x), [1], keepdim=True)
    return p.text(p.matmul(p.mul(x, p.unary("math.rsqrt", p.add(mean, 1e-6))), w))


@named
def softmax_argmax(p: Torch) -> str:
    """Which expert: the largest weight of a softmax, and where it is."""
    weights = p.softmax_last(p.argument(ROWS, COLUMNS))
    return p.text(*p.argmax_last(weights))


def main() -> None:
    """Writes the programs."""
    for name, text in PROGRAMS.items():
        (FOLDER / f"{name}.mlir").write_text(text())


if __name__ == "__main__":
    main()
