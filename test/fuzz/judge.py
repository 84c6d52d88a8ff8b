"""When is a result wrong.

A fused result is judged against the exact one (fp64 of the unfused program, or better) and against
the unfused program's own result in the program's types:

- its class (NaN, +inf, -inf, finite) is that of the unfused result;
- its error is at most 8 times the unfused program's, or at most the roundoff of its type times
  sqrt(n) times the magnitude of what was added up, whichever is larger.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from redfuse.check import ROUNDOFF

# Below these, relative to their scale, programs may differ: gradual underflow.
LOST = {"f64": 1e-300, "f32": 1e-36, "f16": 1e-4, "bf16": 1e-36}
# What the unfused program's own error may be multiplied with.
FACTOR = 8.0


class Wrong(NamedTuple):
    """The first wrong element of a result."""

    what: str
    index: tuple[int, ...]
    got: float
    want: float
    unfused: float
    tolerance: float

    def __str__(self) -> str:
        return (
            f"{self.what} at {list(self.index)}: got {self.got!r}, exact {self.want!r}, "
            f"unfused {self.unfused!r}, tolerance {self.tolerance:.3g}"
        )


def classes(x: np.ndarray) -> np.ndarray:
    """0: finite, 1: NaN, 2: inf, 3: -inf."""
    return np.where(np.isnan(x), 1, np.where(np.isposinf(x), 2, np.where(np.isneginf(x), 3, 0)))


def compare(
    got: Any, want: Any, unfused: Any, bound: np.ndarray, loose: np.ndarray | None = None
) -> Wrong | None:
    """Judges a float result.

    want: exact, at least f64. bound: the error that is allowed anyhow, for each element, inf
        where nothing can be said. loose: elements whose class is not judged.
    """
    got, unfused = (np.asarray(a).astype(np.float64) for a in (got, unfused))
    want = np.asarray(want)
    if got.shape != want.shape:
        return Wrong(f"shape {got.shape} for {want.shape}", (), 0, 0, 0, 0)
    if got.size == 0:
        return None
    judged = np.isfinite(unfused) & np.isfinite(want.astype(np.float64)) & np.isfinite(bound)
    differs = classes(got) != classes(unfused)
    # Where the unfused program itself is not of the exact class, either will do.
    differs &= classes(got) != classes(want.astype(np.float64))
    if loose is not None:
        differs &= ~loose
    with np.errstate(all="ignore"):
        error = np.where(judged, np.abs(got - want), 0).astype(np.float64)
        own = np.where(judged, np.abs(unfused - want), 0).astype(np.float64)
        ratio = np.where(own > 0, own / np.where(bound > 0, bound, np.inf), 0)
    tolerance = np.maximum(1.0, FACTOR * float(ratio.max())) * bound
    tolerance = np.maximum(tolerance, FACTOR * own)
    with np.errstate(all="ignore"):
        bad = judged & ~(error <= tolerance)
    for what, where in (("class", differs), ("value", bad)):
        if where.any():
            score = np.where(where, error / np.maximum(tolerance, 1e-300), -1)
            at = tuple(int(i) for i in np.unravel_index(int(score.argmax()), got.shape))
            at = at if where[at] else tuple(int(i) for i in np.argwhere(where)[0])
            return Wrong(
                what, at, float(got[at]), float(want[at]), float(unfused[at]), float(tolerance[at])
            )
    return None


def of_the_whole(want: Any, dtype: str, count: int) -> np.ndarray:
    """A bound for programs of which nothing is known: the roundoff of their coarsest type times
    sqrt(count), the largest number of terms, times the largest magnitude of the result; and what the
    type loses among numbers that are not normal, which a scale may make larger."""
    want = np.asarray(want).astype(np.float64)
    finite = np.abs(want[np.isfinite(want)])
    scale = float(finite.max()) if finite.size else 0.0
    bound = ROUNDOFF[dtype] * np.sqrt(count) * scale
    return np.full(want.shape, max(bound, LOST[dtype] * np.sqrt(count)))
