"""Kernels for AMD GPUs: their LLVM IR is run by the simulator of waves, as the host code launches it, and
compared with the fp64 references."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import redfuse
from drivers import without_tools
from drivers.simulated import execute, small, verify
from matrix_programs import sums
from redfuse import check
from redfuse.bench import programs
from redfuse.runtime.specs import numpy_dtype
from redfuse.store.data import random_inputs
from redfuse.targets import gputargets
from simulators.waves import WAVES
from test_cuda_kernels import CORPUS, ROWS
from test_cuda_products import ATTENTION, PRODUCTS, SHAPES, bytes_of, product

NAMES = sorted(path.stem for path in CORPUS.glob("*.mlir"))
# Of gfx90a, which is as gfx942 but for the products.
FEW = ["attention", "attention_bf16", "quant_int8_gemm"]


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    with without_tools():
        yield


@pytest.fixture(params=gputargets.chips("rocm"))
def chip(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize(
    ("chip", "name"),
    [
        (chip, name)
        for chip in gputargets.chips("rocm")
        for name in (FEW if chip == "gfx90a" else NAMES)
    ],
    indirect=["chip"],
)
def test_corpus(chip: str, name: str) -> None:
    path = CORPUS / f"{name}.mlir"
    inputs, expected = check.load_npz(str(path.with_suffix(".npz")))
    exe = redfuse.compile(path, target=f"rocm:{chip}", options={"cache": False})
    verify(path, exe, inputs, expected)


@pytest.mark.parametrize("name", ROWS)
def test_rows(chip: str, name: str, tmp_path: Path) -> None:
    small(ROWS[name], tmp_path, target=f"rocm:{chip}")


@pytest.mark.parametrize("name", ["softmax_odd", "variance", "decode", "cross_entropy"])
def test_split(chip: str, name: str, tmp_path: Path) -> None:
    """The last block to finish merges, whichever it is."""
    for seed in range(2):
        small(ROWS[name], tmp_path, {"schedule": "split", "splits": 5}, seed, target=f"rocm:{chip}")


def test_waves(chip: str, tmp_path: Path) -> None:
    """A row that one wave holds is combined by permutes over all of its lanes, without barriers; a
    longer one by permutes, then once through shared memory."""
    for columns, barriers in ((16 * WAVES[chip], False), (200 * WAVES[chip], True)):
        path = tmp_path / "program.mlir"
        path.write_text(programs.softmax(70, columns, "f32"))
        exe = redfuse.compile(path, target=f"rocm:{chip}", options={"cache": False})
        verify(path, exe, random_inputs(exe.signature, 0), None)
        lane = r"(%\d+) = call [^=]*@llvm\.amdgcn\.mbcnt\.hi"
        found = set(re.findall(lane, exe.asm))
        distances = {int(d) for d in re.findall(rf"xor i32 (?:{'|'.join(found)}), (\d+)", exe.asm)}
        patterns = re.findall(r"@llvm\.amdgcn\.ds\.swizzle\(i32 \S+, i32 (\d+)\)", exe.asm)
        assert all(int(pattern) & 1023 == 31 for pattern in patterns)
        distances |= {int(pattern) >> 10 for pattern in patterns}
        assert distances == {1 << i for i in range(WAVES[chip].bit_length() - 1)}
        assert ("@llvm.amdgcn.s.barrier" in exe.asm) == barriers


@pytest.mark.parametrize("norm", [programs.rmsnorm, programs.layernorm])
def test_rows_that_stay_packed(chip: str, norm: Callable, tmp_path: Path) -> None:
    """Rows of 16 bits are extended again for each use, of words that each lane has to itself."""
    path = tmp_path / "program.mlir"
    path.write_text(norm(70, 1024, "bf16"))
    exe = redfuse.compile(path, target=f"rocm:{chip}", options={"cache": False})
    # With fewer threads a compute unit, what all rows read is loaded first.
    assert ('"=v,0"' in exe.asm) == (WAVES[chip] == 64)
    verify(path, exe, random_inputs(exe.signature, 0), None)


def compiled(
    chip: str, source: str, folder: Path, instruction: str = ""
) -> tuple[Path, redfuse.Executable]:
    """Compiled to code with that instruction, on architectures that have it."""
    path = folder / "program.mlir"
    path.write_text(source)
    exe = redfuse.compile(path, target=f"rocm:{chip}", options={"cache": False})
    if instruction:
        assert f"{'mfma' if WAVES[chip] == 64 else 'wmma'}.{instruction}" in exe.asm
    return path, exe


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(chip: str, name: str, tmp_path: Path) -> None:
    *shape, swapped = PRODUCTS[name]
    path, exe = compiled(chip, product(*shape, swapped=swapped), tmp_path, "f32.16x16x16")
    verify(path, exe, random_inputs(exe.signature, 0), None)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extend", [("extsi", "extsi"), ("extui", "extui"), ("extui", "extsi")])
def test_integers(
    chip: str, extend: tuple[str, str], shape: tuple[int, int, int], tmp_path: Path
) -> None:
    """All bytes, the extreme ones too; sums are exact. MFMA's bytes have signs."""
    has = WAVES[chip] == 32 or extend == ("extsi", "extsi")
    _, exe = compiled(
        chip, sums("i8", "i32", extend, *shape), tmp_path, "i32.16x16x" if has else ""
    )
    arrays, expected = bytes_of(shape, extend)
    (got,), _ = execute(exe, arrays, [expected])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_floats(chip: str, dtype: str, shape: tuple[int, int, int], tmp_path: Path) -> None:
    """MFMA alone has these."""
    name = {"f32": "f32.16x16x4f32", "f64": "f64.16x16x4f64"}[dtype]
    source = sums(dtype, dtype, ("", ""), *shape)
    path, exe = compiled(chip, source, tmp_path, name if WAVES[chip] == 64 else "")
    verify(path, exe, random_inputs(exe.signature, 2), None)


@pytest.mark.parametrize("kind", ["f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3FN"])
def test_small_floats(chip: str, kind: str, tmp_path: Path) -> None:
    name = {"E4": "f32.16x16x32.fp8.fp8", "E5": "f32.16x16x32.bf8.bf8"}[kind[2:4]]
    own = chip == "gfx942" and kind.endswith("FNUZ")
    source = sums(kind, "f32", ("extf", "extf"), 33, 17, 70)
    _, exe = compiled(chip, source, tmp_path, name if own else "f32.16x16x16")
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(numpy_dtype(kind)) for shape in ((33, 70), (70, 17)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    (got,), _ = execute(exe, [a, b], [expected.astype(np.float32)])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("schedule", ["auto", "stream"])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention(chip: str, name: str, schedule: str, tmp_path: Path) -> None:
    small(
        programs.attention(*ATTENTION[name]),
        tmp_path,
        {"schedule": schedule},
        target=f"rocm:{chip}",
    )
