"""The variance of data with mean 1e6 and standard deviation 1 in f32, by every way to cut it.

The textbook orders lose: two passes in f32 have a relative error of 1e-3 here, E(x^2) - E(x)^2 has
no digit right.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import redfuse
from redfuse import options, pipelines
from redfuse.bench import programs

ROWS, LENGTH = 6, 1024


@functools.cache
def rows(seed: int = 0, length: int = LENGTH) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (1e6 + rng.standard_normal((ROWS, length))).astype(np.float32)


def error(result: object, x: np.ndarray) -> float:
    exact = x.astype(np.float64).var(axis=1)
    return float(np.abs(np.asarray(result, np.float64) / exact - 1).max())


def compiled(length: int = LENGTH, **given: object) -> redfuse.Executable:
    return redfuse.compile(programs.variance(ROWS, length), options=given)


@functools.cache
def stateful() -> redfuse.Executable:
    return compiled()


@pytest.mark.parametrize("schedule", options.SCHEDULES)
def test_schedules(schedule: str) -> None:
    for seed in range(3):
        assert error(compiled(schedule=schedule)(rows(seed)), rows(seed)) < 1e-5


def test_strict_keeps_the_order_of_the_source() -> None:
    """And with it the error of a rounded mean: a resident schedule does not fold then."""
    x = rows()
    mean = (x.sum(axis=1, dtype=np.float32) / np.float32(LENGTH))[:, None]
    own = error(np.square(x - mean).mean(axis=1), x)
    found = error(compiled(schedule="resident", strict=True)(x), x)
    assert 1e-4 < found < 8 * own


@pytest.mark.parametrize("tile", [32, 100, 1024])
def test_stream_tiles(tile: int) -> None:
    """Tiles of a stream, by the pass's own option."""
    tiled = pipelines.fused(redfuse.Options(schedule="stream"), (0, tile))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines, "fused", lambda options: tiled)
        exe = compiled(schedule="stream", cache=False)
    assert exe.explain(json=True)["kernels"][0]["schedule"]["tile"]["i1"] == tile
    assert error(exe(rows(4)), rows(4)) < 1e-5


@pytest.mark.parametrize("splits", [1, 2, 3, 5, 7, 16, 32])
def test_any_number_of_splits(splits: int) -> None:
    """Splits of 32 elements or more, of equal and of unequal length."""
    exe = compiled(schedule="split", splits=splits)
    assert exe.explain(json=True)["kernels"][0]["schedule"]["kind"] == "split"
    for seed in range(3):
        assert error(exe(rows(seed)), rows(seed)) < 1e-5


@pytest.mark.parametrize("length", [37, 41, 61])
def test_split_into_few_elements(length: int) -> None:
    """Splits of one or two elements, some empty."""
    exe = compiled(length, schedule="split", splits=32)
    assert error(exe(rows(1, length)), rows(1, length)) < 1e-3


@pytest.mark.parametrize(
    "chunk, limit",
    [(1024, 1e-5), (100, 1e-5), (33, 1e-5), (32, 1e-5), (7, 1e-3), (2, 1e-3), (1, 1e-3)],
)
def test_chunks_of_a_state(chunk: int, limit: float) -> None:
    exe, x = stateful(), rows(2)
    state = exe.init()
    for start in range(0, LENGTH, chunk):
        state = exe.update(state, np.ascontiguousarray(x[:, start : start + chunk]))
    assert error(exe.finalize(state), x) < limit


@pytest.mark.parametrize("chunk, limit", [(32, 1e-5), (1, 1e-3)])
def test_trees_of_merges(chunk: int, limit: float) -> None:
    exe, x = stateful(), rows(3)
    states = [
        exe.update(exe.init(), np.ascontiguousarray(x[:, start : start + chunk]), offset=start)
        for start in range(0, LENGTH, chunk)
    ]
    while len(states) > 1:
        states = [exe.merge(*pair) for pair in zip(states[::2], states[1::2], strict=True)]
    assert error(exe.finalize(states[0]), x) < limit


def test_a_first_element_far_from_the_others() -> None:
    """The heavier of two states keeps its pivot: that of a single element is no match."""
    exe = stateful()
    x = np.random.default_rng(5).standard_normal((ROWS, LENGTH)).astype(np.float32)
    x[:, 0] = 100
    x[:, 1] = -1000
    state = exe.init()
    for start, stop in ((0, 1), (1, 2), (2, LENGTH)):
        state = exe.update(state, np.ascontiguousarray(x[:, start:stop]))
    assert error(exe.finalize(state), x) < 1e-6


def test_rows_that_are_read_again_stay_in_the_cache() -> None:
    """Behind its mean a row is read once more: a tile has several short ones, and one long one."""
    found = []
    for length in (2048, 1 << 20):
        exe = redfuse.compile(programs.variance(4096, length), options={"cache": False})
        found.append(exe.explain(json=True)["kernels"][0]["schedule"]["tile"]["i0"])
    assert found[0] > 1
    assert found[1] == 1
