"""Products of numbers of 8 bits with scales, as programs multiply by them before the product: of
rows and columns, and of blocks of 128 elements of the sum. Results of the simulator against fp64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import redfuse
from drivers.simulated import execute
from test_cuda_bytes import compiled

E4M3, I8 = "f8E4M3FN", "i8"
NUMPY = {E4M3: ml_dtypes.float8_e4m3fn, I8: np.int8}
# Where scales of x and of w have elements: rows, columns, blocks of columns, blocks of the sum.
BLOCKS = ("m, g", "p, g")


def product(
    m: int, p: int, j: int, g: int, k: int, kind: str = E4M3, scales: tuple[str, str] = BLOCKS,
    rounds: bool = False,
) -> str:  # fmt: skip
    """``x[m, g, k] a`` by ``w[p, j, g, k] b``, summed over g and k, as bf16. ``rounds``: scaled
    numbers are rounded to bf16."""
    size = {"m": m, "p": p, "j": j, "g": g, "k": k}

    def tensor(dims: str, element: str) -> str:
        return f"tensor<{'x'.join(str(size[d]) for d in dims.split(', '))}x{element}>"

    x, w = tensor("m, g, k", kind), tensor("p, j, g, k", kind)
    a, b = (tensor(dims, "f32") for dims in scales)
    r, wide = tensor("m, p, j", "bf16"), tensor("m, p, j", "f32")
    extend = "arith.sitofp" if kind == I8 else "arith.extf"
    u, v, narrow = "%u", "%v", ""
    if rounds:
        u, v = "%u2", "%v2"
        narrow = """%u1 = arith.truncf %u : f32 to bf16
    %u2 = arith.extf %u1 : bf16 to f32
    %v1 = arith.truncf %v : f32 to bf16
    %v2 = arith.extf %v1 : bf16 to f32"""
    maps = ", ".join(
        f"affine_map<(m, p, j, g, k) -> ({dims})>"
        for dims in ("m, g, k", scales[0], "p, j, g, k", scales[1], "m, p, j")
    )
    return f"""
