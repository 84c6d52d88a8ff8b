"""Parts of models as torch-mlir writes them by its own decompositions, where those differ from this
package's. In ``PARTS`` with those of model_parts.py."""

from __future__ import annotations

from model_parts import part
from torch_like import Torch, Value

ONE_KERNEL = (
    "attention_op", "attention_op_alone", "groups_flattened", "shared_heads_with_sink",
    "sink_of_narrow_weights", "sink_of_one_batch", "nibbles", "halves_by_tables",
    "parts_of_products",
)  # fmt: skip


def _attend(p: Torch, *inputs: Value) -> Value:
    """The op that torch-mlir leaves for scaled_dot_product_attention."""
    out = p.empty([*inputs[0].shape[:-1], inputs[2].shape[-1]], inputs[0].dtype)
    names, types = (", ".join(getattr(v, k) for v in inputs) for k in ("name", "type"))
    name = p.emit(
        f"tm_tensor.attention ins({names} : {types}) outs({out.name} : {out.type}) -> {out.type}"
    )
    return out._replace(name=name)


@part
def attention_op(p: Torch) -> str:
    """With a causal mask, added."""
    q, k, v = p.argument(2, 13, 8), p.argument(2, 17, 8), p.argument(2, 17, 6)
    rows, columns = p.positions(13, 17)
    later = p.compare("slt", rows, columns)
    mask = p.masked(p.full((2, 13, 17), 0.0, "f32"), later)
    return p.text(_attend(p, q, k, v, mask))


@part
def attention_op_alone(p: Torch) -> str:
    """Without a mask."""
    q, k, v = p.argument(3, 11, 8), p.argument(3, 19, 8), p.argument(3, 19, 8)
    return p.text(p.relu(_attend(p, q, k, v)))


@part
def groups_flattened(p: Torch) -> str:
    """A group norm over channels and image as one dim."""
    x, w = p.argument(2, 6, 5, 7), p.argument(6)
    flat = p.expand(p.collapse(x, [[0], [1, 2, 3]]), [[0], [1, 2]], (2, 2, 105))
    away = p.centred(flat, [2])
    scale = p.unary("math.rsqrt", p.add(p.mean(p.mul(away, away), [2], keepdim=True), 1e-5))
    normed = p.collapse(p.mul(away, scale), [[0], [1, 2]])
    normed = p.expand(normed, [[0], [1, 2, 3]], (2, 6, 5, 7))
    return p.text(p.mul(normed, p.unsqueeze(p.unsqueeze(w, 1), 2)))


@part
def shared_heads_with_sink(p: Torch) -> str:
    """Two heads of queries for each of keys; one more score takes part and is left out."""
    q, k, v, sink = p.argument(4, 9, 8), p.argument(2, 13, 8), p.argument(2, 13, 8), p.argument(4)

    def twice(x: Value) -> Value:
        both = p.generic(
            [x], ["d0, d2, d3", "d0, d1, d2, d3"], p.empty((2, 2, *x.shape[1:]), "f32"),
            ["parallel"] * 4, [], "%in0",
        )  # fmt: skip
        return p.collapse(both, [[0, 1], [2], [3]])

    sinks = p.generic(
        [sink], ["d0", "d0, d1, d2"], p.empty((4, 9, 1), "f32"), ["parallel"] * 3, [], "%in0"
    )
    weights = p.softmax_last(p.concat([p.scores(q, twice(k), 0.35), sinks], 2))
    return p.text(p.batch_matmul(p.part(weights, [0, 0, 0], [4, 9, 13]), twice(v)))


@part
def sink_of_narrow_weights(p: Torch) -> str:
    """One more score as above, of batches and heads; the weights that are left are rounded to 16 bits."""
    q, k, v, sink = (*(p.argument(6, 13, 8, dtype="bf16") for _ in range(3)), p.argument(3))
    sinks = p.generic(
        [sink], ["d1", "d0, d1, d2, d3"], p.empty((2, 3, 13, 1), "f32"), ["parallel"] * 4, [],
        "%in0",
    )  # fmt: skip
    scores = p.scores(p.cast(q, "f32"), p.cast(k, "f32"), 0.35)
    scores = p.expand(scores, [[0, 1], [2], [3]], (2, 3, 13, 13))
    weights = p.part(p.softmax_last(p.concat([scores, sinks], 3)), [0] * 4, [2, 3, 13, 13])
    return p.text(p.batch_matmul(p.collapse(p.cast(weights, "bf16"), [[0, 1], [2], [3]]), v))


