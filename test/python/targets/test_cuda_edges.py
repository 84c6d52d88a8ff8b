"""Products at the edges of tensors: what lies behind the part that is summed, and results whose rows
are no whole vectors. By the simulator, beside numpy in fp64."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from drivers.simulated import execute

# Of f16, rounded once behind sums in f32.
TOLERANCE = 2.0**-10


def product(rows: int, length: int, columns: int, behind: int = 0) -> str:
    """a[:, :length] @ transpose(b), in f16, where a has some more columns."""
    a, whole = f"tensor<{rows}x{length}xf16>", f"tensor<{rows}x{length + behind}xf16>"
    b, c = f"tensor<{columns}x{length}xf16>", f"{rows}x{columns}"
    maps = ", ".join(f"affine_map<(i, j, k) -> ({m})>" for m in ("i, k", "j, k", "i, j"))
    return f"""func.func @main(%whole: {whole}, %b: {b}) -> tensor<{c}xf16> {{
  %zero = arith.constant 0.0 : f32
  %a = tensor.extract_slice %whole[0, 0] [{rows}, {length}] [1, 1] : {whole} to {a}
  %e = tensor.empty() : tensor<{c}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{c}xf32>) -> tensor<{c}xf32>
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {a}, {b}) outs(%f : tensor<{c}xf32>) {{
  ^bb0(%x: f16, %y: f16, %s: f32):
    %xf = arith.extf %x : f16 to f32
    %yf = arith.extf %y : f16 to f32
    %xy = arith.mulf %xf, %yf : f32
    %n = arith.addf %s, %xy : f32
    linalg.yield %n : f32
  }} -> tensor<{c}xf32>
  %t = arith.truncf %r : tensor<{c}xf32> to tensor<{c}xf16>
  return %t : tensor<{c}xf16>
}}"""


def check(chip: str, rows: int, length: int, columns: int, behind: int, units: str) -> None:
    data = np.random.default_rng([rows, length, columns])
    a = data.standard_normal((rows, length + behind)).astype(np.float16)
    a[:, length:] = np.inf
    b = data.standard_normal((columns, length)).astype(np.float16)
    text = product(rows, length, columns, behind)
    exe = redfuse.compile(text, target=f"cuda:{chip}", options={"cache": False})
    assert units in exe.asm
    (got,), _ = execute(exe, [a, b], [np.zeros((rows, columns), np.float16)])
    exact = a[:, :length].astype(np.float64) @ b.T.astype(np.float64)
    error = np.abs(got.astype(np.float64) - exact)
    sizes = np.abs(a[:, :length].astype(np.float64)) @ np.abs(b.T.astype(np.float64))
    assert (error <= TOLERANCE * np.abs(exact) + 2.0**-22 * length * sizes).all()


@pytest.mark.parametrize("chip", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("length", [72, 136])
def test_infinities_behind_a_sum_are_not_read(chip: str, length: int) -> None:
    units = "wgmma" if chip == "sm_90a" else "mma.sync"
    check(chip, 200, length, 264, 192 - length, units)


@pytest.mark.parametrize("columns", [21, 45, 333, 1002])
def test_rows_of_any_length_are_stored_by_warps(columns: int) -> None:
    check("sm_90a", 264, 64, columns, 0, "stmatrix")
