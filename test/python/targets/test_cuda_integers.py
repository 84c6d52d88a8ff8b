"""Products of integers of 8 bits by units of warpgroups: results of the simulator, equal to those in
i64 but for what i32 wraps, or to f32 rounded once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from drivers.simulated import execute
from test_cuda_bytes import compiled

SIGNED, UNSIGNED = "si8", "ui8"


def product(
    m: int, n: int, k: int, kinds: tuple[str, str] = (SIGNED, SIGNED), by: str = "j, k",
    sums: str = "i32", result: str = "i32",
) -> str:  # fmt: skip
    """Rows times columns, in sums of ``sums``; with a factor for each row and rounded to bf16 where
    ``result`` says so. ``by``: how the second operand lies."""
    y = f"tensor<{f'{n}x{k}' if by == 'j, k' else f'{k}x{n}'}xi8>"
    sign = {SIGNED: "s", UNSIGNED: "u"}
    widen = [
        f"arith.ext{sign[kind]}i" if sums == "i32" else f"arith.{sign[kind]}itofp" for kind in kinds
    ]
    letter = "i" if sums == "i32" else "f"
    zero = "0" if sums == "i32" else "0.0"
    scaled = {
        "i32": "linalg.yield %v : i32",
        "f32": "linalg.yield %v : f32",
        "bf16": f"""{"%w = arith.sitofp %v : i32 to f32" if sums == "i32" else "%w = arith.negf %v : f32"}
    %m = arith.mulf %w, %f : f32
    %c = arith.truncf %m : f32 to bf16
    linalg.yield %c : bf16""",
    }[result]
    return f"""
