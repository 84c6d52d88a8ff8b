"""What is promised of bits: the same in every run, for any number of threads and order of blocks,
and for a row however many there are beside it; docs/user/guide.md."""

from __future__ import annotations

from pathlib import Path

import fake_driver
import numpy as np
import pytest
import redfuse
from bits import DYNAMIC_ROWS, arguments
from redfuse.bench import programs
from redfuse.data import random_inputs


@pytest.mark.parametrize("parts", [2, 5, 24])
@pytest.mark.parametrize(
    "text",
    [programs.variance(3, 4001), programs.softmax(2, 3001, "bf16"),
     programs.attention(1, 2, 3, 301, 40, "f32")],
    ids=["variance", "softmax", "attention"],
)  # fmt: skip
def test_runs_and_threads_do_not_change_a_bit(text: str, parts: int) -> None:
    want = None
    for threads in (1, 2, 7):
        options = {"schedule": "split", "parts": parts, "threads": threads}
        exe = redfuse.compile(text, options=options)
        assert exe.explanation["kernels"][0]["schedule"]["parts"] == parts
        inputs = random_inputs(exe.signature, 3)
        for _ in range(20):
            got = np.asarray(exe(*inputs))
            want = got if want is None else want
            np.testing.assert_array_equal(got, want)


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


def test_kernels(tmp_path: Path) -> None:
    fake_driver.run_cases(fake_driver.build(tmp_path), "cases_bits.py")
