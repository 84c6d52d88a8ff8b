"""The same bits, in whatever order blocks run, and however many rows there are beside one.
test_deterministic.py runs these, in a process that finds the driver of cuda.c."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import redfuse
from bits import DYNAMIC_ROWS, arguments
from cases_kernels import execute, verify
from redfuse.bench import programs
from redfuse.data import random_inputs

SPLIT = {
    "variance": (programs.variance(2, 4500), 3),
    "inertia": (programs.inertia(1, 1500), 7),
    "softmax": (programs.softmax(2, 3000, "bf16"), 2),
    "decode": (programs.attention(1, 2, 1, 300, 128, "bf16"), 5),
}


@pytest.mark.parametrize("name", SPLIT)
def test_segments_are_merged_in_their_order(name: str, tmp_path: Path) -> None:
    """Not in that of the blocks' ends. Another number of segments rounds elsewhere."""
    text, parts = SPLIT[name]
    path = tmp_path / "program.mlir"
    path.write_text(text)
    for count in (parts, parts + 1):
        options = {"cache": False, "schedule": "split", "parts": count}
        exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
        assert exe.explanation["kernels"][0]["schedule"]["parts"] == count
        inputs = random_inputs(exe.signature, 1)
        verify(path, exe, inputs, None, 0)
        like = [np.zeros(spec.shape) for spec in exe.signature.outputs]
        first, *others = (execute(exe, inputs, like, seed)[0] for seed in range(4))
        for other in others:
            for mine, wanted in zip(other, first, strict=True):
                np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize("schedule", ["auto", "split"])
@pytest.mark.parametrize("name", DYNAMIC_ROWS)
def test_a_row_does_not_know_of_others(name: str, schedule: str) -> None:
    options = {"cache": False, "deterministic": True, "schedule": schedule}
    exe = redfuse.compile(DYNAMIC_ROWS[name], target="cuda:sm_90a", options=options)
    x, *rest = arguments(exe.signature, 9, 2)
    columns = exe.signature.outputs[0].shape[1:]
    (want,), _ = execute(exe, [x, *rest], [np.zeros((9, *columns))])
    for rows in (1, 2, 4, 7):
        (got,), _ = execute(exe, [x[:rows], *rest], [np.zeros((rows, *columns))], rows)
        np.testing.assert_array_equal(got, want[:rows])
