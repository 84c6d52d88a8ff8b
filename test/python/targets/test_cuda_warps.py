"""Kernels of warps that copy and multiply, for NVIDIA GPUs without warpgroups, run by the simulator and
compared with fp64."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import redfuse
from drivers.simulated import execute, verify
from matrix_programs import positive_weights
from redfuse.bench import programs
from redfuse.store.data import random_inputs
from test_cuda_matrix_units import compiled, error_of
from test_cuda_products import product

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(3)


# chip, batch, heads, rows, keys, dim, kind, key heads, what queries are multiplied by, hints
CASES = {
    "d16": ("sm_80", 1, 1, 50, 70, 16, "none", 1, 4, {}),
    "d40-shared": ("sm_80", 1, 4, 131, 131, 40, "causal", 2, 4, {}),
    "d64-causal": ("sm_89", 1, 2, 70, 70, 64, "causal", 1, 1, {}),
    "d80": ("sm_80", 2, 1, 67, 150, 80, "none", 1, 1, {}),
    "d128": ("sm_80", 1, 1, 128, 192, 128, "none", 1, 1, {}),
    "d128-few-columns": ("sm_89", 1, 1, 129, 129, 128, "causal", 1, 1, {}),
    "d192": ("sm_90", 1, 1, 70, 70, 192, "causal", 1, 4, {}),
    "d256": ("sm_80", 1, 1, 70, 90, 256, "none", 1, 1, {}),
    "few-rows": ("sm_90", 1, 8, 8, 300, 64, "none", 1, 1, {}),
    "splits": ("sm_80", 1, 2, 9, 700, 64, "none", 1, 1, {"splits": 4}),
    "splits-many-rows": ("sm_90", 1, 1, 100, 300, 80, "none", 1, 1, {"splits": 3}),
    "few-keys": ("sm_90", 1, 1, 300, 8, 32, "none", 1, 8, {}),
    "sums": ("sm_80", 1, 1, 70, 560, 64, "none", 1, -1, {}),
    "lazy": ("sm_80", 1, 1, 100, 400, 64, "none", 1, -1, {"threshold": 2}),
    "eight-warps": ("sm_90", 1, 1, 150, 150, 64, "causal", 1, 1, {"blocks": 1}),
    "two-stages": ("sm_90", 1, 1, 64, 260, 32, "none", 1, 1, {"stages": 2}),
    "three-stages": ("sm_90", 1, 1, 64, 260, 32, "none", 1, 1, {"stages": 3, "columns": 48}),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_attention(name: str, tmp_path: Path) -> None:
    chip, batch, heads, rows, keys, dim, kind, kv_heads, scale, hints = CASES[name]
    path = tmp_path / "program.mlir"
    path.write_text(programs.attention(batch, heads, rows, keys, dim, "bf16", kv_heads, kind))
    exe = compiled(path, chip, hints)
    assert "ldmatrix" in exe.asm and "wgmma" not in exe.asm
    assert error_of(exe, kind, scale) < 3e-3


# rows, columns, length of the sum, type, operands transposed in memory
PRODUCTS = {
    "small": (9, 16, 24, "bf16", ""),
    "odd-rows": (131, 72, 200, "f16", ""),
    "left": (256, 264, 72, "bf16", "a"),
    "right": (65, 130, 136, "bf16", "b"),
    "both": (72, 200, 136, "f16", "ab"),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, tmp_path: Path) -> None:
    *shape, swapped = PRODUCTS[name]
    path = tmp_path / "program.mlir"
    path.write_text(product(*shape, swapped=swapped))
    exe = redfuse.compile(path, target="cuda:sm_80", options={"cache": False})
    assert "ldmatrix" in exe.asm
    verify(path, exe, random_inputs(exe.signature, 0), None)


def test_chain(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(programs.gemm_chain(70, 48, 136, 40, "bf16"))
    exe = redfuse.compile(path, target="cuda:sm_80", options={"cache": False})
    assert "ldmatrix" in exe.asm
    verify(path, exe, random_inputs(exe.signature, 0), None)


@pytest.mark.parametrize("rows,keys", [(1, 5), (64, 64), (130, 200)])
def test_dynamic(rows: int, keys: int, tmp_path: Path) -> None:
    exe = redfuse.compile(
        positive_weights(40, 24),
        target="cuda:sm_80",
        options={"cache": False, "schedule": "stream"},
    )
    assert "ldmatrix" in exe.asm
    rng = np.random.default_rng(rows)
    shapes = (rows, 40), (keys, 40), (keys, 24)
    given = [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes]
    q, k, v = (x.astype(np.float64) for x in given)
    expected = np.maximum(q @ k.T, 0) @ v
    (got,), _ = execute(exe, given, [expected.astype(np.float32)])
    error = np.linalg.norm(got.astype(np.float64) - expected) / np.linalg.norm(expected)
    assert error < 4e-3