func.func @main(%x: {x}, %a: {a}, %w: {w}, %b: {b}) -> {r} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {wide}
  %z = linalg.fill ins(%zero : f32) outs(%e : {wide}) -> {wide}
  %r = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}}
      ins(%x, %a, %w, %b : {x}, {a}, {w}, {b}) outs(%z : {wide}) {{
  ^bb0(%x0: {kind}, %a0: f32, %w0: {kind}, %b0: f32, %o: f32):
    %x1 = {extend} %x0 : {kind} to f32
    %u = arith.mulf %x1, %a0 : f32
    %w1 = {extend} %w0 : {kind} to f32
    %v = arith.mulf %w1, %b0 : f32
    {narrow}
    %q = arith.mulf {u}, {v} : f32
    %t = arith.addf %o, %q : f32
    linalg.yield %t : f32
  }} -> {wide}
  %e2 = tensor.empty() : {r}
  %c = linalg.generic {{indexing_maps = [affine_map<(m, p, j) -> (m, p, j)>, affine_map<(m, p, j) -> (m, p, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%r : {wide}) outs(%e2 : {r}) {{
  ^bb0(%s: f32, %o: bf16):
    %n = arith.truncf %s : f32 to bf16
    linalg.yield %n : bf16
  }} -> {r}
  return %c : {r}
}}"""


def instruction(kind: str) -> str:
    return ".s32.s8.s8 " if kind == I8 else ".f32.e4m3.e4m3 "


def check(
    m: int, p: int, j: int, g: int, k: int, kind: str = E4M3, scales: tuple[str, str] = BLOCKS,
    rounds: bool = False,
) -> redfuse.Executable:  # fmt: skip
    exe = compiled(product(m, p, j, g, k, kind, scales, rounds))
    assert instruction(kind) in exe.asm
    rng = np.random.default_rng(m * p * j + g * k)
    size = {"m": m, "p": p, "j": j, "g": g}

    def numbers(*shape: int) -> np.ndarray:
        if kind == I8:
            return rng.integers(-128, 128, shape).astype(np.int8)
        return (2 * rng.standard_normal(shape)).astype(NUMPY[kind])

    x, w = numbers(m, g, k), numbers(p, j, g, k)
    # Far apart: a wrong scale shows.
    a, b = (
        np.exp2(rng.uniform(-3, 3, [size[d] for d in dims.split(", ")])).astype(np.float32)
        for dims in scales
    )

    def wide(numbers: np.ndarray, own: str, scale: np.ndarray, dims: str) -> np.ndarray:
        letters = dims.replace(", ", "")
        return np.einsum(
            f"{own},{letters}->{own}", numbers.astype(np.float64), scale.astype(np.float64)
        )

    u, v = wide(x, "mgk", a, scales[0]), wide(w, "pjgk", b, scales[1])
    exact = np.einsum("mgk,pjgk->mpj", u, v)
    all_of = np.einsum("mgk,pjgk->mpj", np.abs(u), np.abs(v))
    # What 128 products of floats lose, 2**-13 of the largest of them or of their sum each; the
    # scales' product, its product with a block's sum, and adding that up; the result's rounding.
    units = 2.0**-12 if kind == E4M3 else 0.0
    allowed = all_of * (units + (g + 3) * 2.0**-24) + np.abs(exact) * 2.0**-8
    found = execute(exe, [x, a, w, b], [np.empty((m, p, j), ml_dtypes.bfloat16)])[0][0]
    assert (np.abs(found.astype(np.float64) - exact) <= allowed).all()
    return exe


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", [E4M3, I8])
@pytest.mark.parametrize(
    "m, p, j, g, k",
    [
        (3, 2, 72, 32, 128),
        (130, 2, 128, 3, 128),
        (65, 1, 72, 5, 256),
        (8, 3, 32, 16, 128),
        (300, 2, 264, 2, 128),
    ],
)
def test_blocks(m: int, p: int, j: int, g: int, k: int, kind: str) -> None:
    check(m, p, j, g, k, kind)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", [E4M3, I8])
@pytest.mark.parametrize("scales", [("m, g", "p, j, g"), ("g", "p, g"), ("m, g", "p, j")])
def test_other_scales(scales: tuple[str, str], kind: str) -> None:
    """Of each column; of tensors along the sum; of whole columns beside those of blocks."""
    check(70, 2, 48, 4, 128, kind, scales)


@pytest.mark.parametrize("kind", [E4M3, I8])
def test_rows_and_columns_multiply_the_sum(kind: str) -> None:
    exe = check(70, 2, 48, 3, 80, kind, ("m", "p, j"))
    assert "redfuse.reduce add" in exe.ir["fuse"]


@pytest.mark.parametrize("kind", [E4M3, I8])
def test_blocks_of_a_cluster_share_long_sums(kind: str) -> None:
    exe = check(64, 1, 64, 48, 128, kind)
    assert "sum_splits = 1" not in exe.ir["plan"]


def test_roundings_of_scaled_numbers_are_left_out() -> None:
    check(70, 2, 48, 4, 128, rounds=True)


@pytest.mark.parametrize("kind", [E4M3, I8])
def test_strict_programs_are_multiplied_as_they_are(kind: str) -> None:
    exe = compiled(product(64, 2, 64, 4, 128, kind), strict=True)
    assert instruction(kind) not in exe.asm


@pytest.mark.parametrize("dims", [("m, g", "p, g"), ("m", "p, j")])
def test_blocks_that_are_no_tiles(dims: tuple[str, str]) -> None:
    """Of 96 elements: as they are; scales of rows leave the sum all the same."""
    exe = compiled(product(64, 2, 64, 4, 96, E4M3, dims))
    assert (instruction(E4M3) in exe.asm) == (dims[0] == "m")
