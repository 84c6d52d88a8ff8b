"""Windows over the edges of long rows: threads beside an edge and others run different code. By the
simulator, beside numpy in fp64."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from drivers.simulated import execute


def sums(rows: int, length: int, window: int, pad: int) -> str:
    """Of windows that move by one place, with zeros on both sides of a row."""
    padded, results = length + 2 * pad, length + 2 * pad - window + 1
    return f"""func.func @main(%x: tensor<{rows}x{length}xf32>) -> tensor<{rows}x{results}xf32> {{
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, {pad}] high[0, {pad}] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  }} : tensor<{rows}x{length}xf32> to tensor<{rows}x{padded}xf32>
  %w = tensor.empty() : tensor<{window}xf32>
  %e = tensor.empty() : tensor<{rows}x{results}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{rows}x{results}xf32>) -> tensor<{rows}x{results}xf32>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> (i, j + k)>, affine_map<(i, j, k) -> (k)>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%p, %w : tensor<{rows}x{padded}xf32>, tensor<{window}xf32>) outs(%f : tensor<{rows}x{results}xf32>) {{
  ^bb0(%a: f32, %unused: f32, %s: f32):
    %n = arith.addf %s, %a : f32
    linalg.yield %n : f32
  }} -> tensor<{rows}x{results}xf32>
  return %r : tensor<{rows}x{results}xf32>
}}"""


@pytest.mark.parametrize(
    ("length", "window", "pad"),
    [(1000, 8, 4), (997, 5, 2), (1031, 6, 5), (50, 8, 4)],  # the last has no row long enough
)
def test_sums_of_windows(length: int, window: int, pad: int) -> None:
    """No result is far: each is rounded as often as elements are added."""
    x = np.random.default_rng([length, window]).standard_normal((3, length)).astype(np.float32)
    x[1, 7] = np.inf  # in the windows that have it, and in no other
    exe = redfuse.compile(
        sums(3, length, window, pad), target="cuda:sm_90a", options={"cache": False}
    )
    padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad)))
    want = np.lib.stride_tricks.sliding_window_view(padded, window, 1)
    (got,), _ = execute(exe, [x], [np.zeros(want.shape[:2], np.float32)])
    exact, sizes = want.sum(2), np.abs(want).sum(2)
    infinite = np.isinf(exact)
    np.testing.assert_array_equal(got[infinite], exact[infinite])
    error = np.abs(got[~infinite].astype(np.float64) - exact[~infinite])
    assert (error <= 2.0**-24 * window * sizes[~infinite]).all()
