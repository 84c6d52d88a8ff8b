"""Products by weights of 4 and 8 bits, which become 16-bit floats by words of four bytes: exactly
those that the program rounds."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import redfuse
from drivers.simulated import execute

NUMPY = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
GROUP = 128


def product(m: int, n: int, k: int, t: str, code: str) -> str:
    """Rows by weights that ``code`` makes, an f32 of the byte %b, times a scale of each group."""
    groups = k // GROUP
    return f"""
#x = affine_map<(i, j, g, p, h) -> (i, g, p, h)>
#w = affine_map<(i, j, g, p, h) -> (j, g, p)>
#s = affine_map<(i, j, g, p, h) -> (j, g)>
#r = affine_map<(i, j, g, p, h) -> (i, j)>
func.func @main(%x: tensor<{m}x{groups}x{GROUP // 2}x2x{t}>, %w: tensor<{n}x{groups}x{GROUP // 2}xi8>,
                %s: tensor<{n}x{groups}x{t}>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r = linalg.generic {{indexing_maps = [#x, #w, #s, #r],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}}
      ins(%x, %w, %s : tensor<{m}x{groups}x{GROUP // 2}x2x{t}>, tensor<{n}x{groups}x{GROUP // 2}xi8>,
          tensor<{n}x{groups}x{t}>) outs(%init : tensor<{m}x{n}xf32>) {{
  ^bb0(%a: {t}, %b: i8, %c: {t}, %o: f32):
    {code}
    %scale = arith.extf %c : {t} to f32
    %scaled = arith.mulf %f, %scale : f32
    %rounded = arith.truncf %scaled : f32 to {t}
    %wide = arith.extf %a : {t} to f32
    %weight = arith.extf %rounded : {t} to f32
    %p = arith.mulf %wide, %weight : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}"""


HALVES = """%fifteen = arith.constant 15 : i8
    %four = arith.constant 4 : i8
    %one = arith.constant 1 : index
    %h = linalg.index 4 : index
    %isLow = arith.cmpi slt, %h, %one : index
    %low = arith.andi %b, %fifteen : i8
    %high = arith.shrui %b, %four : i8
    %half = arith.select %isLow, %low, %high : i8
    """
CODES = {
    "four bits": HALVES
    + """%u = arith.uitofp %half : i8 to f32
    %eight = arith.constant 8.0 : f32
    %f = arith.subf %u, %eight : f32""",
    "four bits without a sign": HALVES + "%f = arith.uitofp %half : i8 to f32",
    "eight bits": "%f = arith.sitofp %b : i8 to f32",
    "eight bits without a sign": "%f = arith.uitofp %b : i8 to f32",
    "seven bits": """%seven = arith.constant 127 : i8
    %m = arith.andi %b, %seven : i8
    %f = arith.uitofp %m : i8 to f32""",
}


def decoded(w: np.ndarray, name: str) -> np.ndarray:
    """The whole numbers of [columns, groups, bytes], each byte as two."""
    if name.startswith("four"):
        return np.stack((w & 15, w >> 4), -1).astype(np.float64) - 8 * (name == "four bits")
    w = w.view(np.int8) if name == "eight bits" else w & (127 if name == "seven bits" else 255)
    return np.stack((w, w), -1).astype(np.float64)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("t", NUMPY)
@pytest.mark.parametrize("rows", [3, 16])
def test_codes_are_what_the_program_makes_of_them(name: str, t: str, rows: int) -> None:
    n, k = 136, 256
    exe = redfuse.compile(
        product(rows, n, k, t, CODES[name]), target="cuda:sm_90a", options={"cache": False}
    )
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, k // GROUP, GROUP // 2, 2)).astype(NUMPY[t])
    w = rng.integers(0, 256, (n, k // GROUP, GROUP // 2)).astype(np.uint8)
    # Scales of all sizes, the smallest subnormal.
    exponents = rng.integers(-24 if t == "f16" else -60, 6, (n, k // GROUP))
    s = (rng.standard_normal((n, k // GROUP)) * 2.0**exponents).astype(NUMPY[t])
    weights = (decoded(w, name) * s.astype(np.float64)[..., None, None]).astype(NUMPY[t])
    left, right = x.astype(np.float64).reshape(rows, k), weights.astype(np.float64).reshape(n, k)
    exact, most = left @ right.T, np.abs(left) @ np.abs(right).T
    found = execute(exe, [x, w.view(np.int8), s], [np.empty((rows, n), np.float32)])[0][0]
    assert (np.abs(found - exact) <= most * k * 2.0**-24).all()


def test_a_conversion_is_no_instruction_an_element() -> None:
    exe = redfuse.compile(
        product(16, 4096, 4096, "bf16", CODES["four bits"]),
        target="cuda:sm_90a", options={"cache": False},
    )  # fmt: skip
    assert "prmt" in exe.asm and "mul.rn.bf16x2" in exe.asm
    assert "cvt.rn.bf16.u16" not in exe.asm and "cvt.rn.f32.u" not in exe.asm
