"""Reductions that are no single operation: recurrences, scans and declared combiners.

Each is a short program of scalars, written once; the generator's text and the exact evaluation are
both made of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Operand = str | float


class Line(NamedTuple):
    """``name = op operands``: names of lines before or of the step's inputs, or constants.
    value: the predicate of a comparison."""

    name: str
    op: str
    operands: tuple[Operand, ...]
    value: str = ""


class Step(NamedTuple):
    """One step of a reduction.

    states: how many values are carried: "h0", ...; elements: how many an element has: "e0", ...
    results: the names of the next values. identity: of a declared combiner, whose elements are
        states too; None for a recurrence, which is found by its form.
    ordered: the left state must stay left.
    """

    states: int
    elements: int
    lines: tuple[Line, ...]
    results: tuple[str, ...]
    identity: tuple[float, ...] | None = None
    ordered: bool = False


def _lines(text: str) -> tuple[Line, ...]:
    """From ``n = op a b; ...``; ``cmpf:ogt`` names a predicate."""
    lines = []
    for part in text.split(";"):
        name, _, right = part.partition("=")
        op, *operands = right.split()
        op, _, value = op.partition(":")
        values = tuple(_operand(o) for o in operands)
        lines.append(Line(name.strip(), op, values, value))
    return tuple(lines)


def _operand(text: str) -> Operand:
    return float(text) if text[0] in "-0123456789" else text


def _one(text: str, elements: int = 2) -> Step:
    return Step(1, elements, _lines(text), ("n",))


# Of h = a*h + b with a = e0 and b = e1, however it is written; and what running sums are.
RECURRENCES = {
    "a*h + b": _one("t = mulf e0 h0; n = addf t e1"),
    "b + h*a": _one("t = mulf h0 e0; n = addf e1 t"),
    "(h - b)*a": _one("t = subf h0 e1; n = mulf t e0"),
    "b - h*a": _one("t = mulf e0 h0; n = subf e1 t"),
    "h/2 + b": _one("t = divf h0 2; u = mulf e0 0.5; v = addf t u; n = addf v e1"),
    "masked": _one("p = cmpf:olt e1 0; t = mulf e0 h0; u = addf t e1; n = select p h0 u"),
    "reset": _one("p = cmpf:olt e1 0; t = mulf e0 h0; u = addf t e1; n = select p e1 u"),
}
RUNNING = {
    "sum": _one("n = addf h0 e0", 1),
    "product": _one("n = mulf h0 e0", 1),
    "largest": _one("n = maximumf h0 e0", 1),
    "smallest": _one("n = minimumf e0 h0", 1),
}
COMBINERS = {
    "logsumexp": Step(
        2, 2,
        _lines(
            "m = maximumf h0 e0; p = cmpf:oeq m -inf; c = select p 0 m; a = subf h0 c; b = exp a;"
            "d = mulf h1 b; f = subf e0 c; g = exp f; k = mulf e1 g; s = addf d k"
        ),
        ("m", "s"), (-math.inf, 0.0),
    ),
    "affine": Step(
        2, 2, _lines("a = mulf h0 e0; t = mulf h1 e0; b = addf t e1"), ("a", "b"), (1.0, 0.0), True
    ),
    "complex": Step(
        2, 2,
        _lines("a = mulf h0 e0; b = mulf h1 e1; r = subf a b; c = mulf h0 e1; d = mulf h1 e0;"
               "i = addf c d"),
        ("r", "i"), (1.0, 0.0),
    ),
    "norm": Step(
        1, 1, _lines("a = mulf h0 h0; b = mulf e0 e0; c = addf a b; n = sqrt c"), ("n",), (0.0,)
    ),
    "last": Step(
        2, 2, _lines("p = cmpf:une e1 0; a = select p e0 h0; b = maximumf h1 e1"), ("a", "b"),
        (0.0, 0.0), True,
    ),
    "two largest": Step(
        2, 2,
        _lines("m = maximumf h0 e0; l = minimumf h0 e0; r = maximumf h1 e1; n = maximumf l r"),
        ("m", "n"), (-math.inf, -math.inf),
    ),
    "matrix": Step(
        4, 4,
        _lines(
            "a = mulf h0 e0; b = mulf h1 e2; r = addf a b; c = mulf h0 e1; d = mulf h1 e3;"
            "s = addf c d; f = mulf h2 e0; g = mulf h3 e2; t = addf f g; k = mulf h2 e1;"
            "l = mulf h3 e3; u = addf k l"
        ),
        ("r", "s", "t", "u"), (1.0, 0.0, 0.0, 1.0), True,
    ),
}  # fmt: skip
STEPS = {**RECURRENCES, **RUNNING, **COMBINERS}
