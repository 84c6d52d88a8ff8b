"""Contractions of any dims on matrix units of warpgroups and of warps: machine code, and results by the
simulator against fp64."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
import redfuse
from contraction_programs import Contraction, draw
from drivers.simulated import execute

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(5)

CHIPS = ("sm_90a", "sm_80")
# Programs that a plan must take, with what follows them.
PLANNED = {
    "split_heads": ("bsk,hdk->bhsd", {"b": 2, "s": 20, "h": 3, "d": 24, "k": 72}, "bias"),
    "split_heads_by_rows": ("bsk,khd->bhsd", {"b": 2, "s": 33, "h": 3, "d": 64, "k": 136}, "row"),
    "three_splits": ("bsk,chdk->cbhsd", {"b": 2, "s": 70, "c": 3, "h": 2, "d": 16, "k": 64}, "bias"),
    "joined_heads": ("bhsd,hde->bse", {"b": 2, "s": 20, "h": 3, "d": 24, "e": 40}, "residual"),
    "joined_heads_in_rows": ("bshd,ehd->bse", {"b": 2, "s": 130, "h": 3, "d": 72, "e": 40}, "two"),
    "three_sums": ("abcdm,abcdn->mn", {"a": 2, "b": 3, "c": 2, "d": 5, "m": 72, "n": 40}, "none"),
    "long_sums": ("hkm,hkn->nm", {"h": 70, "k": 8, "m": 16, "n": 24}, "scaled"),
    "batch": ("zmk,zkn->mzn", {"z": 3, "m": 65, "k": 40, "n": 48}, "relu"),
    "linear_of_batches": ("bsk,nk->bsn", {"b": 3, "s": 50, "k": 96, "n": 72}, "bias"),
    "shared_right": ("zhmk,zkn->zhmn", {"z": 2, "h": 3, "m": 20, "k": 32, "n": 40}, "none"),
    # A fold whose products are all onto its states, by two warpgroups.
    "sums_of_rows": ("abe,ced->bdac", {"a": 2, "b": 1, "c": 2, "d": 200, "e": 200}, "two"),
    "few_rows": ("bk,nk->bn", {"b": 3, "k": 640, "n": 200}, "bias"),
}  # fmt: skip


def compiled(program: Contraction, chip: str) -> redfuse.Executable:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # ptxas warns of spills and serialised products
        return redfuse.compile(program.program(), target=f"cuda:{chip}", options={"cache": False})


def check(program: Contraction, exe: redfuse.Executable) -> None:
    given = program.data(np.random.default_rng(0))
    got, _ = execute(exe, given, program.exact(given)[0])
    assert not program.judge(given, got)


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", PLANNED)
def test_planned(name: str, chip: str) -> None:
    notation, extents, epilogue = PLANNED[name]
    program = Contraction(notation, extents, epilogue)
    exe = compiled(program, chip)
    assert "redfuse.no_matrices" not in exe.ir["plan"]
    assert ("wgmma" if chip == "sm_90a" else "mma.sync") in exe.asm
    assert not any(kernel.spills for kernel in exe.resources)
    check(program, exe)


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("seed", range(12))
def test_random(seed: int, chip: str) -> None:
    program = draw(seed, most=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scalar kernels of odd shapes spill
        exe = redfuse.compile(program.program(), target=f"cuda:{chip}", options={"cache": False})
    check(program, exe)


# Products of f32, by parts, and of 16-bit floats where no kernel for matrix units takes them.
TILED = {
    "f32": ("mk,kn->mn", {"m": 130, "n": 72, "k": 40}, "bias", "f32"),
    "f32_long_sum": ("mk,nk->mn", {"m": 33, "n": 40, "k": 1001}, "row", "f32"),
    "f32_transposed": ("km,kn->nm", {"m": 96, "n": 40, "k": 100}, "residual", "f32"),
    "f32_whole": ("mk,kn->mn", {"m": 128, "n": 128, "k": 64}, "none", "f32"),
    "f32_batch": ("zhmk,zkhn->mzhn", {"z": 2, "h": 3, "m": 17, "k": 24, "n": 20}, "two", "f32"),
    "f32_heads": ("bsk,hdk->bhsd", {"b": 2, "s": 20, "h": 3, "d": 24, "k": 72}, "bias", "f32"),
    "f32_few_columns": ("mk,kn->mn", {"m": 200, "n": 9, "k": 300}, "scaled", "f32"),
    "tf32": ("mk,nk->mn", {"m": 70, "n": 48, "k": 100}, "bias", "tf32"),
    "f32_few_rows": ("mk,nk->mn", {"m": 9, "n": 200, "k": 300}, "relu", "f32"),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", TILED)
def test_tiled(name: str, chip: str) -> None:
    notation, extents, epilogue, dtype = TILED[name]
    program = Contraction(notation, extents, epilogue, dtype, "f32")
    exe = compiled(program, chip)
    assert "redfuse.contraction" in exe.ir["plan"]
    # Three products of parts, but of what the program rounds.
    parts = re.findall(r"mma\.sync\S+tf32", exe.asm)
    assert parts and (dtype == "tf32" or len(parts) % 3 == 0)
    assert not any(kernel.spills for kernel in exe.resources)
    check(program, exe)


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("seed", range(12))
def test_random_of_f32(seed: int, chip: str) -> None:
    program = draw(seed, most=40, dtypes=("f32",))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scalar kernels of odd shapes spill
        exe = redfuse.compile(program.program(), target=f"cuda:{chip}", options={"cache": False})
    check(program, exe)


# Products of f64. sm_80 has an instruction of its own.
DOUBLE = {
    "whole": ("mk,kn->mn", {"m": 128, "n": 128, "k": 64}, "none"),
    "bias": ("mk,kn->mn", {"m": 130, "n": 72, "k": 40}, "bias"),
    "odd": ("mk,nk->mn", {"m": 33, "n": 41, "k": 1001}, "row"),
    "prime": ("mk,kn->mn", {"m": 131, "n": 67, "k": 53}, "relu"),
    "transposed": ("km,kn->nm", {"m": 95, "n": 41, "k": 101}, "residual"),
    "both_transposed": ("km,nk->mn", {"m": 70, "n": 50, "k": 37}, "scaled"),
    "batch": ("zhmk,zkhn->mzhn", {"z": 2, "h": 3, "m": 17, "k": 24, "n": 20}, "two"),
    "heads": ("bsk,hdk->bhsd", {"b": 2, "s": 20, "h": 3, "d": 24, "k": 72}, "bias"),
    "sums": ("abcdm,abcdn->mn", {"a": 2, "b": 3, "c": 2, "d": 5, "m": 72, "n": 40}, "none"),
    "long": ("mk,kn->mn", {"m": 34, "n": 20, "k": 3000}, "none"),
    "few_columns": ("mk,kn->mn", {"m": 200, "n": 9, "k": 300}, "scaled"),
    "few_rows": ("mk,nk->mn", {"m": 9, "n": 200, "k": 300}, "relu"),
    "shared_right": ("zhmk,zkn->zhmn", {"z": 2, "h": 3, "m": 20, "k": 32, "n": 40}, "none"),
}  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", DOUBLE)
def test_tiled_of_f64(name: str, chip: str) -> None:
    program = Contraction(*DOUBLE[name], "f64", "f64")
    exe = compiled(program, chip)
    assert "redfuse.contraction" in exe.ir["plan"]
    shape = "m16n8k8" if chip == "sm_90a" else "m8n8k4"
    found = set(re.findall(r"mma\.sync\S+", exe.asm))
    assert found == {f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64"}
    assert not any(kernel.spills for kernel in exe.resources)
    check(program, exe)


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("seed", range(12))
def test_random_of_f64(seed: int, chip: str) -> None:
    drawn = draw(seed, most=40, dtypes=("f64",))
    program = replace(drawn, result="f64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scalar kernels of odd shapes spill
        exe = redfuse.compile(program.program(), target=f"cuda:{chip}", options={"cache": False})
    check(program, exe)


@pytest.mark.parametrize("chip", ["sm_86", "sm_120"])
def test_slow_units_of_f64(chip: str) -> None:
    """Where f64 is slow, memory is no limit: no tiles in stages."""
    program = Contraction("mk,kn->mn", {"m": 256, "n": 128, "k": 64}, dtype="f64", result="f64")
    assert "redfuse.contraction" not in compiled(program, chip).ir["plan"]


def test_strict_sums_of_f64() -> None:
    """In the program's order: by multiplications and additions."""
    program = Contraction("mk,kn->mn", {"m": 64, "n": 64, "k": 64}, dtype="f64", result="f64")
    options = {"cache": False, "strict": True}
    exe = redfuse.compile(program.program(), target="cuda:sm_90a", options=options)
    assert "mma.sync" not in exe.asm


