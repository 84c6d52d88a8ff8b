"""States of many parts, whose splits are merged in several kernels, against fp64."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from redfuse.frontends.mlir import Source
from redfuse.lowering import lower
from redfuse.options import Options

ROWS, LENGTH, COLUMNS = 3, 1021, 5
# A layer norm that two products read: a state for each of their sums, relative to the mean.
PROGRAM = f"""
#xy = affine_map<(i, j) -> (i, j)>
#x = affine_map<(i, j) -> (i)>
#y = affine_map<(i, j) -> (j)>
#row = affine_map<(i, k, j) -> (i, j)>
#weight = affine_map<(i, k, j) -> (k, j)>
#out = affine_map<(i, k, j) -> (i, k)>
!t = tensor<{ROWS}x{LENGTH}xf32>
!v = tensor<{LENGTH}xf32>
!w = tensor<{COLUMNS}x{LENGTH}xf32>
!r = tensor<{ROWS}xf32>
!o = tensor<{ROWS}x{COLUMNS}xf32>
func.func @main(%x: !t, %gamma: !v, %beta: !v, %w0: !w, %w1: !w) -> (!o, !o) {{
  %zero = arith.constant 0.0 : f32
  %n = arith.constant {LENGTH}.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %row = tensor.empty() : !r
  %whole = tensor.empty() : !t
  %small = tensor.empty() : !o
  %r0 = linalg.fill ins(%zero : f32) outs(%row : !r) -> !r
  %o0 = linalg.fill ins(%zero : f32) outs(%small : !o) -> !o
  %sum = linalg.generic {{indexing_maps = [#xy, #x], iterator_types = ["parallel", "reduction"]}}
      ins(%x : !t) outs(%r0 : !r) {{
  ^bb0(%a: f32, %s: f32):
    %1 = arith.addf %s, %a : f32
    linalg.yield %1 : f32
  }} -> !r
  %centred = linalg.generic {{indexing_maps = [#xy, #x, #xy],
      iterator_types = ["parallel", "parallel"]}} ins(%x, %sum : !t, !r) outs(%whole : !t) {{
  ^bb0(%a: f32, %s: f32, %o: f32):
    %1 = arith.divf %s, %n : f32
    %2 = arith.subf %a, %1 : f32
    linalg.yield %2 : f32
  }} -> !t
  %squares = linalg.generic {{indexing_maps = [#xy, #x],
      iterator_types = ["parallel", "reduction"]}} ins(%centred : !t) outs(%r0 : !r) {{
  ^bb0(%a: f32, %s: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  }} -> !r
  %normed = linalg.generic {{indexing_maps = [#xy, #x, #y, #y, #xy],
      iterator_types = ["parallel", "parallel"]}}
      ins(%centred, %squares, %gamma, %beta : !t, !r, !v, !v) outs(%whole : !t) {{
  ^bb0(%a: f32, %s: f32, %g: f32, %b: f32, %o: f32):
    %1 = arith.divf %s, %n : f32
    %2 = arith.addf %1, %eps : f32
    %3 = math.rsqrt %2 : f32
    %4 = arith.mulf %a, %3 : f32
    %5 = arith.mulf %4, %g : f32
    %6 = arith.addf %5, %b : f32
    linalg.yield %6 : f32
  }} -> !t
  %p:2 = linalg.generic {{indexing_maps = [#row, #weight, #weight, #out, #out],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%normed, %w0, %w1 : !t, !w, !w) outs(%o0, %o0 : !o, !o) {{
  ^bb0(%a: f32, %u: f32, %v: f32, %s: f32, %t: f32):
    %1 = arith.mulf %a, %u : f32
    %2 = arith.addf %s, %1 : f32
    %3 = arith.mulf %a, %v : f32
    %4 = arith.addf %t, %3 : f32
    linalg.yield %2, %4 : f32, f32
  }} -> (!o, !o)
  return %p#0, %p#1 : !o, !o
}}
"""


@pytest.mark.parametrize("splits, merging", [(7, 0), (49, 0), (60, 1), (61, 0), (64, 1)])
def test_number_of_kernels(splits: int, merging: int) -> None:
    """61 states are no number of others."""
    asked = Options(schedule="split", splits=splits)
    text = str(lower(Source(PROGRAM), asked, stop_after="outline", target="cpu").module)
    assert text.count("redfuse.launch @main_0_neighbours") == merging


@pytest.mark.parametrize("splits", [7, 60, 61, 64])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.sample(3)
def test_any_number_of_splits(splits: int, offset: float) -> None:
    exe = redfuse.compile(
        PROGRAM, target="cpu", options={"schedule": "split", "splits": splits, "cache": False}
    )
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shapes = [(ROWS, LENGTH), (LENGTH,), (LENGTH,), (COLUMNS, LENGTH), (COLUMNS, LENGTH)]
        given = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        given[0] += np.float32(offset)
        x, gamma, beta, *weights = (a.astype(np.float64) for a in given)
        normed = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        normed = normed * gamma + beta
        for got, w in zip(exe(*given), weights, strict=True):
            size = np.abs(normed) @ np.abs(w).T
            error = np.abs(got - normed @ w.T) / size
            # f32: a few roundings of each term, and of a mean of 1000 where there is one
            assert error.max() < (1e-5 if offset else 1e-6)
