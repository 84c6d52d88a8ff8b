"""Which instructions products become, without a GPU: PTX, and with nvdisasm the machine code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import redfuse
from matrix_programs import sums
from redfuse.bench import programs
from test_machine_code import find_nvdisasm, has_cubins

# Type of the factors, of the sums, what makes them wide; the instruction of each architecture.
KINDS = {
    "bf16": ("bf16", "f32", "extf", "HMMA"),
    "f16": ("f16", "f32", "extf", "HMMA"),
    "bytes": ("i8", "i32", "extsi", "IMMA"),
    # Assemblers make them f16 where the machine has no instruction of a warp for them.
    "small": ("f8E4M3FN", "f32", "extf", "[HQ]MMA"),
    "double": ("f64", "f64", "", "DMMA"),
}


@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "sm_100a", "sm_120"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(3)
def test_instructions(kind: str, chip: str, tmp_path: Path) -> None:
    narrow, wide, extend, instruction = KINDS[kind]
    exe = redfuse.compile(
        sums(narrow, wide, (extend, extend), 256, 192, 160),
        target=f"cuda:{chip}", options={"cache": False},
    )  # fmt: skip
    assert "mma.sync.aligned" in exe.asm
    assert sum(kernel.spills for kernel in exe.resources) == 0
    tool = find_nvdisasm()
    if tool is None or not has_cubins():
        print("no nvdisasm or no ptxas: PTX alone is looked at")
        return
    _, cubin = exe.variants[0].images[0]
    (tmp_path / "k.cubin").write_bytes(cubin)
    listing = subprocess.run(
        [tool, "-c", str(tmp_path / "k.cubin")], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(rf"\b{instruction}\b", listing)


def test_digits_are_kept() -> None:
    """What no instruction multiplies without losing digits is multiplied by the threads."""
    exe = redfuse.compile(
        sums("f32", "f64", ("extf", "extf"), 64, 64, 64),
        target="cuda:sm_80", options={"cache": False},
    )  # fmt: skip
    assert "mma.sync" not in exe.asm


def test_digits_are_split() -> None:
    """A factor of f32 is two of TF32, whose product is three; strict programs have none of them."""
    exes = [
        redfuse.compile(
            sums("f32", "f32", ("", ""), 64, 64, 64),
            target="cuda:sm_80", options={"cache": False, "strict": strict},
        )
        for strict in (False, True)
    ]  # fmt: skip
    products = [re.findall(r"mma\.sync\S+", exe.asm) for exe in exes]
    assert set(products[0]) == {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"}
    assert len(products[0]) % 3 == 0
    assert not products[1]


@pytest.mark.parametrize("chip", ["sm_80", "sm_86", "sm_90a", "sm_120"])
def test_few_rows_are_one_kernel(chip: str) -> None:
    """Heads that share their keys: what matrix units do does not count as much as arithmetic."""
    exe = redfuse.compile(
        programs.attention(8, 32, 1, 16384, 128, "bf16", 1, "none"),
        target=f"cuda:{chip}", options={"cache": False},
    )  # fmt: skip
    assert len(exe.resources) == 1
    assert "mma" in exe.asm
