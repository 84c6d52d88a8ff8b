"""Between which numbers a program's values are, as far as its last operations tell."""

from __future__ import annotations

import math
from typing import Any

from mlir import ir

# So many operations are looked through: clamps stand right before what asks.
_DEPTH = 12
_SAME = ("arith.extf", "arith.truncf", "tensor.extract_slice", "tensor.collapse_shape",
         "tensor.expand_shape", "tensor.cast", "linalg.fill")  # fmt: skip
_LEAST = ("arith.minimumf", "arith.minnumf")
_LARGEST = ("arith.maximumf", "arith.maxnumf")
Bounds = tuple[float, float]
_ANY: Bounds = (-math.inf, math.inf)


def bounds_of(value: Any, depth: int = _DEPTH) -> Bounds:
    """The least and the largest number that a float, or a tensor of floats, may be; it may be NaN
    as well. Roundings of a bound do not count: they pass no number that the type has."""
    if depth == 0:
        return _ANY
    if isinstance(value.owner, ir.Block):
        argument = ir.BlockArgument(value)
        owner = argument.owner.owner
        inputs = _inputs(owner)
        number = argument.arg_number
        return bounds_of(inputs[number], depth - 1) if number < len(inputs) else _ANY
    result = ir.OpResult(value)
    op = result.owner
    name = op.name
    if name == "arith.constant":
        attribute = op.attributes["value"]
        number = attribute.value if isinstance(attribute, ir.FloatAttr) else math.nan
        return _ANY if math.isnan(number) else (number, number)
    if name in _SAME:
        return bounds_of(op.operands[0], depth - 1)
    if name in _LEAST or name in _LARGEST:
        choose = min if name in _LEAST else max
        first, second = (bounds_of(x, depth - 1) for x in op.operands)
        return choose(first[0], second[0]), choose(first[1], second[1])
    if name == "linalg.generic":
        # What reduces nothing leaves its start.
        if any("reduction" in str(kind) for kind in op.attributes["iterator_types"]):
            return _ANY
        ends = op.regions[0].blocks[0].operations
        return bounds_of(ends[len(ends) - 1].operands[result.result_number], depth - 1)
    return _ANY


def _inputs(op: Any) -> list[Any]:
    """What the block of a ``linalg.generic`` gets elements of, but for results before they are
    made; nothing of another operation."""
    if op.name != "linalg.generic":
        return []
    return list(op.operands)[: len(op.operands) - len(op.results)]
