"""Products by matrix instructions of a warp (mma.sync): any extents, layouts and types, run by the simulator
and compared with the fp64 references."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import redfuse
import rounding_programs
from drivers.simulated import execute, verify
from matrix_programs import sums
from redfuse import check
from redfuse.bench import programs
from redfuse.bench.builder import Program
from redfuse.runtime.specs import numpy_dtype
from redfuse.store.data import random_inputs

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(3)

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"

# rows, columns, length of the sum, type; then which operands are transposed in memory
PRODUCTS = {
    "whole": (64, 48, 32, "bf16", ""),
    "odd": (33, 47, 61, "bf16", ""),
    "prime": (17, 13, 7, "f16", ""),
    "rows": (130, 8, 24, "f16", ""),
    "columns": (8, 200, 40, "bf16", ""),
    "short": (40, 30, 3, "bf16", ""),
    "long": (19, 9, 1000, "f16", ""),
    "left_transposed": (48, 40, 64, "bf16", "a"),
    "right_transposed": (48, 40, 64, "bf16", "b"),
    "both_transposed": (50, 36, 20, "f16", "ab"),
    "odd_transposed": (51, 37, 21, "bf16", "ab"),
}


def product(
    rows: int, columns: int, length: int, dtype: str, swapped: str = "", batch: int = 0
) -> str:
    """A product in f32, and what follows it."""
    p = Program()
    front = [batch] if batch else []
    last = [*range(len(front)), len(front) + 1, len(front)]

    def operand(a: int, b: int, name: str):
        shape = (b, a) if name in swapped else (a, b)
        value = p.argument(*front, *shape, dtype=dtype)
        return p.transpose(value, last) if name in swapped else value

    a, b = operand(rows, length, "a"), operand(length, columns, "b")
    made = p.batch_matmul(a, b) if batch else p.matmul(a, b)
    return p.text(p.relu(p.cast(made, "f32")))


def compiled(source: str, folder: Path, chip: str = "sm_80", **options: object):
    path = folder / "program.mlir"
    path.write_text(source)
    return path, redfuse.compile(path, target=f"cuda:{chip}", options={"cache": False, **options})


def runs(source: str, folder: Path, least: int = 1, chip: str = "sm_80", **options: object) -> None:
    """Right, and by at least so many instructions."""
    path, exe = compiled(source, folder, chip, **options)
    assert exe.asm.count("mma.sync") >= least
    for kernel in exe.resources:
        assert kernel.spills == 0
    verify(path, exe, random_inputs(exe.signature, 0), None)


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, chip: str, tmp_path: Path) -> None:
    *shape, swapped = PRODUCTS[name]
    runs(product(*shape, swapped=swapped), tmp_path, chip=chip)


@pytest.mark.parametrize("swapped", ["", "a", "b"])
def test_batches(swapped: str, tmp_path: Path) -> None:
    runs(product(18, 20, 35, "bf16", swapped, batch=3), tmp_path)


def test_sums_beyond_the_end_are_not_read(tmp_path: Path) -> None:
    """What lies behind a row is the next one: infinite there, and no result has it."""
    _, exe = compiled(product(20, 24, 19, "f16", "b"), tmp_path)
    a, b = random_inputs(exe.signature, 3)
    a, b = np.array(a), np.array(b)
    a[7, :], b[5, :] = np.inf, np.nan
    with np.errstate(all="ignore"):
        expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64).T, 0)
        expected[np.isnan(a.astype(np.float64) @ b.astype(np.float64).T)] = np.nan
    (got,), _ = execute(exe, [a, b], [expected.astype(np.float32)])
    clean = np.ones((20, 24), bool)
    clean[7, :] = clean[:, 5] = False
    assert np.isfinite(got[clean]).all()
    np.testing.assert_allclose(got[clean], expected[clean], rtol=2e-3, atol=2e-3)


ATTENTION = {
    "plain": (1, 2, 33, 50, 32, "bf16"),
    "wide": (1, 1, 20, 37, 80, "f16"),
    "decoding": (1, 8, 1, 70, 64, "bf16", 1),
    "shared": (1, 4, 9, 40, 64, "bf16", 2),
    "causal": (1, 1, 40, 40, 32, "bf16", None, "causal"),
}


@pytest.mark.parametrize("schedule", ["auto", "stream"])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name: str, schedule: str, tmp_path: Path) -> None:
    least = 0 if name == "decoding" else 2
    runs(programs.attention(*ATTENTION[name]), tmp_path, least, schedule=schedule)


def test_chain(tmp_path: Path) -> None:
    runs(programs.gemm_chain(33, 40, 24, 18, "bf16"), tmp_path, 2)


@pytest.mark.parametrize("schedule", ["auto", "stream"])
@pytest.mark.parametrize("name", ["attention_bf16"])
def test_corpus(name: str, schedule: str, tmp_path: Path) -> None:
    path = CORPUS / f"{name}.mlir"
    inputs, _ = check.load_npz(str(path.with_suffix(".npz")))
    options = {"cache": False, "schedule": schedule}
    exe = redfuse.compile(path, target="cuda:sm_80", options=options)
    assert exe.asm.count("mma.sync") >= 2
    arrays = [
        np.asarray(value).astype(numpy_dtype(spec.dtype))
        for value, spec in zip(inputs, exe.signature.inputs, strict=True)
    ]
    verify(path, exe, arrays, None)


def test_strict_has_none(tmp_path: Path) -> None:
    _, exe = compiled(product(64, 64, 64, "bf16"), tmp_path, strict=True)
    assert "mma.sync" not in exe.asm


SHAPES = [(33, 17, 70), (16, 32, 64), (9, 40, 31)]


def bytes_of(
    shape: tuple[int, int, int], extend: tuple[str, str]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Operands of a product of all bytes, the extreme ones too, and its sums."""
    rng = np.random.default_rng(1)
    rows, columns, length = shape
    a = rng.integers(-128, 128, (rows, length)).astype(np.int8)
    b = rng.integers(-128, 128, (length, columns)).astype(np.int8)
    a[0], b[:, 0] = -128, -128
    wide = [x.view(np.uint8) if op == "extui" else x for x, op in zip((a, b), extend, strict=True)]
    return [a, b], wide[0].astype(np.int32) @ wide[1].astype(np.int32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extend", [("extsi", "extsi"), ("extui", "extui"), ("extui", "extsi")])
def test_integers(extend: tuple[str, str], shape: tuple[int, int, int], tmp_path: Path) -> None:
    """Sums are exact."""
    _, exe = compiled(sums("i8", "i32", extend, *shape), tmp_path)
    assert "mma.sync" in exe.asm
    arrays, expected = bytes_of(shape, extend)
    (got,), _ = execute(exe, arrays, [expected])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_doubles(shape: tuple[int, int, int], tmp_path: Path) -> None:
    _, exe = compiled(sums("f64", "f64", ("", ""), *shape), tmp_path)
    assert "mma.sync.aligned.m8n8k4" in exe.asm
    a, b = random_inputs(exe.signature, 2)
    expected = np.asarray(a) @ np.asarray(b)
    (got,), _ = execute(exe, [a, b], [expected])
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


def test_rounded_integers_are_bytes(tmp_path: Path) -> None:
    """What was rounded and clamped to a byte's range has the digits of a 16-bit float."""
    path, exe = compiled(programs.quant_gemm(65, 96, 520), tmp_path)
    assert "mma.sync" in exe.asm
    verify(path, exe, random_inputs(exe.signature, 0), None)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["f8E4M3FN", "f8E5M2"])