@part
def sink_of_one_batch(p: Torch) -> str:
    """The weights are those of a batch of one, as a dim of their own."""
    q, k, v, sink = (*(p.argument(3, 13, 8) for _ in range(3)), p.argument(3))
    sinks = p.generic(
        [sink], ["d0", "d0, d1, d2"], p.empty((3, 13, 1), "f32"), ["parallel"] * 3, [], "%in0"
    )
    weights = p.softmax_last(p.concat([p.scores(q, k, 0.35), sinks], 2))
    heads = p.part(p.expand(weights, [[0, 1], [2], [3]], (1, 3, 13, 14)), [0] * 4, [1, 3, 13, 13])
    return p.text(p.batch_matmul(p.collapse(heads, [[0, 1], [2], [3]]), v))


def sinkhorn(p: Torch, rounds: int) -> str:
    """Rows and columns that are normalised by turns, in logarithms."""
    x = p.argument(2, 7, 9)
    for _ in range(2 * rounds):
        x = p.transposed(p.sub(x, p.logsumexp(x)))
    return p.text(p.exp(x))


@part
def rows_then_columns(p: Torch) -> str:
    """Two rounds of it."""
    return sinkhorn(p, 2)


def _joined(p: Torch, parts: list[Value], dim: int) -> Value:
    """tensor.concat."""
    shape = list(parts[0].shape)
    shape[dim] = sum(part.shape[dim] for part in parts)
    kind = p.empty(shape, parts[0].dtype)
    names, types = (", ".join(getattr(v, k) for v in parts) for k in ("name", "type"))
    name = p.emit(f"tensor.concat dim({dim}) {names} : ({types}) -> {kind.type}")
    return kind._replace(name=name)


@part
def nibbles(p: Torch) -> str:
    """Weights of four bits, two in a byte, with a scale for each group of eight rows."""
    x, packed, scale = p.argument(7, 24), p.argument(12, 10, dtype="i8"), p.argument(3, 10)
    four, low = p.constant(4, "i8"), p.constant(15, "i8")
    halves = [
        p.pointwise([packed], [f"%h = arith.{op} : i8", "%r = arith.uitofp %h : i8 to f32"], "%r",
                    "f32")
        for op in (f"andi %in0, {low}", f"shrui %in0, {four}")
    ]  # fmt: skip
    stacked = p.expand(_joined(p, halves, 1), [[0], [1, 2]], (12, 2, 10))
    rows = p.collapse(stacked, [[0, 1], [2]])
    grouped = p.mul(p.expand(rows, [[0, 1], [2]], (3, 8, 10)), p.unsqueeze(scale, 1))
    return p.text(p.matmul(x, p.collapse(grouped, [[0, 1], [2]])))


@part
def halves_by_tables(p: Torch) -> str:
    """A gated product whose halves are gathered by tables of positions."""
    x, w = p.argument(5, 8), p.argument(8, 12)
    both = p.matmul(x, w)
    count, wraps = p.constant(0, "i64"), p.constant(12, "i64")

    def half(start: int) -> Value:
        rows = [[i] * 6 for i in range(5)]
        columns = [[start + j for j in range(6)]] * 5
        tables = [
            Value(p.constant(f"dense<{table}>", "tensor<5x6xi64>"), (5, 6), "i64")
            for table in (rows, columns)
        ]
        return p.pointwise(
            tables,
            ["%i = arith.index_cast %in0 : i64 to index",
             f"%n = arith.cmpi slt, %in1, {count} : i64",
             f"%e = arith.addi %in1, {wraps} : i64",
             "%s = arith.select %n, %e, %in1 : i64",
             "%j = arith.index_cast %s : i64 to index",
             f"%r = tensor.extract {both.name}[%i, %j] : {both.type}"],
            "%r", "f32",
        )  # fmt: skip

    return p.text(p.mul(p.sigmoid(half(0)), half(6)))


@part
def parts_of_products(p: Torch) -> str:
    """Scores of the first parts of two products: nothing else tells how wide those are."""
    x, w, y, v = p.argument(7, 6), p.argument(6, 12), p.argument(9, 6), p.argument(6, 12)
    first, second = (p.part(m, [0, 0], [m.shape[0], 8]) for m in (p.matmul(x, w), p.matmul(y, v)))
    return p.text(p.softmax_last(p.matmul(first, p.transposed(second))))
