"""Sums that lose digits, or leave the range of f32, in the careless order: by every schedule."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from redfuse.options import SCHEDULES

ROWS, LENGTH = 5, 700

WEIGHTED = f"""
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%a: tensor<{ROWS}x{LENGTH}xf32>, %b: tensor<{ROWS}x{LENGTH}xf32>)
    -> tensor<{ROWS}xf32> {{
  %o = tensor.empty() : tensor<{ROWS}xf32>
  %r = redfuse.cascade {{indexing_maps = [#x, #x, #r]}}
      ins(%a, %b : tensor<{ROWS}x{LENGTH}xf32>, tensor<{ROWS}x{LENGTH}xf32>)
      outs(%o : tensor<{ROWS}xf32>) {{
  ^bb0(%x: f32, %v: f32):
    BODY
    redfuse.yield %y : f32
  }} -> tensor<{ROWS}xf32>
  return %r : tensor<{ROWS}xf32>
}}"""
VARIANCE = """
    %w = arith.mulf %v, %v : f32
    %wx = arith.mulf %w, %x : f32
    %s = redfuse.reduce add %wx over [1] into [0] : f32
    %n = redfuse.reduce add %w over [1] into [0] : f32
    %c = arith.divf %s, %n : f32
    %d = arith.subf %x, %c : f32
    %q = arith.mulf %d, %d : f32
    %p = arith.mulf %w, %q : f32
    %t = redfuse.reduce add %p over [1] into [0] : f32
    %y = arith.divf %t, %n : f32"""
SCALED = """
    %k = math.absf %v : f32
    %m = redfuse.reduce maximumf %k over [1] into [0] : f32
    %z = arith.divf %x, %m : f32
    %q = arith.mulf %z, %z : f32
    %y = redfuse.reduce add %q over [1] into [0] : f32"""


def compiled(body: str, schedule: str) -> redfuse.Executable:
    return redfuse.compile(WEIGHTED.replace("BODY", body), options={"schedule": schedule})


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("place", [0, 350, LENGTH - 1])
def test_one_weight_above_all_others(schedule: str, place: int) -> None:
    """The mean is next to one element, far from the others, wherever it comes."""
    rng = np.random.default_rng(place)
    a, b = rng.standard_normal((2, ROWS, LENGTH)).astype(np.float32)
    a[:, place], b[:, place] = 1e4, 1e5
    x, w = a.astype(np.float64), np.square(b, dtype=np.float64)
    mean = (w * x).sum(1, keepdims=True) / w.sum(1, keepdims=True)
    want = (w * np.square(x - mean)).sum(1) / w.sum(1)
    got = np.asarray(compiled(VARIANCE, schedule)(a, b), np.float64)
    assert np.abs(got / want - 1).max() < 1e-3


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
def test_squares_of_what_is_scaled(schedule: str, scale: float) -> None:
    """x^2 leaves the range of f32 where (x/d)^2 does not."""
    a, b = np.random.default_rng(1).standard_normal((2, ROWS, LENGTH)).astype(np.float32)
    a, b = a * np.float32(scale), b * np.float32(scale)
    ratio = a.astype(np.float64) / np.abs(b).max(1, keepdims=True)
    got = np.asarray(compiled(SCALED, schedule)(a, b), np.float64)
    assert np.abs(got / np.square(ratio).sum(1) - 1).max() < 1e-5
