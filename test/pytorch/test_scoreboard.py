"""`tools/dev scoreboard`: what becomes of programs that are right, refused, slow to end, or that end
their process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, time
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(width))

    def forward(self, x):
        {body}


def get_inputs():
    return [torch.rand(31, 17)]


def get_init_inputs():
    return [17]
"""
BODIES = {
    "dies": "os._exit(3)",
    "random": "return x + torch.ops.aten.poisson(x)",
    "softmax": "return torch.softmax(x * self.scale, -1)",
}


def run(suite: Path, out: Path, limit: int = 200) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "test" / "programs" / "scoreboard.py"),
               "--suite", str(suite), "--out", str(out), "--peers", "eager", "--limit", str(limit)]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True)


def records(out: Path) -> dict[str, dict]:
    lines = (out / "records.jsonl").read_text().splitlines()
    return {row["name"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, subprocess.CompletedProcess]:
    suite = tmp_path_factory.mktemp("suite")
    for name, body in BODIES.items():
        (suite / f"{name}.py").write_text(PROGRAM.format(body=body))
    out = suite.parent / "out"
    return suite, out, run(suite, out)


def test_every_program_has_a_row(ran):
    _, out, done = ran
    status = {name: row["status"] for name, row in records(out).items()}
    expected = {"dies": "died", "random": "refused", "softmax": "right"}
    assert status == expected, done.stderr
    assert done.returncode == 1  # a program ended its process


def test_a_program_that_does_not_end_is_late(tmp_path):
    suite, out = tmp_path / "suite", tmp_path / "out"
    suite.mkdir()
    (suite / "hangs.py").write_text(PROGRAM.format(body="time.sleep(1000)"))
    assert run(suite, out, limit=3).returncode == 0
    assert records(out)["hangs"]["status"] == "late"


def test_rows_have_errors_and_times(ran):
    row = records(ran[1])["softmax"]
    assert row["reference"] == "fp64" and 0 < row["redfuse_error"] < 1e-6
    assert row["redfuse_ms"] > 0 and row["eager_ms"] > 0 and row["kernels"] == 1


def test_refusals_name_the_operation(ran):
    assert "poisson" in records(ran[1])["random"]["words"]


def test_tables_have_all(ran):
    for file in ("table.md", "table.html"):
        text = (ran[1] / file).read_text()
        assert all(name in text for name in BODIES)


def test_a_run_goes_on_where_it_was_stopped(ran):
    suite, out, _ = ran
    before = records(out)
    rows = (out / "records.jsonl").read_text().splitlines(keepends=True)
    (out / "records.jsonl").write_text("".join(rows[:-1]))
    assert run(suite, out).returncode == 1
    after = records(out)
    assert after.keys() == before.keys()
    again = json.loads(rows[-1])["name"]
    assert all(after[name] == before[name] for name in before if name != again)
