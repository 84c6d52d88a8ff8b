"""Programs that broke the compiler once: right, refused by name, or stopped, in every way to run
them, and compiled for a GPU."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redfuse
from found_programs import FAILS, FOUND, Case
from growth import spent
from processor import slowness
from redfuse import check, errors
from redfuse.reference import Reference

FOLDER = Path(__file__).resolve().parents[1] / "found"
RUN = [name for name, found in FOUND.items() if not found.refused]
REFUSED = [name for name, found in FOUND.items() if found.refused]
OPTIONS = {
    "unfused": {"fuse": False},
    "fused": {},
    "resident": {"schedule": "resident"},
    "stream": {"schedule": "stream"},
    "strict": {"strict": True},
}
SECONDS = 60  # of processor time, for one compilation


def text(name: str) -> str:
    return FOUND[name].text((FOLDER / f"{name}.mlir").read_text())


def listed(given: object) -> list[np.ndarray]:
    return list(given) if isinstance(given, tuple) else [given]


def compiled(source: str | Path, target: str, category: type[Warning], **options: Any) -> Any:
    """Without a warning of a kind, in time."""
    start = spent()
    with warnings.catch_warnings():
        warnings.simplefilter("error", category)
        exe = redfuse.compile(source, target=target, options={**options, "cache": False})
    assert spent() - start < SECONDS * slowness()
    return exe


def test_every_program_has_an_expectation() -> None:
    assert sorted(FOUND) == sorted(path.stem for path in FOLDER.glob("*.mlir"))


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", OPTIONS)
@pytest.mark.parametrize("name", RUN)
def test_calls(name: str, way: str) -> None:
    exe = compiled(text(name), "cpu", errors.FusionWarning, **OPTIONS[way])
    for case in FOUND[name].cases():
        if case.results == FAILS:
            with pytest.raises(errors.ExecutionError):
                exe(*case.arguments)
        else:
            judge(name, case, listed(exe(*case.arguments)), exe.signature)


def judge(name: str, case: Case, got: list[np.ndarray], signature: object) -> None:
    """Exact results, or those of the reference."""
    if case.results is not None:
        for found, wanted in zip(got, case.results, strict=True):
            np.testing.assert_array_equal(found, wanted)
        return
    reference = Reference(text(name), opt_level=0)
    for outcome in check.compare(got, reference(*case.arguments), signature):
        assert outcome.ok, str(outcome)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", RUN)
def test_the_reference(name: str) -> None:
    """The same calls of the program in fp64."""
    reference = Reference(text(name), opt_level=0)
    for case in FOUND[name].cases():
        wanted = case.results if case.in_fp64 is None else case.in_fp64
        if wanted == FAILS:
            with pytest.raises(errors.ExecutionError):
                reference(*case.arguments)
        elif wanted is not None:
            for found, exact in zip(reference(*case.arguments), wanted, strict=True):
                np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("way", OPTIONS)
def test_the_total_is_the_last_running_sum(way: str) -> None:
    exe = redfuse.compile(text("scan_total"), options={**OPTIONS[way], "cache": False})
    for case in FOUND["scan_total"].cases():
        running, total = exe(*case.arguments)
        np.testing.assert_array_equal(running[:, -1], total)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str, target: str) -> None:
    with pytest.raises(errors.UnsupportedError, match=FOUND[name].refused):
        redfuse.compile(FOLDER / f"{name}.mlir", target=target, options={"cache": False})


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", RUN)
def test_for_a_gpu(name: str) -> None:
    """Compiled without a complaint of ptxas, or refused with the operation and a way out; for one that
    is ended by a check, the kernels have it, too."""
    path = FOLDER / f"{name}.mlir"
    try:
        compiled(path, "cuda:sm_90a", errors.CodeWarning)
    except errors.UnsupportedError as error:
        assert len(str(error)) > 40
