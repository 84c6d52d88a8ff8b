"""Programs of the kinds and at the sizes that users have: name -> what writes it."""

from __future__ import annotations

from collections.abc import Callable

from redfuse.bench import programs as bench
from redfuse.bench.builder import Value
from windows import Windows

PROGRAMS: dict[str, Callable[[], str]] = {}
Write = Callable[[Windows, str], Value | tuple[Value, ...]]


def program(*dtypes: str) -> Callable[[Write], Write]:
    """Adds a program for each element type: ``write(p, dtype)`` returns its results."""

    def add(write: Write) -> Write:
        for dtype in dtypes:

            def make(dtype: str = dtype) -> str:
                p = Windows()
                results = write(p, dtype)
                return p.text(
                    *(
                        results
                        if isinstance(results, tuple) and not isinstance(results, Value)
                        else (results,)
                    )
                )

            PROGRAMS[f"{write.__name__}-{dtype}"] = make
        return write

    return add


def linear(p: Windows, x: Value, columns: int, bias: bool = True) -> Value:
    """torch.nn.functional.linear, its weights as further arguments."""
    w = p.argument(columns, x.shape[-1], dtype=x.dtype)
    made = p.matmul(x, p.transpose(w, [1, 0]))
    return p.add(made, p.argument(columns, dtype=x.dtype)) if bias else made


# ---- products and what follows them


@program("f32", "bf16")
def product(p: Windows, t: str) -> Value:
    """4096 x 4096 x 4096."""
    return p.matmul(p.argument(4096, 4096, dtype=t), p.argument(4096, 4096, dtype=t))


@program("f32")
def product_odd(p: Windows, t: str) -> Value:
    """No extent is a multiple of anything."""
    return p.matmul(p.argument(8205, 2949, dtype=t), p.argument(2949, 5921, dtype=t))


@program("f32", "bf16")
def product_long(p: Windows, t: str) -> Value:
    """Few results, sums of half a million."""
    return p.matmul(p.argument(256, 524288, dtype=t), p.argument(524288, 256, dtype=t))


@program("f32")
def product_both_transposed(p: Windows, t: str) -> Value:
    """Both operands the other way round."""
    a, b = p.argument(8192, 2048, dtype=t), p.argument(4096, 8192, dtype=t)
    return p.matmul(p.transpose(a, [1, 0]), p.transpose(b, [1, 0]))


@program("f32")
def product_vector(p: Windows, t: str) -> Value:
    """A matrix times a vector."""
    return p.matmul(p.argument(2048, 1048576, dtype=t), p.argument(1048576, 1, dtype=t))


@program("f32", "bf16")
def product_clamp_logsumexp(p: Windows, t: str) -> Value:
    """A product, scaled and clamped in its own type, and the logarithm of a sum of exponentials."""
    x = p.clamp_min(p.mul(linear(p, p.argument(1024, 8192, dtype=t), 8192, bias=False), 2.0), -10.0)
    return p.cast(p.logsumexp(p.cast(x, "f32")), t)


@program("bf16")
def product_added_to_itself(p: Windows, t: str) -> Value:
    """Twice the product, rounded each time, then a sum of rows."""
    x = linear(p, p.argument(1024, 4096, dtype=t), 2048)
    return p.sum(p.cast(p.add(p.mul(x, 2.0), x), "f32"), [1])


@program("f32", "bf16")
def product_sigmoid_sum(p: Windows, t: str) -> Value:
    """The sum of each row of sigmoids."""
    return p.sum(p.sigmoid(linear(p, p.argument(128, 32768, dtype=t), 32768)), [1], keepdim=True)


