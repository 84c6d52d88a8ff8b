"""Attention over sequences of several lengths: padded, in a row, and as a table says."""

from __future__ import annotations

import math

from redfuse.bench.builder import Program, Value
from redfuse.bench.programs import positions


def left_out(p: Program, scores: Value, mask: Value) -> Value:
    """Minus infinity where the mask is."""
    infinity = p.constant("dense<0xFF800000>", "tensor<f32>")
    body = ["%r = arith.select %in0, %in1, %in2 : f32"]
    return p.pointwise([mask, Value(infinity, (), "f32"), scores], body, "%r", "f32")


def compare(p: Program, kind: str, a: Value, b: Value) -> Value:
    return p.pointwise([a, b], [f"%r = arith.cmpi {kind}, %in0, %in1 : i64"], "%r", "i1")


def either(p: Program, a: Value, b: Value) -> Value:
    return p.pointwise([a, b], ["%r = arith.ori %in0, %in1 : i1"], "%r", "i1")


class Attention:
    """Queries, keys and values of one length; what is left out is told later."""

    def __init__(self, batch: int, heads: int, length: int, width: int):
        self.p = p = Program()
        shape = (batch, heads, length, width)
        self.q, self.k, self.v = (p.argument(*shape) for _ in range(3))
        scores = p.bmm4(self.q, p.transpose(self.k, [0, 1, 3, 2]))
        self.scores = p.with_scalar("divf", scores, math.sqrt(width))
        self.rows, self.columns = positions(p, length, length)

    def text(self, mask: Value, sums: bool = False) -> str:
        p, scores = self.p, left_out(self.p, self.scores, mask)
        if not sums:
            return p.text(p.bmm4(p.softmax_last(scores), self.v))
        most = p.max_last(scores)
        raised = p.unary("math.exp", p.binary("subf", scores, most))
        total = p.sum(raised, [3], keepdim=True)
        logs = p.binary("addf", p.unary("math.log", total), most)
        out = p.bmm4(p.binary("divf", raised, total), self.v)
        return p.text(out, p.collapse(logs, [[0], [1], [2, 3]]))


def padded(batch: int, heads: int, length: int, width: int, sums: bool = False) -> str:
    """Of each sequence of a batch the first ``lengths[b]`` keys."""
    made = Attention(batch, heads, length, width)
    p = made.p
    lengths = p.argument(batch, dtype="i64")
    tall = p.expand(lengths, [[0, 1, 2, 3]], [batch, 1, 1, 1])
    return made.text(compare(p, "sge", made.columns, tall), sums)


def documents(heads: int, length: int, width: int) -> str:
    """Sequences in a row, causal: a number for each row and each column says which one it is of."""
    made = Attention(1, heads, length, width)
    p = made.p
    of_rows, of_columns = (p.argument(length, dtype="i64") for _ in range(2))
    other = compare(p, "ne", p.unsqueeze(of_rows, 1), p.unsqueeze(of_columns, 0))
    return made.text(either(p, compare(p, "slt", made.rows, made.columns), other))


def packed(heads: int, length: int, width: int, count: int) -> str:
    """The same, where a table of ``count + 1`` places says where each sequence begins."""
    made = Attention(1, heads, length, width)
    p = made.p
    places = p.argument(count + 1, dtype="i64")

    def number(at: Value) -> Value:
        """How many sequences begin at or before each place."""
        begun = p.pointwise(
            [p.unsqueeze(at, 1), p.unsqueeze(places, 0)],
            ["%c = arith.cmpi sge, %in0, %in1 : i64", "%r = arith.extui %c : i1 to i64"],
            "%r",
        )
        out = p.full([at.shape[0]], 0, "i64")
        return p.generic([begun], ["d0, d1", "d0"], out, ["parallel", "reduction"],
                         ["%r = arith.addi %in0, %out : i64"], "%r")  # fmt: skip

    numbers = number(p.arange(length))
    other = compare(p, "ne", p.unsqueeze(numbers, 1), p.unsqueeze(numbers, 0))
    return made.text(either(p, compare(p, "slt", made.rows, made.columns), other))
