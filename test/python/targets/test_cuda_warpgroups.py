"""Contractions by units of warpgroups: results of the simulator, which checks for races, against fp64."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import pytest
import redfuse
from convolution_programs import Convolution
from drivers.simulated import execute

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(2)

TF32 = """
    %{0}19 = arith.truncf %{0}0 {{redfuse.exact}} : f32 to tf32
    %{0}w = arith.extf %{0}19 : tf32 to f32"""
SHORT = """
    %{0}w = arith.extf %{0}0 : bf16 to f32"""


def compiled(program: str) -> redfuse.Executable:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # ptxas warns of spills, and of products made one by one
        exe = redfuse.compile(program, target="cuda:sm_90a", options={"cache": False})
    assert "redfuse.contraction = #redfuse.contraction_plan<wgmma" in exe.ir["plan"]
    assert "wgmma.mma_async" in exe.asm and not any(kernel.spills for kernel in exe.resources)
    return exe


def sums_of(operands: dict[str, tuple[str, str]], result: tuple[str, str], body: str) -> str:
    """A program that adds up the %p of a body. operands: by name, shape with type, and dims; the
    same of the result, whose dims are those of the program but for the last, k."""
    dims = f"{result[1]}, k"
    maps = ", ".join(f"affine_map<({dims}) -> ({of})>" for _, of in (*operands.values(), result))
    kinds = '"parallel", ' * (dims.count(",")) + '"reduction"'
    names, types = (
        ", ".join(f"%{n}" for n in operands),
        ", ".join(f"tensor<{shape}>" for shape, _ in operands.values()),
    )
    given = ", ".join(f"%{n}: tensor<{shape}>" for n, (shape, _) in operands.items())
    elements = ", ".join(f"%{n}0: {s.rpartition('x')[2]}" for n, (s, _) in operands.items())
    c = result[0]
    return f"""
func.func @main({given}) -> tensor<{c}> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{c}>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{c}>) -> tensor<{c}>
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins({names} : {types}) outs(%z : tensor<{c}>) {{
  ^bb0({elements}, %s: f32):{body}
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }} -> tensor<{c}>
  return %r : tensor<{c}>
}}"""


def product(rows: int, columns: int, sums: int, element: str, batch: int = 2) -> str:
    """Of operands whose sums are adjacent, and whose rows a second dim of the result keeps apart."""
    wide = TF32 if element == "f32" else SHORT
    return sums_of(
        {"x": (f"{rows}x{batch}x{sums}x{element}", "i, g, k"),
         "y": (f"{columns}x{sums}x{element}", "j, k")},
        (f"{batch}x{rows}x{columns}xf32", "g, i, j"),
        f"{wide.format('x')}{wide.format('y')}\n    %p = arith.mulf %xw, %yw : f32",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "columns", "sums"),
    # Whole tiles; edges of rows, columns and sums; sums that blocks share; two warpgroups along columns.
    [(256, 512, 128), (231, 505, 100), (65, 130, 4096), (60, 4001, 36)],
)
@pytest.mark.sample(3)
def test_products_of_tf32(rows: int, columns: int, sums: int) -> None:
    exe = compiled(product(rows, columns, sums, "f32"))
    rng = np.random.default_rng(0)
    # What has the digits of TF32.
    x, y = (
        rng.standard_normal(shape).astype(ml_dtypes.bfloat16).astype(np.float32)
        for shape in ((rows, 2, sums), (columns, sums))
    )
    want = np.einsum("igk,jk->gij", x.astype(np.float64), y.astype(np.float64))
    (got,), _ = execute(exe, [x, y], [np.zeros(want.shape, np.float32)])
    # Sums of f32: an error of a rounding each, of the sum of sizes.
    bound = np.einsum("igk,jk->gij", *(np.abs(v).astype(np.float64) for v in (x, y)))
    assert (np.abs(got - want) <= bound * np.sqrt(sums) * 2.0**-23).all()


def product_of_parts(rows: int, columns: int, sums: int) -> str:
    """Of f32, of which each is a float of TF32 and what is left."""
    x, y = (f"{rows}x{sums}xf32", "i, k"), (f"{columns}x{sums}xf32", "j, k")
    body = """
    %a = arith.addf %x0, %xr0 {redfuse.parts} : f32
    %b = arith.addf %y0, %yr0 {redfuse.parts} : f32
    %p = arith.mulf %a, %b : f32"""
    operands = {"x": x, "xr": x, "y": y, "yr": y}
    return sums_of(operands, (f"{rows}x{columns}xf32", "i, j"), body)


def parts(x: np.ndarray) -> list[np.ndarray]:
    """As redfuse-prepack-operands makes them."""
    bits = x.view(np.uint32)
    size = bits & 0x7FFFFFFF
    big = np.where(size >= 0x7F7FF000, bits, bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    with np.errstate(invalid="ignore"):
        rest = np.where(size == 0x7F800000, np.float32(0), x - big.view(np.float32))
    return [big.view(np.float32), rest]


@pytest.mark.parametrize(("rows", "columns", "sums"), [(256, 512, 128), (250, 505, 260)])
def test_products_of_parts(rows: int, columns: int, sums: int) -> None:
    """As f32 has them: infinities, NaN, and the largest floats too, in rows and columns of their own."""
    exe = compiled(product_of_parts(rows, columns, sums))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, sums), np.float32)
    y = rng.standard_normal((columns, sums), np.float32)
    x[3, 5], x[7, 1], y[2, 3] = np.inf, np.finfo(np.float32).max, np.nan
    y[9, 0], x[11] = -np.finfo(np.float32).max, x[11] * np.float32(1e-36)
    # Nothing overflows on the way to what it comes to. What a number below 1e-34 lacks is a subnormal
    # number: only sums that are as small are made anew.
    x[3, 0] = x[7, 0] = x[11, 0] = 0
    (got,), _ = execute(exe, [*parts(x), *parts(y)], [np.zeros((rows, columns), np.float32)])
    x64, y64 = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        want = x64 @ y64.T
        bound = np.abs(x64) @ np.abs(y64).T
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        whole = np.isfinite(want.astype(np.float32))
        np.testing.assert_array_equal(got[~whole], want.astype(np.float32)[~whole])
    off = np.abs(got[whole] - want[whole])
    assert (off <= bound[whole] * np.sqrt(sums) * 2.0**-23 + 2.0**-149).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "program",
    [
        Convolution((26, 28), (3, 3), 128, 136, 2, pad=1, is_channels_last=True, dtype="bf16"),
        # Chunks of channels that are shorter than a stage, and steps between windows.
        Convolution((41, 43), (3, 2), 96, 200, 2, stride=2, dtype="bf16"),
    ],
    ids=["padded", "strided"],
)
def test_windows(program: Convolution) -> None:
    exe = compiled(program.program())
    given = program.data(np.random.default_rng(0))
    want, _ = program.exact(given)
    got, _ = execute(exe, given, [want])
    assert not program.judge(given, got)