def test_infinities_of_f64() -> None:
    """They stay in their rows and columns; subnormal numbers and the largest are as they are."""
    program = Contraction("mk,kn->mn", {"m": 40, "n": 24, "k": 51}, dtype="f64", result="f64")
    a, w = program.data(np.random.default_rng(1))
    a[3, 4], a[7, 8], w[9, 10] = np.inf, np.nan, -np.inf
    a[11, :], a[11, 12] = 0.0, np.finfo(np.float64).max
    a[13, :] *= 2.0**-1060
    exe = compiled(program, "sm_90a")
    (got,), _ = execute(exe, [a, w], [np.zeros((40, 24))])
    with np.errstate(all="ignore"):
        want = a @ w
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    finite = np.isfinite(want)
    with np.errstate(all="ignore"):  # of rows that are not finite
        off = 52 * 2.0**-53 * (abs(a) @ abs(w)) + 52 * 2.0**-1074
    assert (abs(got[finite] - want[finite]) <= off[finite]).all()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_open_extents(dtype: str) -> None:
    program = Contraction(
        "mk,kn->mn", {"m": 37, "n": 44, "k": 52}, "bias", dtype, dtype, frozenset("mnk")
    )
    exe = compiled(program, "sm_90a")
    assert "redfuse.contraction" in exe.ir["plan"]
    check(program, exe)


