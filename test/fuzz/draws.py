"""Data that programs get wrong: by kind, for any shape and type."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": bfloat16,
    "i64": np.int64, "i32": np.int32, "i8": np.int8, "i1": np.bool_,
}  # fmt: skip

KINDS = (
    "normal", "ties", "zeros", "equal", "far mean", "minus infinity row", "minus infinity start",
    "minus infinity end", "one plus infinity", "both infinities", "nan", "one huge", "huge",
    "large", "tiny", "denormal", "cancelling", "positive", "negative",
)  # fmt: skip


def draw(kind: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Any:
    """An array of the MLIR type ``dtype``; the awkward part of a row is along the last axis."""
    if dtype == "i1":
        return np.array(rng.integers(0, 2, shape), np.bool_)
    if dtype.startswith("i"):
        values = rng.integers(-50, 51, shape)
        return np.array(values * 0 if kind == "zeros" else values, DTYPES[dtype])
    x = np.asarray(rng.standard_normal(shape))
    if x.size:
        with np.errstate(all="ignore"):
            x = _spoil(kind, x, dtype)
    with np.errstate(all="ignore"):
        return np.array(x, DTYPES[dtype], order="C")


def _spoil(kind: str, x: np.ndarray, dtype: str) -> np.ndarray:
    n = x.shape[-1] if x.shape else 1
    row = (0,) * max(0, x.ndim - 1)
    narrow = dtype == "f16"
    if kind == "ties":
        x = np.round(x)
    elif kind == "zeros":
        x = x * 0
    elif kind == "equal":
        x = x * 0 + 0.7
    elif kind == "far mean":
        x = x + (100 if narrow else 1e6 if dtype in ("f32", "f64") else 1000)
    elif kind == "minus infinity row":
        x[row] = -np.inf
    elif kind == "minus infinity start" and x.ndim:
        x[..., : (n + 1) // 2] = -np.inf
    elif kind == "minus infinity end" and x.ndim:
        x[..., n // 3 :] = -np.inf
    elif kind == "one plus infinity" and x.ndim:
        x[(*row, n // 2)] = np.inf
    elif kind == "both infinities" and x.ndim:
        x[(*row, n - 1)], x[(*row, 0)] = np.inf, -np.inf
    elif kind == "nan" and x.ndim:
        x[(*row, n // 2)] = np.nan
    elif kind == "one huge" and x.ndim:
        x[(*row, n - 1)] = 300
    elif kind == "huge":
        x = x * (1e3 if narrow else 1e30)
    elif kind == "large":
        x = x * (1e2 if narrow else 1e12)
    elif kind == "tiny":
        x = x * (1e-3 if narrow else 1e-30)
    elif kind == "denormal":
        x = x * (1e-6 if narrow else 1e-41)
    elif kind == "cancelling" and x.ndim:
        x[row] = 0
        x[row][..., :3] = (2.0, -1.0, -1.0)[:n]
    elif kind == "positive":
        x = abs(x) + 0.1
    elif kind == "negative":
        x = -abs(x) - 0.1
    return x