def test_small_floats(kind: str, shape: tuple[int, int, int], chip: str, tmp_path: Path) -> None:
    """From sm_89 on as they are, before as f16, which has all of them."""
    _, exe = compiled(sums(kind, "f32", ("extf", "extf"), *shape), tmp_path, chip)
    own = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}[kind]
    assert ("mma.sync.aligned.m16n8k16.row.col.f32.f16" if chip == "sm_80" else
            f"mma.sync.aligned.m16n8k32.row.col.f32.{own}") in exe.asm  # fmt: skip
    rng = np.random.default_rng(1)
    rows, columns, length = shape
    small = numpy_dtype(kind)
    a = rng.standard_normal((rows, length)).astype(small)
    b = rng.standard_normal((length, columns)).astype(small)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    (got,), _ = execute(exe, [a, b], [expected.astype(np.float32)])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


DYNAMIC = """
func.func @main(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xbf16>
  %n = tensor.dim %b, %c1 : tensor<?x?xbf16>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul ins(%a, %b : tensor<?x?xbf16>, tensor<?x?xbf16>)
      outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("shape", [(33, 17, 40), (1, 1, 1), (64, 64, 64), (5, 70, 0), (16, 3, 15)])
def test_dynamic(shape: tuple[int, int, int], tmp_path: Path) -> None:
    _, exe = compiled(DYNAMIC, tmp_path)
    assert "mma.sync" in exe.asm
    rng = np.random.default_rng(0)
    m, n, k = shape
    half = numpy_dtype("bf16")
    a = rng.standard_normal((m, k)).astype(half)
    b = rng.standard_normal((k, n)).astype(half)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    (got,), _ = execute(exe, [a, b], [expected.astype(np.float32)])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("schedule", ["auto", "stream"])
@pytest.mark.parametrize("name", rounding_programs.EXACT)
def test_what_a_rounding_decides(name: str, schedule: str, tmp_path: Path) -> None:
    """Sums of matrix instructions are rounded to bf16 before they are compared."""
    shape = (18, 83, 40)
    _, exe = compiled(rounding_programs.program(name, *shape), tmp_path, schedule=schedule)
    assert "mma.sync" in exe.asm
    rounding_programs.hold(exe, name, *shape)
