"""Cascades by their names: one kernel that reads its inputs once, right on every schedule and on
awkward data."""

from __future__ import annotations

import pytest
from named_programs import COLUMNS, FOLDER, PROGRAMS
from on_schedules import disagreements, explained, random_data

NAMES = sorted(PROGRAMS)
# Inputs that one element of which several results need.
READS = {("attention_mla", "arg1"): 2}
# What is made of the data and what it was reduced to reads it again where it was streamed.
MAPPED = ("groupnorm", "layernorm", "min_max", "rmsnorm", "softmax")


@pytest.mark.parametrize("name", NAMES)
def test_file_is_current(name: str) -> None:
    text = (FOLDER / f"{name}.mlir").read_text()
    assert text == PROGRAMS[name](), "write it with python test/e2e/named_programs.py"


@pytest.mark.parametrize("schedule", ["resident", "stream"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(3)
def test_one_kernel_reads_once(name: str, schedule: str) -> None:
    explanation = explained(PROGRAMS[name](), schedule=schedule)
    assert len(explanation["kernels"]) == 1
    (kernel,) = explanation["kernels"]
    for entry in kernel["inputs"]:
        expected = READS.get((name, entry["arg"]), 1)
        if schedule == "stream" and name in MAPPED and entry["arg"] == "arg0":
            expected = 2
        assert entry["reads"] == expected, entry
    assert kernel["schedule"]["kind"] == schedule
    assert explanation["refused"] == []


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", NAMES)
def test_right_on_every_schedule(name: str) -> None:
    text = PROGRAMS[name]()
    seed = NAMES.index(name)
    wrong = disagreements(text, lambda kind: random_data(text, kind, seed, COLUMNS), COLUMNS)
    assert not wrong, "\n".join(wrong)
