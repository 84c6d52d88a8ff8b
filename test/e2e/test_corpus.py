"""Every program of the corpus runs and is right, fused and as written."""

from pathlib import Path

import numpy as np
import pytest
import redfuse
from redfuse import check
from redfuse.reference import Reference

CORPUS = Path(__file__).parent / "corpus"
NAMES = sorted(path.stem for path in CORPUS.glob("*.mlir"))


def errors(name: str, **options: object) -> list[check.Outcome]:
    path = CORPUS / f"{name}.mlir"
    inputs, expected = check.load_npz(str(path.with_suffix(".npz")))
    exe = redfuse.compile(path, options={**options, "cache": False})
    arrays = check.cast_inputs(inputs, exe.signature)
    results = exe(*arrays)
    results = list(results) if isinstance(results, tuple) else [results]
    reference = Reference(path, opt_level=0)
    return check.compare(
        results, expected, exe.signature, lambda: check.movement(reference, arrays, exe.signature)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.sample(4)
def test_results(name: str, fuse: bool) -> None:
    for outcome in errors(name, fuse=fuse):
        assert outcome.ok, str(outcome)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("schedule", ["resident", "stream", "split"])
def test_results_of_schedules(name: str, schedule: str) -> None:
    """Wherever the schedule is legal; elsewhere it is another."""
    for outcome in errors(name, schedule=schedule, opt_level=0):
        assert outcome.ok, str(outcome)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_agrees_with_pytorch(name: str) -> None:
    """The expected outputs came from PyTorch in fp64; the fp64 reference is the same program in
    other hands."""
    path = CORPUS / f"{name}.mlir"
    inputs, expected = check.load_npz(str(path.with_suffix(".npz")))
    reference = Reference(path, opt_level=0)
    arrays = check.cast_inputs(inputs, reference.signature)
    for outcome in check.compare(reference(*arrays), expected, reference.signature):
        assert outcome.ok, str(outcome)


def test_dynamic_lengths() -> None:
    """One compiled program for all lengths, odd, prime, one and none."""
    path = CORPUS / "attention_dynamic.mlir"
    exe = redfuse.compile(path)
    reference = Reference(path, opt_level=0)
    random = np.random.default_rng(0)
    for rows in (0, 1, 2, 31, 80, 127):
        arrays = [random.standard_normal((2, 2, rows, 32)).astype(np.float32) for _ in range(3)]
        got, want = exe(*arrays), reference(*arrays)
        assert got.shape == (2, 2, rows, 32)
        for outcome in check.compare([got], want, exe.signature):
            assert outcome.ok, f"{rows} rows: {outcome}"
