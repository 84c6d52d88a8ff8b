"""Kernels for AMD GPUs: their LLVM IR is run by the machine of wave_machine.py and compared with the
fp64 references. test/rocm/test_kernels.py runs these for each architecture, in a process that finds the
runtime of hip.c."""

from __future__ import annotations

import re
from pathlib import Path

import cases_kernels
import numpy as np
import pytest
import redfuse
from cases_kernels import CORPUS, ROWS, execute, small, verify
from cases_matrices import ATTENTION, PRODUCTS, SHAPES, bytes_of, product
from matrix_programs import sums
from redfuse import check, gputargets
from redfuse.bench import programs
from redfuse.data import random_inputs
from redfuse.runtime.specs import numpy_dtype
from wave_machine import WAVES, WaveKernel

CHIP = gputargets.chips_of(redfuse.rocm.resolve("rocm"))[0]
NAMES = sorted(path.stem for path in CORPUS.glob("*.mlir"))
if CHIP == "gfx90a":  # as gfx942, but for the products
    NAMES = ["attention", "attention_bf16", "quant_int8_gemm"]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_kernels, "Kernel", WaveKernel)


@pytest.mark.parametrize("name", NAMES)
def test_corpus(name: str) -> None:
    path = CORPUS / f"{name}.mlir"
    inputs, expected = check.load_npz(str(path.with_suffix(".npz")))
    exe = redfuse.compile(path, target="rocm", options={"cache": False})
    verify(path, exe, inputs, expected)


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, tmp_path: Path) -> None:
    small(ROWS[name], tmp_path, target="rocm")


@pytest.mark.parametrize("name", ["softmax_odd", "variance", "decode", "cross_entropy"])
def test_split(name: str, tmp_path: Path) -> None:
    """The last block to finish merges, whichever it is."""
    for seed in range(2):
        small(ROWS[name], tmp_path, {"schedule": "split", "parts": 5}, seed, target="rocm")


def test_waves(tmp_path: Path) -> None:
    """A row that one wave holds is combined by permutes over all of its lanes, without barriers; a
    longer one by permutes, then once through shared memory."""
    for columns, barriers in ((16 * WAVES[CHIP], False), (200 * WAVES[CHIP], True)):
        path = tmp_path / "program.mlir"
        path.write_text(programs.softmax(70, columns, "f32"))
        exe = redfuse.compile(path, target="rocm", options={"cache": False})
        verify(path, exe, random_inputs(exe.signature, 0), None)
        lane = r"(%\d+) = call [^=]*@llvm\.amdgcn\.mbcnt\.hi"
        found = set(re.findall(lane, exe.asm))
        distances = {int(d) for d in re.findall(rf"xor i32 (?:{'|'.join(found)}), (\d+)", exe.asm)}
        patterns = re.findall(r"@llvm\.amdgcn\.ds\.swizzle\(i32 \S+, i32 (\d+)\)", exe.asm)
        assert all(int(pattern) & 1023 == 31 for pattern in patterns)
        distances |= {int(pattern) >> 10 for pattern in patterns}
        assert distances == {1 << i for i in range(WAVES[CHIP].bit_length() - 1)}
        assert ("@llvm.amdgcn.s.barrier" in exe.asm) == barriers


def compiled(source: str, folder: Path, instruction: str = "") -> tuple[Path, redfuse.Executable]:
    """Compiled to code with that instruction, on architectures that have it."""
    path = folder / "program.mlir"
    path.write_text(source)
    exe = redfuse.compile(path, target="rocm", options={"cache": False})
    if instruction:
        assert f"{'mfma' if WAVES[CHIP] == 64 else 'wmma'}.{instruction}" in exe.asm
    return path, exe


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, tmp_path: Path) -> None:
    *shape, swapped = PRODUCTS[name]
    path, exe = compiled(product(*shape, swapped=swapped), tmp_path, "f32.16x16x16")
    verify(path, exe, random_inputs(exe.signature, 0), None)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extend", [("extsi", "extsi"), ("extui", "extui"), ("extui", "extsi")])
def test_integers(extend: tuple[str, str], shape: tuple[int, int, int], tmp_path: Path) -> None:
    """All bytes, the extreme ones too; sums are exact. MFMA's bytes have signs."""
    has = WAVES[CHIP] == 32 or extend == ("extsi", "extsi")
    _, exe = compiled(sums("i8", "i32", extend, *shape), tmp_path, "i32.16x16x" if has else "")
    arrays, expected = bytes_of(shape, extend)
    (got,), _ = execute(exe, arrays, [expected])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_floats(dtype: str, shape: tuple[int, int, int], tmp_path: Path) -> None:
    """MFMA alone has these."""
    name = {"f32": "f32.16x16x4f32", "f64": "f64.16x16x4f64"}[dtype]
    source = sums(dtype, dtype, ("", ""), *shape)
    path, exe = compiled(source, tmp_path, name if WAVES[CHIP] == 64 else "")
    verify(path, exe, random_inputs(exe.signature, 2), None)


@pytest.mark.parametrize("kind", ["f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3FN"])
def test_small_floats(kind: str, tmp_path: Path) -> None:
    name = {"E4": "f32.16x16x32.fp8.fp8", "E5": "f32.16x16x32.bf8.bf8"}[kind[2:4]]
    own = CHIP == "gfx942" and kind.endswith("FNUZ")
    source = sums(kind, "f32", ("extf", "extf"), 33, 17, 70)
    _, exe = compiled(source, tmp_path, name if own else "f32.16x16x16")
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(numpy_dtype(kind)) for shape in ((33, 70), (70, 17)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    (got,), _ = execute(exe, [a, b], [expected.astype(np.float32)])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("schedule", ["auto", "stream"])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name: str, schedule: str, tmp_path: Path) -> None:
    small(programs.attention(*ATTENTION[name]), tmp_path, {"schedule": schedule}, target="rocm")
