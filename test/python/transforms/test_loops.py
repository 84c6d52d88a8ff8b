"""Loop orders of the plain path: better memory order, the same numbers. Loops over nothing."""

import time

import numpy as np
import processor
import pytest
import redfuse
from redfuse.bench import exact, programs


def test_convolutions_and_matmuls_are_right() -> None:
    random = np.random.default_rng(0)
    x, w1, w2 = (
        random.standard_normal(shape).astype(np.float32)
        for shape in ((2, 3, 9, 9), (4, 3, 3, 3), (5, 4, 1, 1))
    )
    got = redfuse.compile(programs.conv_chain(2, 3, 9, 4, 5, 3), options={"fuse": False})(x, w1, w2)
    assert exact.error(exact.conv_chain([x, w1, w2]), [got]) < 1e-5


FILLED = """
  %f = arith.constant 1.5 : f32
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %v = linalg.fill ins(%f : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
"""
FILL = f"""func.func @main(%n: index, %m: index) -> tensor<?x?xf32> {{{FILLED}
  return %v : tensor<?x?xf32>
}}"""
SUM = f"""func.func @main(%n: index, %m: index) -> tensor<f32> {{{FILLED}
  %z = arith.constant 0.0 : f32
  %i = tensor.empty() : tensor<f32>
  %o = linalg.fill ins(%z : f32) outs(%i : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce {{ arith.addf }} ins(%v : tensor<?x?xf32>) outs(%o : tensor<f32>)
      dimensions = [0, 1]
  return %r : tensor<f32>
}}"""


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("text", [FILL, SUM], ids=["fill", "sum"])
def test_loops_over_nothing(text: str, opt_level: int, fuse: bool) -> None:
    """2^32 rows of no elements are not counted, which takes seconds."""
    exe = redfuse.compile(text, options={"cache": False, "fuse": fuse, "opt_level": opt_level})
    for n, m in ((2**32, 0), (0, 2**32)):
        start = time.process_time()
        got = np.asarray(exe(n, m))
        assert time.process_time() - start < 0.5 * processor.slowness()
        assert got.shape == (n, m) if text == FILL else got == 0
    got = np.asarray(exe(3, 5))
    assert (got == (1.5 if text == FILL else 22.5)).all()
