"""Loop orders of the plain path: better memory order, the same numbers."""

import numpy as np
import pytest
import redfuse
from redfuse import loops
from redfuse.bench import exact, programs

MATMUL = """
func.func @main(%a: memref<5x7xf32>, %b: memref<7x6xf32>, %c: memref<5x6xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<5x7xf32>, memref<7x6xf32>) outs(%c : memref<5x6xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    INDEX
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}
"""


def ordered(text: str) -> str:
    import mlir.ir as ir

    with ir.Context():
        module = ir.Module.parse(text)
        loops.order(module)
        assert module.operation.verify()
        return str(module)


def test_the_last_dim_of_a_matmul_goes_innermost() -> None:
    text = ordered(MATMUL.replace("INDEX", ""))
    assert '["parallel", "reduction", "parallel"]' in text
    assert "(d0, d1, d2) -> (d0, d1)" in text
    assert "(d0, d1, d2) -> (d1, d2)" in text
    assert "(d0, d1, d2) -> (d0, d2)" in text


@pytest.mark.parametrize(
    "text",
    [
        MATMUL.replace("INDEX", "%i = linalg.index 2 : index"),
        MATMUL.replace("INDEX", "")
        .replace("(m, n, k) -> (k, n)", "(m, n, k) -> (n, k)")
        .replace("7x6xf32", "6x7xf32"),
    ],
)
def test_what_would_not_gain_stays(text: str) -> None:
    assert '["parallel", "parallel", "reduction"]' in ordered(text)


def test_convolutions_and_matmuls_are_right() -> None:
    random = np.random.default_rng(0)
    x, w1, w2 = (
        random.standard_normal(shape).astype(np.float32)
        for shape in ((2, 3, 9, 9), (4, 3, 3, 3), (5, 4, 1, 1))
    )
    got = redfuse.compile(programs.conv_chain(2, 3, 9, 4, 5, 3), options={"fuse": False})(x, w1, w2)
    assert exact.error(exact.conv_chain([x, w1, w2]), [got]) < 1e-5
