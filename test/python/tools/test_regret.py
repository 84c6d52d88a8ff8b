"""Chosen plans beside the fastest of all that were timed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "programs"))

from redfuse.explain import candidates
from regret import APART, main, programs_of


def record(name: str, chosen: float, *plans: tuple[str, float, float | None]) -> str:
    keys = ("name", "predicted_us", "ms")
    others = [dict(zip(keys, plan, strict=True)) for plan in plans]
    own: dict[str, Any] = {"name": "as planned", "predicted_us": 10.0, "ms": chosen}
    return json.dumps({"name": name, "redfuse_ms": 99.0, "candidates": [own, *others]})


LINES = [
    record("a", 3.0, (APART, 20.0, 6.0), ("cut", 9.0, 2.0), ("slow", 90.0, None)),
    record("b", 1.0, ("cut", 9.0, 4.0)),
    record("none", 1.0),
    json.dumps({"name": "late", "status": "late"}),
]


def test_programs_with_other_plans() -> None:
    assert candidates.APART == APART
    a, b = programs_of(LINES)
    assert a.name == "a" and a.regret == pytest.approx(1.5) and a.apart == 6.0 and a.guessed == 2.0
    assert b.regret == 1.0 and b.apart is None and b.guessed == 4.0


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, lines in (("x", LINES[:1]), ("y", LINES[1:])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "records.jsonl").write_text("\n".join(lines))
    assert main([str(tmp_path / f / "records.jsonl") for f in ("x", "y")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| x | 1 | 2 | 1.500 | 1.50 | 1.000 | 100% | 2.00 | 2.00 |"
    assert lines[4] == "| all | 2 | 3 | 1.225 | 1.50 | 2.000 | 50% | 2.00 | 2.00 |"
    assert lines[5] == "a: 3000.0 us; 2000.0 if cut"
