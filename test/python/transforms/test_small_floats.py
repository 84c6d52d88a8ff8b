"""Floats of 8 bits: arguments, results and conversions, against ml_dtypes; products of them on a
GPU are in test_cuda_matrices.py."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import redfuse
from small_float_programs import conversion

TYPES = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
WIDE = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def same(got: np.ndarray, expected: np.ndarray) -> None:
    """The same bits, but for those of NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), nan)
    bits = f"u{got.itemsize}"
    np.testing.assert_array_equal(got.view(bits)[~nan], expected.view(bits)[~nan])


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("small", TYPES)
def test_extension(small: str, wide: str) -> None:
    """All 256 of them."""
    x = np.arange(256, dtype=np.uint8).view(TYPES[small])
    exe = redfuse.compile(conversion(small, wide, 256), target="cpu", options={"cache": False})
    same(exe(x), x.astype(np.float32).astype(WIDE[wide]))


def difficult(small: str) -> np.ndarray:
    """Numbers, what lies between two, one unit to either side of it, and what is too large."""
    every = np.arange(256, dtype=np.uint8).view(TYPES[small]).astype(np.float64)
    every = np.unique(every[np.isfinite(every)])
    middle = (every[1:] + every[:-1]) / 2
    base = np.concatenate([every, middle]).astype(np.float32)
    largest = np.float32(np.abs(every).max())
    extra = np.array([0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, -1e-45, 1e-30,
                      largest * 1.01, -largest * 1.04, largest * 1.07, largest * 2], np.float32)  # fmt: skip
    rng = np.random.default_rng(0)
    random = rng.standard_normal(500).astype(np.float32) * np.exp2(rng.integers(-20, 18, 500))
    return np.concatenate([base, np.nextafter(base, np.float32(np.inf)),
                           np.nextafter(base, np.float32(-np.inf)), extra, random]).astype(np.float32)  # fmt: skip


def to_odd(x: np.ndarray) -> np.ndarray:
    """f32 towards zero, with an odd last bit where digits are lost: what is rounded next is as
    good as x. (ml_dtypes rounds to f32 first.)"""
    near = x.astype(np.float32)
    bits = near.view(np.uint32).copy()
    bits[np.abs(near.astype(np.float64)) > np.abs(x)] -= 1
    bits[(near.astype(np.float64) != x) & np.isfinite(x)] |= 1
    return bits.view(np.float32)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("small", TYPES)
def test_truncation(small: str, wide: str) -> None:
    """To nearest even, once."""
    x = difficult(small)
    if wide == "f64":  # further digits, which a rounding to f32 first would lose
        x = x.astype(np.float64)
        x = np.concatenate([x, x * (1 + 2.0**-40), x * (1 - 2.0**-40)])
    with np.errstate(all="ignore"):
        x = x.astype(WIDE[wide])
        expected = (to_odd(x) if wide == "f64" else x).astype(TYPES[small])
    exe = redfuse.compile(conversion(wide, small, len(x)), target="cpu", options={"cache": False})
    same(exe(x), expected)


def test_wrong_type() -> None:
    exe = redfuse.compile(conversion("f8E4M3FN", "f32", 4), target="cpu", options={"cache": False})
    with pytest.raises(redfuse.ArgumentError, match="float8_e4m3fn"):
        exe(np.zeros(4, ml_dtypes.float8_e5m2))


def test_arithmetic_is_done_in_f32() -> None:
    """A sum in 8 bits: every addition rounds."""
    source = """
#map = affine_map<(i) -> (i)>
func.func @main(%x: tensor<200xf8E5M2>) -> tensor<200xf8E5M2> {
  %one = arith.constant 1.5 : f8E5M2
  %e = tensor.empty() : tensor<200xf8E5M2>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<200xf8E5M2>) outs(%e : tensor<200xf8E5M2>) {
  ^bb0(%p: f8E5M2, %q: f8E5M2):
    %r = arith.addf %p, %one : f8E5M2
    linalg.yield %r : f8E5M2
  } -> tensor<200xf8E5M2>
  return %y : tensor<200xf8E5M2>
}
"""
    x = np.random.default_rng(0).standard_normal(200).astype(ml_dtypes.float8_e5m2)
    exe = redfuse.compile(source, target="cpu", options={"cache": False})
    expected = (x.astype(np.float32) + 1.5).astype(ml_dtypes.float8_e5m2)
    same(exe(x), expected)
