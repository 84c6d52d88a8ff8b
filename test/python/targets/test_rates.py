"""What a GPU reaches: where rates come from, and how they follow from what was measured."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import redfuse
from redfuse.targets import calibrating, rates
from redfuse.targets.rates import Rates

H200 = rates.TABLE["NVIDIA H200"]
OTHER = Rates(launch=3000, round=700, memory=2000, vector=10000, matrix=300000)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("REDFUSE_CACHE_DIR", str(tmp_path))
    rates.stored.cache_clear()
    yield tmp_path
    rates.stored.cache_clear()


def test_stored_rates_come_before_those_of_the_table() -> None:
    assert rates.of_device("NVIDIA H200") == H200 and rates.of_device("A GPU") is None
    file = rates.store("NVIDIA H200", OTHER)
    assert Path(file).exists() and rates.of_device("NVIDIA H200") == OTHER
    assert rates.forget("NVIDIA H200") and not rates.forget("NVIDIA H200")
    assert rates.of_device("NVIDIA H200") == H200


def test_names_of_the_same_letters_are_different_gpus() -> None:
    rates.store("A GPU", OTHER)
    assert rates.path("A GPU") == rates.path("A/GPU") and rates.stored("A/GPU") is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"device": "A GPU", "launch": 1}', "\0"])
def test_a_damaged_file_is_reported(text: str, folder: Path) -> None:
    rates.store("A GPU", OTHER)
    Path(rates.path("A GPU")).write_text(text)
    rates.stored.cache_clear()
    with pytest.warns(redfuse.CacheWarning, match="no rates of a GPU"):
        assert rates.stored("A GPU") is None


def test_numbers_that_no_gpu_has_are_reported() -> None:
    rates.store("A GPU", OTHER)
    for memory in (0, 1 << 31, 2.5, True, "4000"):
        held = {"device": "A GPU", **dataclasses.asdict(OTHER), "memory": memory}
        Path(rates.path("A GPU")).write_text(json.dumps(held))
        rates.stored.cache_clear()
        with pytest.warns(redfuse.CacheWarning):
            assert rates.stored("A GPU") is None


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    (folder / "rates").write_text("a file")
    with pytest.raises(redfuse.CacheError, match="cannot write"):
        rates.store("A GPU", OTHER)


def predicted(name: str, held: Rates) -> dict[str, float]:
    """Nanoseconds of a calibrating program's kernel with these rates, and of its parts."""
    fields = ", ".join(f"{k} = {v}" for k, v in dataclasses.asdict(held).items())
    text = f"module attributes {{redfuse.rates = #redfuse.rates<{fields}>}} {{"
    made = redfuse.compile(
        text + calibrating.PROGRAMS[name]() + "}", target="cuda:sm_90a", options={"cache": False}
    )
    kernels = made.explain(json=True)["kernels"]
    names = ("total", "launch", "memory", "matrix", "vector")
    return {n: 1e3 * sum(k["predicted"][f"{n}_us"] for k in kernels) for n in names}


@pytest.mark.parametrize("name", calibrating.ORDER)
def test_a_rate_is_found_from_what_it_makes(name: str) -> None:
    """What a GPU of other rates takes gives these rates back, those before it being known."""
    known = dataclasses.asdict(H200)
    for before in calibrating.ORDER[: calibrating.ORDER.index(name)]:
        known[before] = getattr(OTHER, before)
    known[name] = getattr(OTHER, name)
    measured = predicted(name, Rates(**known))["total"]
    known[name] = getattr(H200, name)
    rate = calibrating.new_rate(name, known, measured, predicted(name, H200))
    assert rate == pytest.approx(getattr(OTHER, name), rel=0.02)


def test_one_launch_makes_the_rounds() -> None:
    made = redfuse.compile(
        calibrating.PROGRAMS["round"](), target="cuda:sm_90a", options={"cache": False}
    )
    names = [launch.kernel for launch in made.launches if launch.predicted_us is not None]
    assert names == ["main_0_rounds"] and set(names) <= {k.kernel for k in made.resources}


def test_what_no_gpu_has_is_refused() -> None:
    assert rates.check("memory", 4125.4) == 4125
    for value in (0.2, 1e12, float("nan")):
        with pytest.raises(redfuse.ArgumentError, match="which no GPU has"):
            rates.check("memory", value)


def test_calibrating_says_what_it_found() -> None:
    text = str(calibrating.Calibration("A GPU", OTHER, H200, 6.25, "/x"))
    assert "A GPU, in 6.2 s:" in text and "2000 GB/s (before: 4125)" in text
    assert "before" not in str(calibrating.Calibration("A GPU", OTHER, None, 6.2, "/x"))
