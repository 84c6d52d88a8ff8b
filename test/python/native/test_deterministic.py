"""What is promised of bits: the same in every run, for any number of threads and order of blocks,
and for a row however many there are beside it; docs/user/guide.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import redfuse
from bits import DYNAMIC_ROWS, arguments
from drivers.simulated import execute, verify
from redfuse.bench import programs
from redfuse.store.data import random_inputs


@pytest.mark.sample(3)
@pytest.mark.parametrize("splits", [2, 5, 24])
@pytest.mark.parametrize(
    "text",
    [programs.variance(3, 4001), programs.softmax(2, 3001, "bf16"),
     programs.attention(1, 2, 3, 301, 40, "f32")],
    ids=["variance", "softmax", "attention"],
)  # fmt: skip
def test_runs_and_threads_do_not_change_a_bit(text: str, splits: int) -> None:
    want = None
    for threads in (1, 2, 7):
        options = {"schedule": "split", "splits": splits, "threads": threads}
        exe = redfuse.compile(text, options=options)
        assert exe.explanation["kernels"][0]["schedule"]["splits"] == splits
        inputs = random_inputs(exe.signature, 3)
        for _ in range(20):
            got = np.asarray(exe(*inputs))
            want = got if want is None else want
            np.testing.assert_array_equal(got, want)


@pytest.mark.sample(3)
@pytest.mark.parametrize("schedule", ["auto", "stream", "split"])
@pytest.mark.parametrize("name", DYNAMIC_ROWS)
def test_a_row_does_not_know_of_others(name: str, schedule: str) -> None:
    options = {"deterministic": True, "schedule": schedule}
    exe = redfuse.compile(DYNAMIC_ROWS[name], options=options)
    x, *rest = arguments(exe.signature, 97, 4)
    want = exe(x, *rest)
    for rows in (1, 2, 3, 5, 8, 13, 16, 17, 31, 64, 96):
        np.testing.assert_array_equal(exe(x[:rows], *rest), want[:rows])
        np.testing.assert_array_equal(exe(x[97 - rows :], *rest), want[97 - rows :])


# Kernels for NVIDIA GPUs, run by the simulator, in whatever order blocks run.
SPLIT = {
    "variance": (programs.variance(2, 4500), 3),
    "inertia": (programs.inertia(1, 1500), 7),
    "softmax": (programs.softmax(2, 3000, "bf16"), 2),
    "decode": (programs.attention(1, 2, 1, 300, 128, "bf16"), 5),
}


@pytest.mark.parametrize("name", SPLIT)
@pytest.mark.sample(3)
def test_segments_are_merged_in_their_order(name: str, tmp_path: Path) -> None:
    """Not in that of the blocks' ends. Another number of splits rounds elsewhere."""
    text, splits = SPLIT[name]
    path = tmp_path / "program.mlir"
    path.write_text(text)
    for count in (splits, splits + 1):
        options = {"cache": False, "schedule": "split", "splits": count}
        exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
        assert exe.explanation["kernels"][0]["schedule"]["splits"] == count
        inputs = random_inputs(exe.signature, 1)
        verify(path, exe, inputs, None, 0)
        like = [np.zeros(spec.shape) for spec in exe.signature.outputs]
        first, *others = (execute(exe, inputs, like, seed)[0] for seed in range(4))
        for other in others:
            for mine, wanted in zip(other, first, strict=True):
                np.testing.assert_array_equal(mine, wanted)


@pytest.mark.sample(3)
@pytest.mark.parametrize("schedule", ["auto", "split"])
@pytest.mark.parametrize("name", DYNAMIC_ROWS)
def test_a_row_does_not_know_of_others_on_a_gpu(name: str, schedule: str) -> None:
    options = {"cache": False, "deterministic": True, "schedule": schedule}
    exe = redfuse.compile(DYNAMIC_ROWS[name], target="cuda:sm_90a", options=options)
    x, *rest = arguments(exe.signature, 9, 2)
    columns = exe.signature.outputs[0].shape[1:]
    (want,), _ = execute(exe, [x, *rest], [np.zeros((9, *columns))])
    for rows in (1, 2, 4, 7):
        (got,), _ = execute(exe, [x[:rows], *rest], [np.zeros((rows, *columns))], rows)
        np.testing.assert_array_equal(got, want[:rows])
