"""Products of floats of 8 bits by units of warpgroups: results of the simulator, whose unit has as
few digits as theirs, against fp64."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import pytest
import redfuse
from drivers.simulated import execute

TYPES = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
E4M3, E5M2 = TYPES


def product(
    m: int, n: int, k: int, types: tuple[str, str] = (E4M3, E4M3), by: tuple[str, str] = ("i, k", "j, k"),
    result: str = "bf16",
) -> str:  # fmt: skip
    """Rows times columns with a factor for each row, rounded to ``result``; ``by``: how operands lie."""
    sizes = {"i": m, "j": n, "k": k}
    a, b = (
        f"tensor<{'x'.join(str(sizes[d]) for d in dims.split(', '))}x{kind}>"
        for dims, kind in zip(by, types, strict=True)
    )
    end = "%m" if result == "f32" else "%c"
    round_it = "" if result == "f32" else f"%c = arith.truncf %m : f32 to {result}"
    return f"""
func.func @main(%x: {a}, %y: {b}, %s: tensor<{m}xf32>) -> tensor<{m}x{n}x{result}> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> ({by[0]})>,
      affine_map<(i, j, k) -> ({by[1]})>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %y : {a}, {b}) outs(%z : tensor<{m}x{n}xf32>) {{
  ^bb0(%x0: {types[0]}, %y0: {types[1]}, %o: f32):
    %xw = arith.extf %x0 : {types[0]} to f32
    %yw = arith.extf %y0 : {types[1]} to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>
  %e2 = tensor.empty() : tensor<{m}x{n}x{result}>
  %c2 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%r, %s : tensor<{m}x{n}xf32>, tensor<{m}xf32>) outs(%e2 : tensor<{m}x{n}x{result}>) {{
  ^bb0(%v: f32, %f: f32, %o: {result}):
    %m = arith.mulf %v, %f : f32
    {round_it}
    linalg.yield {end} : {result}
  }} -> tensor<{m}x{n}x{result}>
  return %c2 : tensor<{m}x{n}x{result}>
}}"""


def compiled(program: str, **options: object) -> redfuse.Executable:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # ptxas warns of spills, and of products made one by one
        return redfuse.compile(program, target="cuda:sm_90a", options={"cache": False, **options})


def check(
    program: str, m: int, n: int, k: int, types: tuple[str, str] = (E4M3, E4M3), order: str = "nn"
) -> None:
    exe = compiled(program)
    kinds = {E4M3: "e4m3", E5M2: "e5m2"}
    assert any(f"f32.{kinds[a]}.{kinds[b]} " in exe.asm for a, b in (types, types[::-1]))
    rng = np.random.default_rng(m * n + k)
    x, y = (
        (rng.standard_normal(shape) * 2).astype(TYPES[kind])
        for shape, kind in zip(((m, k), (n, k)), types, strict=True)
    )
    s = rng.uniform(0.5, 2, m).astype(np.float32)
    wide = [v.astype(np.float64) for v in (x, y)]
    expected = wide[0] @ wide[1].T * s[:, None]
    # What 128 products lose, 2**-13 of the largest of them or of their sum each, and the result's
    # rounding.
    lost = (np.abs(wide[0]) @ np.abs(wide[1]).T) * s[:, None] * 2.0**-12 + np.abs(
        expected
    ) * 2.0**-8
    given = [
        v if o == "n" else np.ascontiguousarray(v.T) for v, o in zip((x, y), order, strict=True)
    ]
    kind = ml_dtypes.bfloat16 if "xbf16> {" in program else np.float16
    found = execute(exe, [*given, s], [np.empty((m, n), kind)])[0][0].astype(np.float64)
    assert (np.abs(found - expected) <= lost).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "m, n, k", [(128, 256, 256), (65, 40, 144), (130, 264, 1040), (16, 24, 2048), (8, 1000, 16)]
)
def test_products(m: int, n: int, k: int) -> None:
    check(product(m, n, k), m, n, k)


@pytest.mark.parametrize("types", [(E5M2, E4M3), (E4M3, E5M2), (E5M2, E5M2)])
def test_types(types: tuple[str, str]) -> None:
    check(product(70, 136, 272, types), 70, 136, 272, types)


@pytest.mark.parametrize("result", ["f16", "bf16"])
def test_results(result: str) -> None:
    check(product(64, 64, 128, result=result), 64, 64, 128)


def test_long_sums_keep_their_digits() -> None:
    """Of 8192 numbers about 1 the unit alone would lose most behind the first 2**13."""
    m, n, k = 16, 24, 8192
    exe = compiled(product(m, n, k))
    assert "f32.e4m3.e4m3 " in exe.asm
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(0.5, 1.5, (r, k)).astype(TYPES[E4M3]) for r in (m, n))
    expected = x.astype(np.float64) @ y.astype(np.float64).T
    given = [x, y, np.ones(m, np.float32)]
    found = execute(exe, given, [np.empty((m, n), ml_dtypes.bfloat16)])[0][0].astype(np.float64)
    # The result's rounding, and a 2**13th of a tile's sum for each of its products.
    assert (np.abs(found / expected - 1) <= 2.0**-8 + 128 * 2.0**-13 / 2).all()


def test_an_operand_that_does_not_lie_along_the_sum_is_copied() -> None:
    m, n, k = 1000, 1024, 2048
    exe = compiled(product(m, n, k, by=("i, k", "k, j")))
    assert "f32.e4m3.e4m3 " in exe.asm
    assert "outs(%alloc : memref<1024x2048xf8E4M3FN>)" in exe.ir["plan"]


def test_sums_that_stay_f32_are_of_16_bit_floats() -> None:
    """Eight bits' sums have fewer digits than a result of f32 shows."""
    exe = compiled(product(2048, 2048, 4096, result="f32"))
    assert "f32.e4m3" not in exe.asm and "k16.f32.bf16.bf16" in exe.asm
