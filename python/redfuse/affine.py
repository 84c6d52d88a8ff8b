"""Affine expressions, read by what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dims_of(expression: Any) -> set[int]:
    """The dims that an expression depends on."""
    import mlir.ir as ir

    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position}
    if isinstance(expression, ir.AffineBinaryExpr):
        return dims_of(expression.lhs) | dims_of(expression.rhs)
    return set()


def text_of(expression: Any) -> str:
    """For people: the dims are i0, i1, ..."""
    import mlir.ir as ir

    if isinstance(expression, ir.AffineDimExpr):
        return f"i{expression.position}"
    if not isinstance(expression, ir.AffineBinaryExpr):
        return str(expression)
    signs: Mapping[Any, str] = {
        ir.AffineAddExpr: "+", ir.AffineMulExpr: "*", ir.AffineModExpr: "mod",
        ir.AffineFloorDivExpr: "floordiv", ir.AffineCeilDivExpr: "ceildiv",
    }  # fmt: skip
    sign = signs[type(expression)]
    parts = [text_of(part) for part in (expression.lhs, expression.rhs)]
    if sign != "+":
        sides = (expression.lhs, expression.rhs)
        parts = [
            f"({text})" if isinstance(side, ir.AffineBinaryExpr) else text
            for text, side in zip(parts, sides, strict=True)
        ]
    return f"{parts[0]} {sign} {parts[1]}"
