"""Functions that are called like what the compiler makes of others."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse

# A sort, and a sum in a kernel of its own.
SORTED = """
func.func @NAME(%x: tensor<8x512xf32>, %y: tensor<8x512xf32>) -> (tensor<8x512xf32>, tensor<8xf32>) {
  %s = tm_tensor.sort dimension(1) outs(%x : tensor<8x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<8x512xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.reduce { arith.addf } ins(%y : tensor<8x512xf32>) outs(%f : tensor<8xf32>) dimensions = [1]
  return %s, %r : tensor<8x512xf32>, tensor<8xf32>
}"""
# A sum in a kernel, and rows that the host writes: on a GPU a kernel of its own.
WRITTEN = """
func.func @NAME(%x: tensor<64x64xf32>, %v: tensor<32xf32>, %i: index) -> (tensor<64xf32>, tensor<64xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<64x64xf32>) outs(%f : tensor<64xf32>) dimensions = [1]
  %g = tensor.insert_slice %v into %f[%i] [32] [1] : tensor<32xf32> into tensor<64xf32>
  return %r, %g : tensor<64xf32>, tensor<64xf32>
}"""
NAMES = ["select", "host", "select_0", "host_0", "main_0", "malloc", "memcpy", "free", "expf"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
def test_any_name_compiles(name: str) -> None:
    """On the CPU with the same results, for GPUs at all."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 8, 512), np.float32)
    exe = redfuse.compile(SORTED.replace("NAME", name), options={"cache": False}, target="cpu")
    assert exe.explanation["kernels"]
    values, sums = exe(x, y)
    assert np.array_equal(values, np.sort(x, axis=1))
    np.testing.assert_allclose(sums, y.astype(np.float64).sum(1), atol=1e-3)
    exe = redfuse.compile(WRITTEN.replace("NAME", name), options={"cache": False}, target="cpu")
    square, rows = rng.standard_normal((64, 64), np.float32), np.arange(32, dtype=np.float32)
    written = exe(square, rows, 5)[1]
    assert np.array_equal(written, np.pad(rows, (5, 27)))
    for text in (SORTED, WRITTEN):
        made = redfuse.compile(
            text.replace("NAME", name), options={"cache": False}, target="cuda:sm_90a"
        )
        assert len(made.explanation["kernels"]) == 1
