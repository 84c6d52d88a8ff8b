"""Predicted and measured times of kernels, beside each other."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "programs"))

from predictions import correlation, kernels_of, main, ranks


def record(name: str, *times: tuple[str, float | None, float]) -> str:
    keys = ("kernel", "predicted_us", "median_us")
    return json.dumps({"name": name, "profile": [dict(zip(keys, t, strict=True)) for t in times]})


def test_equal_kernels_count_once() -> None:
    lines = [
        record("a", ("k", 4.0, 3.0), ("k", 4.0, 9.0), ("k", 4.0, 5.0), ("l", None, 7.0)),
        json.dumps({"name": "b", "status": "late"}),
    ]
    (kernel,) = kernels_of(lines)
    assert kernel == ("a", "k", 4.0, 5.0) and kernel.apart == pytest.approx(math.log(4 / 5))


def test_ranks() -> None:
    assert ranks([10.0, 30.0, 10.0, 20.0]) == [1.5, 4.0, 1.5, 3.0]
    assert ranks([]) == []


def test_correlation() -> None:
    rising = kernels_of([record("a", ("k", 1.0, 2.0), ("l", 2.0, 30.0), ("m", 3.0, 31.0))])
    falling = kernels_of([record("a", ("k", 1.0, 3.0), ("l", 2.0, 2.0), ("m", 3.0, 1.0))])
    assert correlation(rising) == pytest.approx(1) and correlation(falling) == pytest.approx(-1)
    assert math.isnan(correlation(rising[:1])) and math.isnan(correlation([]))


def test_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        text = record(name, ("k", 1.0, 2.0), ("l", 9.0, 3.0))
        (tmp_path / name / "records.jsonl").write_text(text + "\n")
    assert main([str(tmp_path / name / "records.jsonl") for name in ("one", "two")]) == 0
    said = capsys.readouterr().out
    assert "| one | 2 | 1.000 | 2.45 | 50% |" in said and "| all | 4 |" in said
    assert "one l: 9.0 us predicted, 3.0 measured" in said
