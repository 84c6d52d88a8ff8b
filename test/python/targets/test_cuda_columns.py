"""Reductions over a middle dim, with columns of odd extents: vectors of a row begin anywhere, and the
last of a tile has elements of the one before. By the simulator, beside numpy in fp64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import redfuse
from drivers.simulated import execute

TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}


def sums(shape: tuple[int, int, int], kind: str) -> str:
    """Sums in f32 of elements of ``kind`` over the middle dim."""
    x, r = f"tensor<{'x'.join(map(str, shape))}x{kind}>", f"tensor<{shape[0]}x{shape[2]}xf32>"
    wide = "%w = arith.extf %v : bf16 to f32" if kind == "bf16" else ""
    return f"""
func.func @main(%x: {x}) -> {r} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {r}
  %f = linalg.fill ins(%zero : f32) outs(%e : {r}) -> {r}
  %s = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k)>],
      iterator_types = ["parallel", "reduction", "parallel"]}} ins(%x : {x}) outs(%f : {r}) {{
  ^bb0(%v: {kind}, %s: f32):
    {wide}
    %n = arith.addf %s, {"%w" if wide else "%v"} : f32
    linalg.yield %n : f32
  }} -> {r}
  return %s : {r}
}}"""


# The last tile of 128 columns has 3 (fewer than a vector), 1, 105, and 131 - 128 again.
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", [(2, 300, 131), (1, 600, 257), (3, 520, 105), (5, 257, 515)])
@pytest.mark.sample(3)
def test_odd_columns(kind: str, shape: tuple[int, int, int]) -> None:
    exe = redfuse.compile(sums(shape, kind), target="cuda:sm_90a", options={"cache": False})
    assert "ld.global.v4.b32" in exe.asm
    for seed in range(2):
        x = np.random.default_rng([*shape, seed]).standard_normal(shape).astype(TYPES[kind])
        exact = x.astype(np.float64).sum(1)
        (got,), _ = execute(exe, [x], [np.zeros(exact.shape, np.float32)])
        # A sum of n numbers in f32, in any order.
        allowed = shape[1] * 2.0**-24 * np.abs(x.astype(np.float64)).sum(1)
        assert (np.abs(got - exact) <= allowed).all()