@program("f32", "bf16")
def product_group_norm(p: Windows, t: str) -> Value:
    """Columns in 16 groups, normalised, clamped."""
    x = p.cast(linear(p, p.argument(1024, 8192, dtype=t), 8192), "f32")
    groups = p.expand(x, [[0], [1, 2]], (1024, 16, 512))
    away = p.centred(groups, [2])
    scale = p.unary("math.rsqrt", p.add(p.mean(p.mul(away, away), [2], keepdim=True), 1e-5))
    return p.cast(p.clamp_min(p.collapse(p.mul(away, scale), [[0], [1, 2]]), -2.0), t)


@program("f32", "bf16")
def product_max_pool_sum(p: Windows, t: str) -> Value:
    """The larger of neighbouring columns, summed, scaled."""
    x = linear(p, p.argument(128, 32768, dtype=t), 32768)
    pairs = p.expand(x, [[0], [1, 2]], (128, 16384, 2))
    least = 0xFF800000 if t == "f32" else 0xFF80
    return p.mul(p.sum(p.reduce("maximumf", pairs, f"0x{least:X}", [2]), [1]), 0.5)


@program("f32", "bf16")
def deep_mlp(p: Windows, t: str) -> Value:
    """16 narrow layers between two wide ones."""
    x = p.argument(1024, 8192, dtype=t)
    for _ in range(16):
        x = p.relu(linear(p, x, 1024))
    return linear(p, x, 8192)


@program("f32", "bf16")
def wide_mlp(p: Windows, t: str) -> Value:
    """Three layers."""
    x = p.argument(128, 16384, dtype=t)
    for columns in (16384, 16384):
        x = p.relu(linear(p, x, columns))
    return linear(p, x, 8192)


# ---- convolutions


@program("f32", "bf16")
def conv_bias_relu(p: Windows, t: str) -> Value:
    """A convolution as in a network for images."""
    x, w = p.argument(32, 256, 56, 56, dtype=t), p.argument(256, 256, 3, 3, dtype=t)
    return p.relu(p.conv(x, w, p.argument(256, dtype=t), padding=1))


@program("f32", "bf16")
def conv_first_layer(p: Windows, t: str) -> Value:
    """Three channels, windows of 11, stride 4."""
    x, w = p.argument(256, 3, 224, 224, dtype=t), p.argument(96, 3, 11, 11, dtype=t)
    return p.relu(p.conv(x, w, p.argument(96, dtype=t), padding=2, stride=4))


@program("f32", "bf16")
def conv_instance_norm(p: Windows, t: str) -> Value:
    """A convolution whose channels are normalised, divided by a number."""
    x, w = p.argument(128, 64, 128, 128, dtype=t), p.argument(128, 64, 3, 3, dtype=t)
    y = p.conv(x, w, p.argument(128, dtype=t))
    away = p.centred(p.cast(y, "f32"), [2, 3])
    scale = p.unary("math.rsqrt", p.add(p.mean(p.mul(away, away), [2, 3], keepdim=True), 1e-5))
    return p.div(p.cast(p.mul(away, scale), t), 2.0)


@program("f32", "bf16")
def conv_min_tanh(p: Windows, t: str) -> Value:
    """The least channel, and its tangent twice."""
    x, w = p.argument(128, 16, 256, 256, dtype=t), p.argument(64, 16, 3, 3, dtype=t)
    y = p.conv(x, w, p.argument(64, dtype=t))
    least = p.reduce("minimumf", y, "0x7F800000" if t == "f32" else "0x7F80", [1])
    return p.unary("math.tanh", p.unary("math.tanh", least))


@program("f32", "bf16")
def conv3d_softmax(p: Windows, t: str) -> Value:
    """A convolution in space, and a softmax over channels."""
    x, w = p.argument(128, 3, 24, 32, 32, dtype=t), p.argument(24, 3, 3, 3, 3, dtype=t)
    y = p.cast(p.conv(x, w, p.argument(24, dtype=t)), "f32")
    return p.cast(p.softmax_last(p.transpose(y, [0, 2, 3, 4, 1])), t)


