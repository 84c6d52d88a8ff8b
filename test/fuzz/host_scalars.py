"""Scalars of the host fuzzer's interpreter, and what the operations on them mean.

Integers are Python's, signed and wrapped to their width (i1 is 0 or 1). Floats are kept exact: a
result with more digits than every order of computing would give is :data:`ANY`, so that all
comparisons can be exact. :data:`BAD` is what an invalid access gives: a program that returns it must
stop instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


class _Unknown:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: object) -> _Unknown:
        return self


ANY, BAD = _Unknown("ANY"), _Unknown("BAD")
INTEGERS = ("i1", "i8", "i16", "i32", "i64", "index")
FLOATS = ("f32", "f64")
GRID, LARGE = 64, 1 << 18  # floats are multiples of 1/GRID below LARGE


def is_float(kind: str) -> bool:
    return kind.startswith("f")


def width(kind: str) -> int:
    """Bits of an integer type."""
    return 64 if kind == "index" else int(kind[1:])


def wrap(value: int, kind: str) -> int:
    """The value of a type that has the same low bits."""
    bits = width(kind)
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


def unsigned(value: int, kind: str) -> int:
    return value & ((1 << width(kind)) - 1)


def signed(value: int, kind: str) -> int:
    """i1 holds 0 and -1 for operations on signed numbers."""
    return -value if kind == "i1" else value


def exact(value: float) -> Any:
    """The float, or ANY where it is not exact in every order of computing."""
    if not math.isfinite(value) or abs(value) > LARGE or value * GRID != math.floor(value * GRID):
        return ANY
    return value + 0.0


_COMPARED = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def compare(predicate: str, a: Any, b: Any, kind: str) -> int:
    """cmpi with eq, ne, slt, .., ult, .. and cmpf with oeq, ..."""
    if is_float(kind) or predicate in ("eq", "ne"):
        return int(_COMPARED[predicate[-2:]](a, b))
    view = signed if predicate[0] == "s" else unsigned
    return int(_COMPARED[predicate[1:]](view(a, kind), view(b, kind)))


def _signed_extreme(choose: Callable) -> Callable:
    return lambda a, b, kind: choose(a, b, key=lambda v: signed(v, kind))


def _unsigned_extreme(choose: Callable) -> Callable:
    return lambda a, b, kind: choose(a, b, key=lambda v: unsigned(v, kind))


def _divided(rule: Callable[[int, int], int], view: Callable = signed) -> Callable:
    def divide(a: int, b: int, kind: str) -> Any:
        # Of zero: some number, as the guide says.
        return ANY if b == 0 else rule(view(a, kind), view(b, kind))

    return divide


def _truncating(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _shifted(rule: Callable[[int, int, str], int]) -> Callable:
    def shift(a: int, b: int, kind: str) -> Any:
        amount = unsigned(b, kind)
        return rule(a, amount, kind) if amount < width(kind) else ANY

    return shift


INTEGER_BINARY: dict[str, Callable[[int, int, str], Any]] = {
    "addi": lambda a, b, kind: a + b, "subi": lambda a, b, kind: a - b,
    "muli": lambda a, b, kind: a * b, "andi": lambda a, b, kind: a & b,
    "ori": lambda a, b, kind: a | b, "xori": lambda a, b, kind: a ^ b,
    "maxsi": _signed_extreme(max), "minsi": _signed_extreme(min),
    "maxui": _unsigned_extreme(max), "minui": _unsigned_extreme(min),
    "divsi": _divided(_truncating), "remsi": _divided(lambda a, b: a - b * _truncating(a, b)),
    "floordivsi": _divided(lambda a, b: a // b), "ceildivsi": _divided(lambda a, b: -(-a // b)),
    "divui": _divided(lambda a, b: a // b, unsigned),
    "remui": _divided(lambda a, b: a % b, unsigned),
    "shli": _shifted(lambda a, n, kind: a << n),
    "shrsi": _shifted(lambda a, n, kind: signed(a, kind) >> n),
    "shrui": _shifted(lambda a, n, kind: unsigned(a, kind) >> n),
}  # fmt: skip
FLOAT_BINARY: dict[str, Callable[[float, float], float]] = {
    "addf": lambda a, b: a + b, "subf": lambda a, b: a - b, "mulf": lambda a, b: a * b,
    "maximumf": max, "minimumf": min, "maxnumf": max, "minnumf": min,
}  # fmt: skip
FLOAT_UNARY: dict[str, Callable[[float], float]] = {
    "arith.negf": lambda a: -a, "math.absf": abs, "math.floor": math.floor, "math.ceil": math.ceil,
    "math.roundeven": round, "math.trunc": math.trunc,
}  # fmt: skip


def cast(name: str, value: Any, source: str, target: str) -> Any:
    """A conversion of arith."""
    if name in ("extui", "index_castui", "uitofp"):
        value = unsigned(value, source)
    elif name in ("extsi", "index_cast", "sitofp"):
        value = signed(value, source)
    elif name == "fptosi":
        value = math.trunc(value)
        bits = width(target)
        return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else ANY
    if is_float(target):
        return exact(float(value))
    return wrap(value, target)


def apply(name: str, values: list[Any], kind: str, predicate: str, target: str) -> Any:
    """A scalar operation on values of type ``kind``; ``target`` is the type of the result."""
    if name == "select":
        if values[0] is ANY and values[1] is not BAD and values[2] is not BAD:
            return values[1] if values[1] == values[2] else ANY
        return values[0] if values[0] in (ANY, BAD) else values[1 if values[0] else 2]
    if any(v is BAD for v in values):
        return BAD
    if any(v is ANY for v in values):
        return ANY
    if name in ("cmpi", "cmpf"):
        return compare(predicate, values[0], values[1], kind)
    if name in INTEGER_BINARY:
        value = INTEGER_BINARY[name](values[0], values[1], kind)
        return value if value is ANY else wrap(value, kind)
    if name in FLOAT_BINARY:
        return exact(float(FLOAT_BINARY[name](*values)))
    if name in FLOAT_UNARY:
        return exact(float(FLOAT_UNARY[name](*values)))
    return cast(name, values[0], kind, target)
