"""Programs of the kinds and sizes that users have, compiled for GPUs without one: each compiles, spills
nothing that known.json does not tell, and the assembler warns of nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processor import slowness
from redfuse.targets import cuda

sys.path.append(str(Path(__file__).parents[2] / "programs"))
import attempt
import compile_all
import processes
from own import PROGRAMS

TARGETS = ("cuda:sm_90a", "cuda:sm_80")
SECONDS = 60.0
KNOWN = json.loads(compile_all.KNOWN.read_text())
SCRIPT = Path(compile_all.__file__)


def compiled(name: str, target: str) -> attempt.Row:
    """How one of our own programs fared."""
    job = {"program": name, "source": PROGRAMS[name](), "target": target, "digest": ""}
    limit = SECONDS * slowness()
    (outcome,) = processes.run(attempt.attempt, iter([job]), 1, limit, memory=8.0)
    return compile_all.row_of(outcome)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    targets = TARGETS if cuda.assembler() else TARGETS[:1]
    for row in (compiled(name, target) for target in targets):
        assert compile_all.unknown(row, KNOWN) == [], compile_all.line_of(row)


def test_what_is_known_is_of_programs_that_there_are() -> None:
    # Those of a suite are elsewhere, and have its name in front.
    assert {name for name in KNOWN if "/" not in name} <= set(PROGRAMS)
    for by_target in KNOWN.values():
        for entry in by_target.values():
            assert set(entry) <= {"spills", "advisories", "refused"}


def fares(work: Callable, seconds: float = 20.0, memory: float = 8.0) -> attempt.Row:
    """The row of a job that is no compilation."""
    job = {"program": "p", "target": "cpu", "digest": ""}
    (outcome,) = processes.run(work, iter([job]), 1, seconds, memory)
    return compile_all.row_of(outcome)


def hangs(job: dict, tell: Callable[[str], None]) -> dict:
    tell("fuse")
    time.sleep(600)
    return {}


def aborts(job: dict, tell: Callable[[str], None]) -> dict:
    import os

    tell("generate")
    print("Assertion `idx < size()' failed.", file=sys.stderr, flush=True)
    os.abort()


def eats(job: dict, tell: Callable[[str], None]) -> dict:
    tell("derive")
    return {"message": str(len(bytearray(16 << 30)))}


def test_what_does_not_end_well_is_told() -> None:
    late = fares(hangs, seconds=0.5)
    assert (late.status, late.message) == (attempt.LATE, "timed out at stage fuse")
    crashed = fares(aborts)
    assert crashed.status == attempt.CRASHED
    assert crashed.message == (
        "ended by SIGABRT at stage generate: Assertion `idx < size()' failed."
    )
    full = fares(eats)
    assert full.status == attempt.CRASHED
    assert "at stage derive: MemoryError" in full.message
    for row in (late, crashed, full):
        assert compile_all.unknown(row, {})


def test_spills_and_advisories_are_told() -> None:
    row = attempt.Row("p", "cuda:sm_90a", spills={"k": 12}, advisories=["(C7510) serialised"])
    assert compile_all.unknown(row, {}) == ["12 bytes spilled, 0 are known", "(C7510) serialised"]
    known = {"p": {"cuda:sm_90a": {"spills": 12, "advisories": 1}}}
    assert compile_all.unknown(row, known) == []
    assert compile_all.unknown(row, {"p": {"cuda:sm_80": {"spills": 12}}})
    told = "ptxas -arch=sm_90a: k: 8 bytes of registers are spilled to memory; (C7510) serialised"
    assert attempt.advisories(told) == ["(C7510) serialised"]


def test_the_command(tmp_path: Path) -> None:
    """A folder: one program that compiles, one that is no program; what is done is not done again."""
    suite = tmp_path / "suite"
    suite.mkdir()
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    (suite / "fine.mlir").write_text(text)
    (suite / "broken.mlir").write_text(text.replace("return", "retort"))
    record = tmp_path / "record.jsonl"
    command = [sys.executable, str(SCRIPT), "--suite", str(suite), "--out", str(record)]
    command += ["--target", "cuda:sm_80,sm_90a,cpu", "--all"]
    first = subprocess.run(command, capture_output=True, text=True)
    assert first.returncode == 1, first.stderr
    assert "suite/fine: " in first.stdout
    assert "error      cpu          suite/broken" in first.stdout
    assert "6 compilations, 3 not as known" in first.stdout
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert len(rows) == 6
    again = subprocess.run(command, capture_output=True, text=True)
    assert "suite/fine: " not in again.stdout
    assert "6 compilations, 3 not as known" in again.stdout
    assert len(record.read_text().splitlines()) == 6
    shard = subprocess.run([*command, "--shard", "2/2"], capture_output=True, text=True)
    assert "3 compilations, 0 not as known" in shard.stdout
