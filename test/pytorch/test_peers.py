"""PyTorch beside redfuse in the benchmark: it does the same work, and its failures are rows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from redfuse.bench import exact, programs, runner
from redfuse.bench.cases import Case
from redfuse.runtime import tensors
from small_cases import SMALL, inputs_of


@pytest.mark.parametrize("name", SMALL)
def test_peers_do_the_same_work(name: str) -> None:
    _, shapes, expected, peer = SMALL[name]
    inputs = inputs_of(shapes)
    for call_name, (call, _) in peer([tensors.to_torch(array) for array in inputs]).items():
        if "_int_mm" in call_name:
            continue  # an integer matmul of PyTorch's, with limits on shapes of its own
        results = call()
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        assert exact.error(expected(inputs), [tensors.from_torch(r) for r in results]) < 1e-5


def test_a_failing_case_is_a_row_and_not_the_end() -> None:
    def broken(_: object) -> dict:
        def call() -> None:
            raise RuntimeError("no such kernel")

        return {"broken": (call, False)}

    small = Case(
        "test", "broken", "f32", lambda: programs.variance(2, 3), (((2, 3), "f32", "normal"),),
        exact.variance, broken, 1.0, 1.0,
    )  # fmt: skip
    rows = runner.run_case(small, runner.Settings(peers=True, rounds=3, seconds=0.1, unfused=True))
    by_name = {row.implementation: row for row in rows}
    assert by_name["torch broken"].note == "RuntimeError: no such kernel"
    assert by_name["redfuse"].median_ms is not None
    assert by_name["unfused"].median_ms is not None


def test_bench_names_the_peers(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    arguments = ["variance/V1", "--peers", "--rounds", "3", "--seconds", "1", "--json", str(path)]
    command = [sys.executable, "-m", "redfuse.cli", "bench", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {row["implementation"] for row in json.loads(path.read_text())["rows"]}
    assert {"redfuse", "redfuse(out=)", "torch var", "torch eager"} <= names
    assert "Speed relative to the fastest peer" in done.stdout
