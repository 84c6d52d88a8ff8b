"""Cascades by their names: one kernel that reads its inputs once, right on every schedule and on
awkward data."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import redfuse
from draws import KINDS, draw
from judge import compare, of_the_whole
from named_programs import COLUMNS, FOLDER, PROGRAMS
from redfuse.options import Options
from redfuse.reference import Reference

NAMES = sorted(PROGRAMS)
# Which refusal stands where a stream is asked for: what is left after it cannot be cut.
NOT_STREAMED = {
    "softmax_argmax": "selection",
    "routing": "top-k",
    "moment_of_inertia": "inner reduction",
}
# Inputs that one element of which several results need.
READS = {("attention_mla", "arg1"): 2}
# Terms in the longest sum.
TERMS = COLUMNS


@cache
def compiled(name: str, **options: object) -> redfuse.Executable:
    """A program, quickly compiled; a fusing stage that fails is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return redfuse.compile(
            FOLDER / f"{name}.mlir", options=Options(opt_level=0, cache=False, **options)
        )


@cache
def reference(name: str) -> Reference:
    return Reference(FOLDER / f"{name}.mlir")


@pytest.mark.parametrize("name", NAMES)
def test_file_is_current(name: str) -> None:
    path = Path(FOLDER / f"{name}.mlir")
    assert path.read_text() == PROGRAMS[name](), "write it with python test/e2e/named_programs.py"


@pytest.mark.parametrize("schedule", ["resident", "stream"])
@pytest.mark.parametrize("name", NAMES)
def test_one_kernel_reads_once(name: str, schedule: str) -> None:
    explanation = compiled(name, schedule=schedule).explanation
    assert len(explanation["kernels"]) == 1
    (kernel,) = explanation["kernels"]
    for entry in kernel["inputs"]:
        assert entry["reads"] == READS.get((name, entry["arg"]), 1), entry
    refused = [entry["condition"] for entry in explanation["refused"]]
    if schedule == "stream" and name in NOT_STREAMED:
        assert kernel["schedule"]["kind"] == "resident"
        assert NOT_STREAMED[name] in refused
    else:
        assert kernel["schedule"]["kind"] == schedule
        assert refused == []


def arguments(name: str, kind: str) -> list[np.ndarray]:
    """Inputs: the first is of a kind, the others normal."""
    rng = np.random.default_rng(NAMES.index(name))
    made = []
    for number, spec in enumerate(compiled(name, fuse=False).signature.inputs):
        if name == "cross_entropy" and number == 1:
            made.append(rng.integers(0, COLUMNS, spec.shape))
        else:
            made.append(draw(kind if number == 0 else "normal", spec.shape, spec.dtype, rng))
    return made


@pytest.mark.parametrize("name", NAMES)
def test_right_on_every_schedule(name: str) -> None:
    wrong = []
    with np.errstate(all="ignore"):
        for kind in KINDS:
            data = arguments(name, kind)
            want = reference(name)(*data)
            plain = _list(compiled(name, fuse=False)(*data))
            for schedule in ("auto", "resident", "stream"):
                results = _list(compiled(name, schedule=schedule)(*data))
                for number, (got, exact, own) in enumerate(zip(results, want, plain, strict=True)):
                    if got.dtype.kind in "iu":
                        # The indices of values that are no numbers are nobody's.
                        numbers = ~np.isnan(plain[0])
                        found = None if np.array_equal(got[numbers], own[numbers]) else f"{got}"
                    else:
                        found = compare(got, exact, own, of_the_whole(exact, "f32", TERMS))
                    if found:
                        wrong.append(f"{kind}, {schedule}, result {number}: {found}")
    assert not wrong, "\n".join(wrong)


def _list(results: object) -> list[np.ndarray]:
    return list(results) if isinstance(results, tuple) else [results]
