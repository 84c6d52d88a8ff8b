"""``cf.assert`` on index values, in a program that is being prepared."""

from __future__ import annotations

from typing import Any

from .errors import _position, position_text


def index_constant(ir: Any, number: int) -> Any:
    """A constant of type index."""
    from mlir.dialects import arith

    return arith.ConstantOp(ir.IndexType.get(), number).result


def as_value(ir: Any, number: Any) -> Any:
    """The value of a number, which may be one already."""
    return index_constant(ir, number) if isinstance(number, int) else number


def extent_of(ir: Any, tensor_value: Any, dim: int) -> Any:
    """The extent of a dim of a tensor."""
    from mlir.dialects import tensor

    return tensor.DimOp(tensor_value, index_constant(ir, dim)).result


def compare(ir: Any, predicate: str, a: Any, b: Any) -> Any:
    """``a <predicate> b``, an i1."""
    from mlir.dialects import arith

    return arith.CmpIOp(getattr(arith.CmpIPredicate, predicate), a, b).result


def require(
    ir: Any, predicate: str, a: Any, b: Any, operation: Any, message: str, unless: Any = None
) -> None:
    """``a <predicate> b``, or ``unless``; else the call fails with the operation's place and the
    message."""
    from mlir.dialects import arith, cf

    where = position_text(*_position(operation.location))
    holds = compare(ir, predicate, a, b)
    if unless is not None:
        holds = arith.OrIOp(holds, unless).result
    cf.AssertOp(holds, f"{where}: {operation.operation.name}: {message}")
