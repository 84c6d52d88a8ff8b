"""Contractions of any dims on matrix units of warpgroups and of warps: machine code, and results by the
simulator against fp64."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import redfuse
from contraction_programs import Contraction, draw
from drivers.simulated import execute

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(3)

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


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("seed", range(12))
def test_random(seed: int, chip: str) -> None:
    program = draw(seed, most=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scalar kernels of odd shapes spill
        exe = redfuse.compile(program.program(), target=f"cuda:{chip}", options={"cache": False})
    check(program, exe)


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