func.func @main(%x: tensor<{m}x{k}xi8>, %y: {y}, %s: tensor<{m}xf32>) -> tensor<{m}x{n}x{result}> {{
  %zero = arith.constant {zero} : {sums}
  %e = tensor.empty() : tensor<{m}x{n}x{sums}>
  %z = linalg.fill ins(%zero : {sums}) outs(%e : tensor<{m}x{n}x{sums}>) -> tensor<{m}x{n}x{sums}>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
      affine_map<(i, j, k) -> ({by})>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %y : tensor<{m}x{k}xi8>, {y}) outs(%z : tensor<{m}x{n}x{sums}>) {{
  ^bb0(%x0: i8, %y0: i8, %o: {sums}):
    %xw = {widen[0]} %x0 : i8 to {sums}
    %yw = {widen[1]} %y0 : i8 to {sums}
    %p = arith.mul{letter} %xw, %yw : {sums}
    %t = arith.add{letter} %o, %p : {sums}
    linalg.yield %t : {sums}
  }} -> tensor<{m}x{n}x{sums}>
  %e2 = tensor.empty() : tensor<{m}x{n}x{result}>
  %c2 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%r, %s : tensor<{m}x{n}x{sums}>, tensor<{m}xf32>) outs(%e2 : tensor<{m}x{n}x{result}>) {{
  ^bb0(%v: {sums}, %f: f32, %o2: {result}):
    {scaled}
  }} -> tensor<{m}x{n}x{result}>
  return %c2 : tensor<{m}x{n}x{result}>
}}"""


NUMPY = {SIGNED: np.int8, UNSIGNED: np.uint8}
RESULTS = {"i32": np.int32, "f32": np.float32, "bf16": ml_dtypes.bfloat16}


def check(
    m: int, n: int, k: int, kinds: tuple[str, str] = (SIGNED, SIGNED), by: str = "j, k",
    sums: str = "i32", result: str = "i32", extremes: bool = False,
) -> None:  # fmt: skip
    exe = compiled(product(m, n, k, kinds, by, sums, result))
    names = [kind[0] + "8" for kind in kinds]
    assert any(f".s32.{a}.{b} " in exe.asm for a, b in (names, names[::-1]))
    rng = np.random.default_rng(m + n * k)
    x, y = (
        rng.integers(
            np.iinfo(NUMPY[kind]).min, np.iinfo(NUMPY[kind]).max, shape, NUMPY[kind], endpoint=True
        )
        for kind, shape in zip(kinds, ((m, k), (n, k)), strict=True)
    )
    if extremes:
        x[:], y[:] = np.iinfo(x.dtype).min or 255, np.iinfo(y.dtype).min or 255
    s = rng.uniform(0.5, 2, m).astype(np.float32)
    exact = x.astype(np.int64) @ y.astype(np.int64).T
    want = exact.astype(np.int32) if result == "i32" else exact.astype(np.float32)
    if result == "bf16":
        want = want * s[:, None] * (1 if sums == "i32" else -1)
        want = want.astype(ml_dtypes.bfloat16)
    given = [x.view(np.int8), (y if by == "j, k" else np.ascontiguousarray(y.T)).view(np.int8), s]
    found = execute(exe, given, [np.empty((m, n), RESULTS[result])])[0][0]
    assert (found == want).all()


@pytest.mark.parametrize(
    "m, n, k", [(128, 256, 256), (65, 40, 144), (130, 264, 1040), (16, 24, 2048), (5, 1000, 16)]
)
def test_products(m: int, n: int, k: int) -> None:
    check(m, n, k)


@pytest.mark.sample(2)
@pytest.mark.parametrize("sums", ["i32", "f32"])
@pytest.mark.parametrize("rows", [2, 4, 7])
def test_few_rows(rows: int, sums: str) -> None:
    check(rows, 200, 1024, sums=sums, result="bf16")


@pytest.mark.parametrize("kinds", [(UNSIGNED, SIGNED), (SIGNED, UNSIGNED), (UNSIGNED, UNSIGNED)])
@pytest.mark.parametrize("sums", ["i32", "f32"])
def test_signs(kinds: tuple[str, str], sums: str) -> None:
    check(70, 136, 272, kinds, sums=sums, result=sums)


@pytest.mark.parametrize("sums", ["i32", "f32"])
def test_factors_of_rows_behind_the_sum(sums: str) -> None:
    check(130, 72, 400, sums=sums, result="bf16")


def test_sums_of_floats_are_rounded_once() -> None:
    """From 2**24 on f32 has not every integer."""
    check(16, 24, 4096, sums="f32", result="f32", extremes=True)


def test_sums_of_integers_wrap() -> None:
    check(8, 16, 1 << 18, kinds=(UNSIGNED, UNSIGNED), extremes=True)


def test_few_results_of_long_sums_are_shared() -> None:
    """Blocks of a cluster exchange parts of the sums."""
    exe = compiled(product(64, 64, 16384))
    assert "sum_splits" in exe.ir["plan"]
    check(64, 64, 16384)


def test_an_operand_that_does_not_lie_along_the_sum_is_copied() -> None:
    exe = compiled(product(1000, 1024, 2048, by="k, j"))
    assert ".s32.s8.s8 " in exe.asm
    assert "outs(%alloc : memref<1024x2048xi8>)" in exe.ir["plan"]


def test_sums_of_floats_longer_than_i32_are_cut() -> None:
    check(16, 24, 1 << 18, sums="f32", result="f32", extremes=True)


def packed(m: int, n: int, k: int) -> str:
    """bf16 numbers times weights of 8 bits."""
    return f"""
func.func @main(%x: tensor<{m}x{k}xbf16>, %w: tensor<{n}x{k}xi8>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
      affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<{m}x{k}xbf16>, tensor<{n}x{k}xi8>) outs(%z : tensor<{m}x{n}xf32>) {{
  ^bb0(%x0: bf16, %w0: i8, %o: f32):
    %w1 = arith.sitofp %w0 : i8 to bf16
    %u = arith.extf %x0 : bf16 to f32
    %v = arith.extf %w1 : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}"""


@pytest.mark.parametrize("rows", [2, 3, 5, 8, 17])
def test_packed_weights_are_widened_on_their_way(rows: int) -> None:
    """One kernel, whose units multiply however few rows there are."""
    n, k = 136, 512
    exe = compiled(packed(rows, n, k))
    assert len(exe.resources) == 1 and "bf16.bf16.f32" in exe.asm
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, k)).astype(ml_dtypes.bfloat16)
    w = rng.integers(-128, 128, (n, k)).astype(np.int8)
    wide = x.astype(np.float64), w.astype(np.float64)
    exact, most = wide[0] @ wide[1].T, np.abs(wide[0]) @ np.abs(wide[1]).T
    found = execute(exe, [x, w], [np.empty((rows, n), np.float32)])[0][0]
    assert (np.abs(found - exact) <= most * k * 2.0**-24).all()
