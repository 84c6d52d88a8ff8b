"""Bytes that a launch of a kernel must move, read off its operands."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..runtime.specs import ELEMENT_TYPES

_WHOLE = ("memref.cast", "memref.collapse_shape", "memref.expand_shape")


def moved(launch: Any) -> tuple[int | None, int | None]:
    """Of a ``redfuse.launch``: bytes of its arguments and of its results, each whole and once; None
    where the types leave an extent open, and for elements that no argument of a program has."""
    import mlir.ir as ir

    count = ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"])[0]
    operands = list(launch.operands)
    return bytes_of(operands[:count]), bytes_of(operands[count:])


def bytes_of(values: Iterable[Any]) -> int | None:
    """Of all that is in memory of some operands."""
    import mlir.ir as ir

    total = 0
    for value in {root(value) for value in values}:
        kind = value.type
        if not isinstance(kind, ir.MemRefType):
            continue
        element = ELEMENT_TYPES.get(str(kind.element_type))
        if not kind.has_static_shape or element is None:
            return None
        total += math.prod(kind.shape) * element[1]
    return total


def root(value: Any) -> Any:
    """What a value is all of, in another shape."""
    import mlir.ir as ir

    while isinstance(value, ir.OpResult) and value.owner.name in _WHOLE:
        value = value.owner.operands[0]
    return value
