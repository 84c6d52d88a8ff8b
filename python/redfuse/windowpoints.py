"""Points of an iteration space at which an affine expression has its least and largest value.

Sums, products, quotients and remainders by constants repeat themselves: there is a period p for
each dim, and a growth g, such that the expression is larger by g where the dim is larger by p. So
along the points of one remainder by p it is a line, and lowest or highest at an end of it: among
the first p or the last p indices of the dim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .assertions import as_value, compare, index_constant

# Points that are tried at most: here, and by a program in every call.
_MOST, _MOST_IN_CALLS = 1 << 22, 1 << 14


def _operands(expression: Any) -> tuple[Any, Any]:
    return expression.lhs, expression.rhs


def _periods(ir: Any, expression: Any) -> dict[int, tuple[int, int]]:
    """Period and growth along each dim that the expression has."""
    if isinstance(expression, ir.AffineDimExpr):
        return {ir.AffineDimExpr(expression).position: (1, 1)}
    if isinstance(expression, ir.AffineConstantExpr):
        return {}
    left, right = (_periods(ir, e) for e in _operands(expression))
    if isinstance(expression, ir.AffineAddExpr):
        for dim, (period, growth) in right.items():
            before, grown = left.get(dim, (1, 0))
            common = math.lcm(before, period)
            left[dim] = (common, grown * (common // before) + growth * (common // period))
        return left
    factor, terms = (expression.rhs, left) if left else (expression.lhs, right)
    by = ir.AffineConstantExpr(factor).value
    if isinstance(expression, ir.AffineMulExpr):
        return {dim: (period, growth * by) for dim, (period, growth) in terms.items()}
    result = {}
    for dim, (period, growth) in left.items():
        # So many periods grow by a multiple of the divisor.
        times = by // math.gcd(by, growth)
        is_remainder = isinstance(expression, ir.AffineModExpr)
        result[dim] = (period * times, 0 if is_remainder else growth * times // by)
    return result


def magnitude(ir: Any, expression: Any, last: dict[int, int]) -> int:
    """What the absolute values of the expression, and of all that it is made of, do not exceed."""
    if isinstance(expression, ir.AffineDimExpr):
        return last[ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineConstantExpr):
        return abs(ir.AffineConstantExpr(expression).value)
    left, right = (magnitude(ir, e, last) for e in _operands(expression))
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    return left * right if isinstance(expression, ir.AffineMulExpr) else max(left, right)


def ends(ir: Any, expression: Any, last: dict[int, int]) -> tuple[int, int] | None:
    """The least and the largest value, unless that takes too many points."""
    import numpy

    candidates = {}
    for dim, (period, _) in _periods(ir, expression).items():
        extent = last[dim] + 1
        candidates[dim] = (extent, min(extent, 2 * period))
    if math.prod(count for _, count in candidates.values()) > _MOST:
        return None
    at = {}
    for axis, (dim, (extent, count)) in enumerate(candidates.items()):
        indices = numpy.arange(count, dtype=numpy.int64)
        indices[count // 2 :] += extent - count
        at[dim] = indices.reshape([-1 if a == axis else 1 for a in range(len(candidates))])
    values = numpy.asarray(_evaluated(ir, expression, at))
    return int(values.min()), int(values.max())


def _evaluated(ir: Any, expression: Any, at: dict[int, Any]) -> Any:
    if isinstance(expression, ir.AffineDimExpr):
        return at[ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineConstantExpr):
        return ir.AffineConstantExpr(expression).value
    left, right = (_evaluated(ir, e, at) for e in _operands(expression))
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr):
        return left * right
    if isinstance(expression, ir.AffineModExpr):
        return left % right
    return left // right if isinstance(expression, ir.AffineFloorDivExpr) else -(-left // right)


def are_few(ir: Any, expression: Any, last: dict[int, Any]) -> bool:
    """Whether a program may try all points in every call; extents may be its values."""
    counts = (
        min(last[dim] + 1, 2 * period) if isinstance(last[dim], int) else 2 * period
        for dim, (period, _) in _periods(ir, expression).items()
    )
    return math.prod(counts) <= _MOST_IN_CALLS


def walk(
    ir: Any,
    expression: Any,
    last: dict[int, Any],
    unless: Any,
    body: Callable[[Any], None],
) -> None:
    """Loops of the program over all points, with what ``body`` makes of the expression's value at
    one; none where ``unless``, an i1, holds. They carry no value: such loops are tensors' work."""
    from mlir.dialects import affine, arith, scf

    periods = _periods(ir, expression)
    reads = ir.AffineMap.get(max(periods, default=-1) + 1, 0, [expression])
    zero, one = index_constant(ir, 0), index_constant(ir, 1)

    def loops(dims: list[int], at: dict[int, Any]) -> None:
        if not dims:
            positions = [at.get(dim, zero) for dim in range(reads.n_dims)]
            body(affine.AffineApplyOp(reads, positions).result)
            return
        dim, *others = dims
        extent = arith.AddIOp(as_value(ir, last[dim]), one).result
        period = periods[dim][0]
        count = arith.MinSIOp(extent, index_constant(ir, 2 * period)).result
        skipped = arith.SubIOp(extent, count).result
        if not at:
            count = arith.SelectOp(unless, zero, count).result
        loop = scf.ForOp(zero, count, one)
        with ir.InsertionPoint(loop.body):
            k = loop.induction_variable
            is_late = compare(ir, "sge", k, index_constant(ir, period))
            shift = arith.SelectOp(is_late, skipped, zero).result
            loops(others, {**at, dim: arith.AddIOp(k, shift).result})
            scf.YieldOp([])

    loops(sorted(periods), {})
