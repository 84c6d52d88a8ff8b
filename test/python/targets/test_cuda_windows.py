"""Windows over the edges of long rows: threads beside an edge and others run different code. By the
simulator, beside numpy in fp64."""

from __future__ import annotations

import ml_dtypes
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


def maxima(rows: int, length: int, window: int) -> str:
    """Of windows that begin where the one before ends, in bf16."""
    results = length // window
    return f"""func.func @main(%x: tensor<{rows}x{length}xbf16>) -> tensor<{rows}x{results}xbf16> {{
  %least = arith.constant 0xFF80 : bf16
  %w = tensor.empty() : tensor<{window}xbf16>
  %e = tensor.empty() : tensor<{rows}x{results}xbf16>
  %f = linalg.fill ins(%least : bf16) outs(%e : tensor<{rows}x{results}xbf16>) -> tensor<{rows}x{results}xbf16>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> (i, {window} * j + k)>, affine_map<(i, j, k) -> (k)>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<{rows}x{length}xbf16>, tensor<{window}xbf16>) outs(%f : tensor<{rows}x{results}xbf16>) {{
  ^bb0(%a: bf16, %unused: bf16, %s: bf16):
    %n = arith.maximumf %s, %a : bf16
    linalg.yield %n : bf16
  }} -> tensor<{rows}x{results}xbf16>
  return %r : tensor<{rows}x{results}xbf16>
}}"""


# The last ends with the array; rows of an odd number of elements begin in the middle of words.
@pytest.mark.parametrize(
    ("length", "window"), [(1001, 9), (997, 11), (613, 13), (1024, 16), (341, 31), (520, 8)]
)
def test_maxima_of_windows(length: int, window: int) -> None:
    """Neighbours are loaded as vectors, which may begin anywhere: no result is off by one."""
    bits = np.dtype(ml_dtypes.bfloat16)
    draw = np.random.default_rng([length, window])
    x = draw.standard_normal((3, length)).astype(bits)
    x[1, 5] = np.nan  # in one window
    exe = redfuse.compile(maxima(3, length, window), target="cuda:sm_90a", options={"cache": False})
    count = length // window
    want = x[:, : count * window].reshape(3, count, window).astype(np.float64).max(2)
    (got,), _ = execute(exe, [x], [np.zeros(want.shape, bits)])
    np.testing.assert_array_equal(got.astype(np.float64), want)
