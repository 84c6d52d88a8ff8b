"""Checks that what a linalg operation reads by affine expressions of its iteration dims is inside.

Plain dims are for ``shapechecks`` to compare. Here are sums with any signs (windows, flips),
quotients and remainders by constants. Three ways, from the cheapest on:

1. Where their values lie is known from the extents of the iteration dims, as numbers or as values
   of the program. What lies inside is inside.
2. Where every value between is taken, what lies outside is outside.
3. Else the expression repeats itself along each dim (``windowpoints``): a few points have its least
   and its largest value. They are tried here, or by the program where extents are not known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from . import windowpoints
from .assertions import as_value, compare, extent_of, index_constant, require
from .errors import UnsupportedError, _position, position_text


@dataclasses.dataclass(frozen=True)
class _Range:
    """The least and the largest value of an expression, ints or index values of the program."""

    low: Any
    high: Any
    dims: frozenset[int]  # that it depends on
    dense: bool = True  # whether it takes every value between
    exact: bool = True  # whether it takes both


class _Ranges:
    """Ranges of the expressions of one operation; ``last`` has the last index of each iteration
    dim, an int or a value."""

    def __init__(self, ir: Any, last: dict[int, Any]) -> None:
        self.ir, self.last = ir, last

    def of(self, expression: Any) -> _Range | None:
        """``None`` for a dim of unknown extent, or an operation that is no number's."""
        ir = self.ir
        if isinstance(expression, ir.AffineDimExpr):
            dim = ir.AffineDimExpr(expression).position
            return _Range(0, self.last[dim], frozenset([dim])) if dim in self.last else None
        if isinstance(expression, ir.AffineConstantExpr):
            value = ir.AffineConstantExpr(expression).value
            return _Range(value, value, frozenset())
        if not hasattr(expression, "lhs"):
            return None
        left, right = self.of(expression.lhs), self.of(expression.rhs)
        if left is None or right is None:
            return None
        if isinstance(expression, ir.AffineAddExpr):
            apart = not left.dims & right.dims
            return _Range(
                self._add(left.low, right.low),
                self._add(left.high, right.high),
                left.dims | right.dims,
                left.dense and right.dense and apart,
                left.exact and right.exact and apart,
            )
        if isinstance(expression, ir.AffineMulExpr) and not left.dims:
            left, right = right, left
        if right.dims:
            return None
        return self._scaled(expression, left, right.low)

    def _scaled(self, expression: Any, left: _Range, by: int) -> _Range | None:
        """A product, quotient or remainder by a constant."""
        ir = self.ir
        if isinstance(expression, ir.AffineMulExpr):
            ends = [self._apply(end, lambda e: e * by) for end in (left.low, left.high)]
            low, high = ends if by >= 0 else reversed(ends)
            return dataclasses.replace(left, low=low, high=high, dense=left.dense and abs(by) <= 1)
        if by <= 0:
            return None
        if isinstance(expression, ir.AffineModExpr):
            high, exact = by - 1, False
            if isinstance(left.low, int) and left.low == 0:
                high, exact = self._least(left.high, by - 1), left.dense and left.exact
            return _Range(0, high, left.dims, exact, exact)
        if isinstance(expression, ir.AffineFloorDivExpr):
            made, known = ir.AffineExpr.get_floor_div, lambda e: e // by
        else:
            made, known = ir.AffineExpr.get_ceil_div, lambda e: -(-e // by)
        low, high = (
            self._apply(end, lambda e: made(e, by), known) for end in (left.low, left.high)
        )
        return dataclasses.replace(left, low=low, high=high)

    def _apply(self, value: Any, made: Callable, known: Callable | None = None) -> Any:
        """``made`` of a value as an affine expression, ``known`` (or the same) of an int."""
        if isinstance(value, int):
            return (known or made)(value)
        from mlir.dialects import affine

        ir = self.ir
        return affine.AffineApplyOp(
            ir.AffineMap.get(1, 0, [made(ir.AffineDimExpr.get(0))]), [value]
        ).result

    def _add(self, a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        from mlir.dialects import arith

        return arith.AddIOp(as_value(self.ir, a), as_value(self.ir, b)).result

    def _least(self, a: Any, number: int) -> Any:
        if isinstance(a, int):
            return min(a, number)
        from mlir.dialects import arith

        return arith.MinSIOp(a, index_constant(self.ir, number)).result


def _windows(ir: Any, operation: Any, maps: list) -> list[tuple[int, int, Any]]:
    """(operand, its dim, expression) of what is indexed by more than one plain dim."""
    return [
        (number, dim, expression)
        for number, reads in enumerate(maps)
        for dim, expression in enumerate(reads.results)
        if not isinstance(expression, ir.AffineDimExpr)
        and isinstance(operation.operands[number].type, ir.RankedTensorType)
    ]


def check(ir: Any, operation: Any, maps: list, loops: dict) -> int:
    """Asserts for windows of dynamic extents; UnsupportedError for those of static extents that
    reach outside: MLIR's verifier tries their first and last point alone. ``loops`` has an operand,
    its dim and its static extent (or None) for each iteration dim. Returns how many windows have an
    assert. Nothing is read where a dim is empty."""
    from mlir.dialects import arith

    found = _windows(ir, operation, maps)
    if not found or any(static == 0 for _, _, static in loops.values()):
        return 0
    count = 0
    with ir.InsertionPoint(operation):
        last, empty = {}, None
        for loop, (value, dim, static) in loops.items():
            if static is not None:
                last[loop] = static - 1
                continue
            size = extent_of(ir, value, dim)
            last[loop] = arith.SubIOp(size, index_constant(ir, 1)).result
            none = compare(ir, "eq", size, index_constant(ir, 0))
            empty = none if empty is None else arith.OrIOp(empty, none).result
        ranges = _Ranges(ir, last)
        for number, dim, expression in found:
            value = operation.operands[number]
            place = ranges.of(expression)
            if place is None:
                continue
            window = _Window(ir, operation, number, dim, expression, last)
            known = isinstance(place.low, int) and isinstance(place.high, int)
            if known and not value.type.is_dynamic_dim(dim):
                window.require_static(place)
                continue
            window.require(place, empty)
            count += 1
    return count


@dataclasses.dataclass(frozen=True)
class _Window:
    """An expression that indexes a dim of an operand."""

    ir: Any
    operation: Any
    number: int
    dim: int
    expression: Any
    last: dict[int, Any]

    def require_static(self, place: _Range) -> None:
        """Raises UnsupportedError unless all indices are known to be inside."""
        size = self.operation.operands[self.number].type.get_dim_size(self.dim)
        low, high = place.low, place.high
        if windowpoints.magnitude(self.ir, self.expression, self.last) >= 2**63:
            self._refuse(f"its index {self.expression} has values of more than 64 bits")
        if low >= 0 and high < size:
            return
        if not place.exact:
            ends = windowpoints.ends(self.ir, self.expression, self.last)
            if ends is None:
                self._refuse(
                    f"its index {self.expression} lies between {low} and {high}, and which of "
                    f"these occur takes too many points to find out: expected none but 0 to "
                    f"{size - 1}. An index by smaller divisors would do, or a tensor.pad before "
                    "the operation, after which all of them are inside"
                )
            low, high = ends
        if low < 0 or high >= size:
            self._refuse(
                f"at index {low if low < 0 else high}, expected indices below {size} and not below "
                "0",
                "is",
            )

    def _refuse(self, what: str, read: str = "may be") -> None:
        where = position_text(*_position(self.operation.location))
        raise UnsupportedError(
            f"{where}: {self.operation.operation.name}: operand {self.number} {read} read outside "
            f"its dim {self.dim}: {what}"
        )

    def require(self, place: _Range, empty: Any) -> None:
        """Asserts the same when the program runs; ``empty``: whether nothing is read."""
        ir, operation = self.ir, self.operation
        size = extent_of(ir, operation.operands[self.number], self.dim)
        zero, outside = index_constant(ir, 0), f"read outside its dim {self.dim}"
        low, high = as_value(ir, place.low), as_value(ir, place.high)
        if place.exact or not windowpoints.are_few(ir, self.expression, self.last):
            message = f"operand {self.number} {'is' if place.exact else 'may be'} {outside}"
            if not isinstance(place.low, int) or place.low < 0:
                require(ir, "sge", low, zero, operation, message, empty)
            require(ir, "slt", high, size, operation, message, empty)
            return
        from mlir.dialects import arith

        inside = arith.AndIOp(compare(ir, "sge", low, zero), compare(ir, "slt", high, size)).result
        if empty is not None:
            inside = arith.OrIOp(inside, empty).result

        def check(index: Any) -> None:
            # A negative index is a large one, too.
            message = f"operand {self.number} is {outside}"
            require(ir, "ult", index, size, operation, message)

        windowpoints.walk(ir, self.expression, self.last, inside, check)
