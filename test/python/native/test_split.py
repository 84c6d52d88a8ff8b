"""The split schedule: a fold over several blocks, states merged in index order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import redfuse
from redfuse.bench import programs
from redfuse.reference import Reference
from small_cases import SMALL


def kinds(exe: redfuse.Executable) -> list[str]:
    return [kernel["schedule"]["kind"] for kernel in exe.explain(json=True)["kernels"]]


def inputs_of(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    exe = redfuse.compile(SMALL[name][0]("f32"))
    return [
        rng.uniform(0.5, 1.5, [n or 1 for n in spec.shape]).astype(spec.dtype.replace("f", "float"))
        for spec in exe.signature.inputs
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("splits", [1, 2, 3, 8, 31])
@pytest.mark.parametrize("length", [1, 2, 29, 64, 100])
def test_any_number_of_splits(splits: int, length: int) -> None:
    """Also more splits than elements: a split may be empty."""
    text = programs.attention(1, 2, 5, length, 8)
    rng = np.random.default_rng(length)
    q = rng.standard_normal((1, 2, 5, 8)).astype(np.float32)
    k, v = (rng.standard_normal((1, 2, length, 8)).astype(np.float32) for _ in range(2))
    exe = redfuse.compile(text, options={"schedule": "split", "splits": splits})
    want = Reference(text)(q, k, v)[0]
    assert np.abs(exe(q, k, v) - want).max() < 1e-5
    if length > 1:
        assert kinds(exe) == ["split"]


def test_a_dynamic_length_may_leave_segments_empty() -> None:
    text = (Path(__file__).parents[3] / "examples" / "paged_attention.mlir").read_text()
    exe = redfuse.compile(text, options={"schedule": "split", "splits": 7})
    assert "split" in kinds(exe)
    rng = np.random.default_rng(0)
    q = rng.standard_normal((8, 64)).astype(np.float32)
    for length in (1, 3, 6, 7, 8, 700):
        k, v = (rng.standard_normal((8, length, 64)).astype(np.float32) for _ in range(2))
        want = Reference(text)(q, k, v)[0]
        assert np.abs(exe(q, k, v) - want).max() < 1e-5 * np.abs(want).max()


def test_infinities_in_single_segments() -> None:
    text = programs.softmax(4, 24)
    x = np.random.default_rng(1).standard_normal((4, 24)).astype(np.float32)
    x[0] = -np.inf
    x[1, :13] = -np.inf
    x[2, 20] = np.inf
    x[3, 0] = np.nan
    want = Reference(text)(x)[0]
    for splits in (2, 3, 5, 24):
        exe = redfuse.compile(text, options={"schedule": "split", "splits": splits})
        np.testing.assert_allclose(exe(x), want, rtol=1e-5, atol=1e-7)


def test_one_long_row_is_split_by_itself() -> None:
    """Fewer blocks than cores, and enough to do: the cost model splits, and says why."""
    exe = redfuse.compile(programs.variance(1, 1 << 22), options={"deterministic": True})
    kernel = exe.explain(json=True)["kernels"][0]
    assert kernel["schedule"]["kind"] == "split"
    assert "too few" in kernel["schedule"]["reason"]
    assert kernel["schedule"]["splits"] > 1
    assert "because" in exe.explain()
    x = (1e3 + np.random.default_rng(0).standard_normal((1, 1 << 22))).astype(np.float32)
    np.testing.assert_allclose(exe(x), x.astype(np.float64).var(axis=1), rtol=1e-5)
    short = redfuse.compile(programs.variance(1, 1000), options={"deterministic": True})
    assert kinds(short) == ["resident"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("schedule", ["auto", "stream", "split"])
@pytest.mark.parametrize("name", ["attention", "causal_gqa", "variance", "inertia"])
def test_threads_do_not_change_a_bit(name: str, schedule: str) -> None:
    text, arguments = SMALL[name][0]("f32"), inputs_of(name)
    results = []
    for threads in (1, 2, 3, 8):
        options = {"deterministic": True, "threads": threads, "schedule": schedule}
        results.append(redfuse.compile(text, options=options)(*arguments))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_a_deterministic_plan_does_not_know_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same IR, whatever the number of cores and the sizes of the caches."""
    from redfuse import _ext

    text = programs.variance(3, 1 << 20)
    host = dict(_ext.host())
    schedules = []
    for threads, cache in ((1, 1 << 15), (64, 1 << 22)):
        monkeypatch.setattr(
            _ext, "host", lambda t=threads, c=cache: {**host, "threads": t, "l2": c}
        )
        exe = redfuse.compile(text, options={"deterministic": True, "cache": False})
        schedules.append([kernel["schedule"] for kernel in exe.explain(json=True)["kernels"]])
    assert schedules[0] == schedules[1]


def test_parts_are_checked() -> None:
    with pytest.raises(redfuse.ArgumentError, match="option 'splits': expected 0 to 64, got 65"):
        redfuse.compile(programs.variance(2, 8), options={"splits": 65})
