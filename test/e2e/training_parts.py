"""Parts of training and of evaluation: gradients, losses, statistics, routing. In ``PARTS`` with
those of model_parts.py."""

from __future__ import annotations

from model_parts import _gathered, _rms, part
from torch_like import Torch, Value

ONE_KERNEL = (
    "softmax_gradient", "weighted_moments", "distillation", "entropy_of_logits",
    "difference_of_attentions", "linear_attention", "routing_with_bias", "asymmetric_rows",
)  # fmt: skip


def _softmax_gradient(p: Torch, weights: Value, gradient: Value) -> Value:
    inner = p.sum(p.mul(weights, gradient), [len(weights.shape) - 1], keepdim=True)
    return p.mul(weights, p.sub(gradient, inner))


@part
def softmax_gradient(p: Torch) -> str:
    """Of the scores, from that of the weights."""
    x, gradient = p.argument(7, 29), p.argument(7, 29)
    return p.text(_softmax_gradient(p, p.softmax_last(x), gradient))


@part
def attention_gradients(p: Torch) -> str:
    """Of queries, keys and values."""
    q, k, v, gradient = (p.argument(2, n, 8) for n in (13, 17, 17, 13))
    weights = p.softmax_last(p.scores(q, k, 0.35))
    of_scores = _softmax_gradient(p, weights, p.scores(gradient, v, 1.0))
    of_scores = p.mul(of_scores, 0.35)
    return p.text(
        p.batch_matmul(of_scores, k),
        p.batch_matmul(p.transposed(of_scores), q),
        p.batch_matmul(p.transposed(weights), gradient),
    )


@part
def layernorm_gradients(p: Torch) -> str:
    """Of the rows, and of weight and bias: sums along both dims."""
    x, gradient, weight = p.argument(9, 24), p.argument(9, 24), p.argument(24)
    away = p.centred(x, [1])
    scale = p.unary("math.rsqrt", p.add(p.mean(p.mul(away, away), [1], keepdim=True), 1e-5))
    normed, inner = p.mul(away, scale), p.mul(gradient, weight)
    both = p.mean(p.mul(inner, normed), [1], keepdim=True)
    rest = p.sub(p.centred(inner, [1]), p.mul(normed, both))
    return p.text(
        p.mul(rest, scale), p.sum(p.mul(gradient, normed), [0]), p.sum(gradient, [0])
    )  # fmt: skip


@part
def weighted_moments(p: Torch) -> str:
    """Mean and variance of rows with weights."""
    x, w = p.argument(7, 29), p.sigmoid(p.argument(7, 29))
    total = p.sum(w, [1], keepdim=True)
    mean = p.div(p.sum(p.mul(w, x), [1], keepdim=True), total)
    away = p.sub(x, mean)
    spread = p.div(p.sum(p.mul(w, p.mul(away, away)), [1], keepdim=True), total)
    return p.text(p.squeeze(mean, 1), p.squeeze(spread, 1))


@part
def contrastive_loss(p: Torch) -> str:
    """Cross entropy of similarities with the diagonal, along rows and along columns."""

    def normed(x: Value) -> Value:
        square = p.sum(p.mul(x, x), [1], keepdim=True)
        return p.mul(x, p.unary("math.rsqrt", p.add(square, 1e-6)))

    a, b, labels = p.argument(11, 16), p.argument(11, 16), p.argument(11, dtype="i64")
    scores = p.mul(p.matmul(normed(a), p.transposed(normed(b))), 7.0)
    picked = [_gathered(p, p.log_softmax(s), labels) for s in (scores, p.transposed(scores))]
    return p.text(p.mul(p.mean(p.add(*picked), [0]), -0.5))


@part
def distillation(p: Torch) -> str:
    """KL divergence of softened logits, a number a row."""
    student, teacher = (p.mul(p.argument(7, 29), 0.5) for _ in range(2))
    logs = p.log_softmax(teacher)
    terms = p.mul(p.exp(logs), p.sub(logs, p.log_softmax(student)))
    return p.text(p.mul(p.sum(terms, [1]), 4.0))


@part
def entropy_of_logits(p: Torch) -> str:
    """log-sum-exp minus the mean of the logits by their weights."""
    x = p.argument(7, 29)
    total = p.logsumexp(x)
    return p.text(p.sub(total, p.sum(p.mul(p.exp(p.sub(x, total)), x), [1], keepdim=True)))


@part
def difference_of_attentions(p: Torch) -> str:
    """Two softmaxes of the same values, one subtracted; then an RMS norm of the rows."""
    v, weight = p.argument(2, 17, 8), p.argument(8)
    first, second = (
        p.softmax_last(p.scores(p.argument(2, 13, 4), p.argument(2, 17, 4), 0.5)) for _ in range(2)
    )
    weights = p.sub(first, p.mul(second, 0.3))
    return p.text(_rms(p, p.batch_matmul(weights, v), weight))


@part
def linear_attention(p: Torch) -> str:
    """Positive features, divided by their sum: no softmax."""
    q, k = (p.add(p.relu(p.argument(2, 13, 8)), 0.01) for _ in range(2))
    v = p.argument(2, 13, 6)
    rows, columns = p.positions(13, 13)
    later = p.compare("slt", rows, columns)
    weights = p.masked(p.scores(q, k, 1.0), later, 0.0)
    total = p.sum(weights, [2], keepdim=True)
    return p.text(p.div(p.batch_matmul(weights, v), p.add(total, 1e-6)))


@part
def routing_with_bias(p: Torch) -> str:
    """Experts by sigmoid and a bias, whose own weights sum to 1."""
    x, w, bias = p.argument(7, 16), p.argument(16, 12), p.argument(12)
    gates = p.sigmoid(p.matmul(x, w))
    values, index = p.topk_last(p.add(gates, bias), 4)
    return p.text(p.div(values, p.sum(values, [1], keepdim=True)), index)


@part
def asymmetric_rows(p: Torch) -> str:
    """Rows scaled by their smallest and largest element to [0, 255], rounded, and back."""
    x = p.argument(7, 29)
    least = p.min_last(x)
    scale = p.add(p.mul(p.sub(p.max_last(x), least), 1 / 255), 1e-6)
    steps = p.unary("math.roundeven", p.div(p.sub(x, least), scale))
    return p.text(p.add(p.mul(steps, scale), least))