@program("f32", "bf16")
def conv_transposed2d(p: Windows, t: str) -> Value:
    """Stride 2, clamped."""
    x, w = p.argument(128, 64, 128, 128, dtype=t), p.argument(64, 64, 3, 3, dtype=t)
    return p.clamp_min(p.conv_transposed(x, w, padding=1, stride=2), -1.0)


@program("f32", "bf16")
def conv_transposed3d(p: Windows, t: str) -> Value:
    """In space, less its mean over space."""
    x, w = p.argument(16, 16, 32, 32, 32, dtype=t), p.argument(16, 32, 3, 3, 3, dtype=t)
    return p.centred(p.conv_transposed(x, w, padding=1, stride=2), [2, 3, 4])


@program("f32", "bf16")
def depthwise(p: Windows, t: str) -> Value:
    """Windows of 7, each channel by itself."""
    return p.depthwise(p.argument(64, 384, 56, 56, dtype=t), p.argument(384, 7, 7, dtype=t), 3)


# ---- pooling


@program("f32", "bf16")
def max_pool3d(p: Windows, t: str) -> Value:
    """Windows of 3 that overlap."""
    return p.pool(p.argument(16, 32, 128, 128, 128, dtype=t), 3, 2, padding=1)


@program("f32")
def average_pool3d(p: Windows, t: str) -> Value:
    """Windows of 3 that overlap."""
    return p.pool(p.argument(16, 32, 128, 128, 256, dtype=t), 3, 2, padding=1, kind="average")


@program("f32")
def max_pool1d(p: Windows, t: str) -> Value:
    """Long rows."""
    return p.pool(p.argument(64, 192, 65536, dtype=t), 8, 1, padding=4)


# ---- rows, norms, losses


@program("f32", "bf16")
def softmax(p: Windows, t: str) -> Value:
    """Rows of 393216."""
    return p.softmax_last(p.argument(4096, 393216, dtype=t))


@program("f32")
def batch_norm_of_itself(p: Windows, t: str) -> Value:
    """As in training."""
    x = p.argument(64, 256, 56, 56, dtype=t)
    away = p.centred(x, [0, 2, 3])
    return p.mul(
        away, p.unary("math.rsqrt", p.add(p.mean(p.mul(away, away), [0, 2, 3], keepdim=True), 1e-5))
    )


@program("f32")
def instance_norm(p: Windows, t: str) -> Value:
    """Images of 512 x 512."""
    x = p.argument(112, 64, 512, 512, dtype=t)
    away = p.centred(x, [2, 3])
    return p.mul(
        away, p.unary("math.rsqrt", p.add(p.mean(p.mul(away, away), [2, 3], keepdim=True), 1e-5))
    )


@program("f32")
def argmax_columns(p: Windows, t: str) -> tuple[Value, ...]:
    """Of the middle dim."""
    x = p.argument(128, 4096, 4095, dtype=t)
    return p.argmax_last(p.transpose(x, [0, 2, 1]))


@program("f32", "bf16")
def norm_product_softmax_chain(p: Windows, t: str) -> Value:
    """A norm, a product and a softmax over its columns."""
    x = p.argument(2048, 4096, dtype=t)
    f = p.cast(x, "f32")
    scale = p.unary("math.rsqrt", p.add(p.mean(p.mul(f, f), [1], keepdim=True), 1e-6))
    return p.softmax_last(p.cast(linear(p, p.cast(p.mul(f, scale), t), 6144, bias=False), "f32"))


PROGRAMS |= {
    "attention-bf16": lambda: bench.attention(4, 16, 2048, 2048, 128, "bf16", None, "causal"),
    "attention-f32": lambda: bench.attention(4, 16, 2048, 2048, 128, "f32", None, "none"),
    "attention-odd-bf16": lambda: bench.attention(3, 12, 3000, 3000, 80, "bf16", None, "none"),
    "cross_entropy-bf16": lambda: bench.cross_entropy(8192, 128256, "bf16"),
}
