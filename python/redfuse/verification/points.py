"""Numbers to check at: random ones, and those that break careless code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..explain.certificates import Certificate
from .arithmetic import Arithmetic
from .bodies import OUTSIDE
from .space import Space

INFINITE = "infinities in every input"
# Of single rows, for the bodies in f64 and for whole programs.
KINDS = (
    "normal", "positive", "all equal", "zeros", "minus infinity row", "minus infinity first half",
    "minus infinity last half", "plus infinity", "both infinities", "nan", "one huge element",
    "large mean, small variance", "cancelling", "ties", "denormal", INFINITE,
)  # fmt: skip


def awkward(kind: str, shape: Sequence[int], axis: int, rng: np.random.Generator) -> Any:
    """float64 numbers of a kind along ``axis``; what is odd is in the first row, or in all."""
    x = rng.standard_normal(shape)
    if not shape or x.size == 0:
        return x
    rows = np.moveaxis(x, axis, -1)  # A view: what is written here is in x.
    n = rows.shape[-1]
    row = rows[(0,) * (rows.ndim - 1)]
    if kind == "positive":
        rows[...] = np.abs(rows) + 0.1
    elif kind == "all equal":
        rows[...] = rows[..., :1]
    elif kind == "zeros":
        rows[...] = 0
    elif kind == "minus infinity row":
        row[...] = -np.inf
    elif kind == "minus infinity first half":
        rows[..., : (n + 1) // 2] = -np.inf
    elif kind == "minus infinity last half":
        rows[..., n // 2 :] = -np.inf
    elif kind == "plus infinity":
        row[n // 2] = np.inf
    elif kind == "both infinities":
        row[0], row[-1] = -np.inf, np.inf
    elif kind == "nan":
        row[n // 2] = np.nan
    elif kind == "one huge element":
        row[n // 3] = 1e30
    elif kind == "large mean, small variance":
        rows[...] = 1e4 + rows
    elif kind == "cancelling":
        half = n // 2
        rows[..., half : 2 * half] = -rows[..., :half]
        rows[..., 2 * half :] = 0
    elif kind == "ties":
        rows[...] = np.round(rows)
    elif kind == "denormal":
        rows[...] = rows * 1e-41
    return x


def shape_of(space: Space, dims: Sequence[int]) -> list[int]:
    """The shape of a value that depends on ``dims``."""
    return [n if d in dims else 1 for d, n in enumerate(space.extents)]


def inputs(
    certificate: Certificate, numbers: Arithmetic, space: Space, kind: str, seed: int
) -> dict[str, Any]:
    """Arrays for the inputs of a certificate. Integers are small; kinds concern floats that
    depend on folded dims: infinities, NaN and what is huge are in the first one only, unless the
    kind says so."""
    rng = np.random.default_rng(seed)
    made = {}
    is_first = True
    for name, declared in certificate.inputs.items():
        shape = shape_of(space, declared.dims)
        if declared.type == "i1":
            made[name] = rng.integers(0, 2, shape).astype(bool)
            continue
        if not declared.type.startswith(("f", "bf")):
            whole = rng.integers(0, 4, shape)
            made[name] = whole.astype(object) if numbers.name != "f64" else whole
            continue
        folded = [d for d in certificate.over if d in declared.dims]
        if folded:
            axis = max(folded, key=lambda d: space.extents[d])
            is_own = is_first or not ("infinit" in kind or kind in ("nan", "one huge element"))
            chosen = "both infinities" if kind == INFINITE else kind if is_own else "normal"
            values = awkward(chosen, shape, axis, rng)
            is_first = False
        else:
            values = awkward("positive" if kind == "positive" else "normal", shape, -1, rng)
        made[name] = numbers.to_float(np.round(values, 3) if numbers.name != "f64" else values)
    return made


def outside(certificate: Certificate, numbers: Arithmetic) -> dict[str, Any]:
    """Scalars from outside that formulas name: c0, c1, ..."""
    names = set()
    for formula in [*certificate.where.values(), *certificate.results.values(),
                    *certificate.shared.values(),
                    *(o for s in certificate.source for o in s.operands)]:  # fmt: skip
        names |= {n for n in formula.names() if n[0] == "c" and n[1:].isdigit()}
    return {n: numbers.number(OUTSIDE) for n in sorted(names)}