def test_extremes_of_f32() -> None:
    """Infinities, NaN, the largest floats and the smallest are what multiply-adds of f32 make of them."""
    program = Contraction("mk,kn->mn", {"m": 40, "n": 24, "k": 50}, dtype="f32", result="f32")
    a, w = program.data(np.random.default_rng(1))
    a[3, 4], a[5, 6], a[7, 8], w[9, 10] = np.inf, -np.inf, np.nan, np.inf
    a[11, :], a[11, 12] = 0.0, np.finfo(np.float32).max
    a[13, :] = np.float32(1e-38) * a[13, :]
    exe = compiled(program, "sm_90a")
    (got,), _ = execute(exe, [a, w], [np.zeros((40, 24), np.float32)])
    with np.errstate(all="ignore"):
        want = a.astype(np.float64) @ w.astype(np.float64)
        largest = np.finfo(np.float32).max
        want[abs(want) > largest] = np.copysign(np.inf, want[abs(want) > largest])
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    finite = np.isfinite(want)
    with np.errstate(invalid="ignore"):  # of rows that are not finite
        off = 2.0**-17 * (abs(a).astype(np.float64) @ abs(w).astype(np.float64)) + 1e-44
    assert (abs(got[finite] - want[finite]) <= off[finite]).all()


@pytest.mark.parametrize("chip", CHIPS)
def test_infinities_stay_in_their_rows(chip: str) -> None:
    """What lies beyond the end of a sum is the next head's: it is in no other sum."""
    program = Contraction("bhsd,hde->bse", {"b": 2, "s": 9, "h": 3, "d": 24, "e": 40}, result="f32")
    a, w = program.data(np.random.default_rng(1))
    a[0, 1, 4], w[1, :, 7] = np.inf, np.nan
    exe = compiled(program, chip)
    (got,), _ = execute(exe, [a, w], [np.zeros((2, 9, 40), np.float32)])
    clean = np.ones(got.shape, bool)
    clean[0, 4], clean[..., 7] = False, False
    assert np.isfinite(got[clean]).all()
    assert not np.isfinite(got[~clean]).any()
