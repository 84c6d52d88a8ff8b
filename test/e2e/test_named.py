"""Cascades by their names: one kernel that reads its inputs once, right on every schedule and on
awkward data."""

from __future__ import annotations

import pytest
from named_programs import COLUMNS, FOLDER, PROGRAMS
from on_schedules import compiled, disagreements, random_data

NAMES = sorted(PROGRAMS)
# Which refusal stands where a stream is asked for: what is left after it cannot be cut.
NOT_STREAMED = {
    "softmax_argmax": "selection",
    "routing": "top-k",
    "moment_of_inertia": "inner reduction",
}
# Inputs that one element of which several results need.
READS = {("attention_mla", "arg1"): 2}


@pytest.mark.parametrize("name", NAMES)
def test_file_is_current(name: str) -> None:
    text = (FOLDER / f"{name}.mlir").read_text()
    assert text == PROGRAMS[name](), "write it with python test/e2e/named_programs.py"


@pytest.mark.parametrize("schedule", ["resident", "stream"])
@pytest.mark.parametrize("name", NAMES)
def test_one_kernel_reads_once(name: str, schedule: str) -> None:
    explanation = compiled(PROGRAMS[name](), schedule=schedule).explanation
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


@pytest.mark.parametrize("name", NAMES)
def test_right_on_every_schedule(name: str) -> None:
    text = PROGRAMS[name]()
    seed = NAMES.index(name)
    wrong = disagreements(text, lambda kind: random_data(text, kind, seed, COLUMNS), COLUMNS)
    assert not wrong, "\n".join(wrong)
