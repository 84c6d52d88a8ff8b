"""Points at which an affine expression has its least and largest value, against all points."""

from __future__ import annotations

import itertools
import random

import mlir.ir as ir
import pytest
from redfuse import windowpoints


def expression(draw: random.Random, dims: list, depth: int) -> ir.AffineExpr:
    kind = draw.choice(
        ["dim", "constant"] if depth == 0 else ["add", "add", "mul", "floor", "ceil", "mod"]
    )
    if kind == "dim":
        return ir.AffineDimExpr.get(draw.choice(dims))
    if kind == "constant":
        return ir.AffineConstantExpr.get(draw.randint(-5, 5))
    left = expression(draw, dims, depth - 1)
    if kind == "add":
        return left + expression(draw, dims, depth - 1)
    if kind == "mul":
        return left * draw.randint(-4, 4)
    by = draw.randint(1, 6)
    if kind == "mod":
        return left % by
    return (ir.AffineExpr.get_floor_div if kind == "floor" else ir.AffineExpr.get_ceil_div)(
        left, by
    )


def classified(e: ir.AffineExpr) -> ir.AffineExpr:
    """As an object of its own class: what folds while it is made has that of what was asked for."""
    return ir.AffineMap.get(3, 0, [e]).results[0]


def evaluated(e: ir.AffineExpr, at: tuple[int, ...]) -> int:
    """The value at a point, one operation after another."""
    if isinstance(e, ir.AffineDimExpr):
        return at[ir.AffineDimExpr(e).position]
    if isinstance(e, ir.AffineConstantExpr):
        return ir.AffineConstantExpr(e).value
    a, b = evaluated(e.lhs, at), evaluated(e.rhs, at)
    if isinstance(e, ir.AffineAddExpr):
        return a + b
    if isinstance(e, ir.AffineMulExpr):
        return a * b
    if isinstance(e, ir.AffineModExpr):
        return a % b
    return a // b if isinstance(e, ir.AffineFloorDivExpr) else -(-a // b)


@pytest.mark.parametrize("seed", range(8))
def test_ends_are_those_of_all_points(seed: int) -> None:
    draw = random.Random(seed)
    with ir.Context():
        for _ in range(40):
            extents = [draw.choice([1, 2, 3, 7, 13, 30]) for _ in range(3)]
            e = classified(expression(draw, [0, 1, 2], 4))
            last = {d: n - 1 for d, n in enumerate(extents)}
            values = [evaluated(e, at) for at in itertools.product(*map(range, extents))]
            assert windowpoints.ends(ir, e, last) == (min(values), max(values)), (str(e), extents)
            assert windowpoints.magnitude(ir, e, last) >= max(map(abs, values))


def test_long_dims_take_no_more_points() -> None:
    with ir.Context():
        i, j = (ir.AffineDimExpr.get(d) for d in range(2))
        last = {0: 10**12, 1: 10**12 + 1}
        for e, ends in (
            ((i * 2) % 8 - j % 3, (-2, 6)),
            (i - j, (-(10**12) - 1, 10**12)),
            ((i * 3 + j) % 1000003, None),
        ):
            assert windowpoints.ends(ir, classified(e), last) == ends
