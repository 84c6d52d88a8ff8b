"""`redfuse bench --target cuda` where there is no GPU: tensors stay on the CPU, events are clocks."""

import json
import re
import time
from pathlib import Path

import pytest
import torch
from redfuse.bench import cases, gpu, gpu_peers, gpu_timing, plot, report, warming
from redfuse.bench.runner import Settings


class Event:
    """A clock that is read when it is recorded."""

    def __init__(self, enable_timing: bool = False):
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: "Event") -> float:
        return (other.at - self.at) * 1e3


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch without the parts that need a GPU."""
    randn, rand, randint = torch.randn, torch.rand, torch.randint

    def local(make):
        def made(*arguments, device=None, generator=None, **words):
            return make(*arguments, **words)

        return made

    class Properties:
        name, L2_cache_size = "none", 1 << 10

    monkeypatch.setattr(torch, "randn", local(randn))
    monkeypatch.setattr(torch, "rand", local(rand))
    monkeypatch.setattr(torch, "randint", local(randint))
    monkeypatch.setattr(torch, "arange", local(torch.arange))
    monkeypatch.setattr(torch, "Generator", lambda device: torch._C.Generator("cpu"))
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: Properties)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(gpu_peers, "DEVICE", "cpu")
    monkeypatch.setattr(gpu, "_set_up", lambda: None)
    floors = gpu.Floors(10.0, {"f32": 1.0, "bf16": 2.0})
    monkeypatch.setattr(gpu, "measure_floors", lambda: floors)
    monkeypatch.setattr(gpu_timing.Timer, "_capture", lambda timer, repeat: None)


def small(name: str) -> cases.Case:
    """A case in a size for a CPU."""
    made = {
        "softmax": lambda: cases._rows("softmax", "small", "softmax", 8, 96, "bf16"),
        "cross_entropy": lambda: cases._rows(
            "cross_entropy", "small", "cross_entropy", 8, 96, "f32"
        ),
        "attention": lambda: cases.attention_case("attention", "small", "f32", 1, 2, 32, 32, 16),
        "causal": lambda: cases.attention_case(
            "attention", "small_causal", "f32", 1, 4, 32, 32, 16, 2, "causal+softcap"
        ),
    }
    return made[name]()


@pytest.mark.parametrize("name", ["softmax", "cross_entropy", "attention", "causal"])
def test_a_case(on_cpu: None, name: str) -> None:
    settings = Settings(target="cpu", seconds=0.05, rounds=5)
    rows = gpu.run_case(small(name), settings, gpu.measure_floors(), ("eager", "cudnn"))
    by_name = {row.implementation: row for row in rows}
    assert {"redfuse", "torch eager"} <= set(by_name)
    for row in (by_name["redfuse"], by_name["torch eager"]):
        assert not row.note, row.note
        assert row.median_ms > 0 and row.of_floor > 0
        assert row.error < (0.02 if row.dtype == "bf16" else 1e-5)
        assert row.timed == "events"
        is_memory = gpu.measure_floors().is_short_copy(small(name))
        assert (row.of_copy is not None and row.of_copy > 0) == is_memory
    assert by_name["torch eager"].ratio > 0
    if "torch cudnn" in by_name:  # no such kernel here: told, not raised
        assert by_name["torch cudnn"].note


def test_a_run(on_cpu: None, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """JSON, a picture, and what the time did not suffice for."""
    settings = Settings(target="cpu", seconds=0.02, rounds=5, peer_names=("eager", "max-autotune"))
    picture = tmp_path / "p.svg"
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        picture = None
    chosen = [small("softmax"), small("attention")]
    passes = gpu.PASSES
    gpu.PASSES = (("eager",),)
    try:
        code = report.run_gpu(chosen, settings, tmp_path / "b.json", picture)
    finally:
        gpu.PASSES = passes
    assert code == 0
    document = json.loads((tmp_path / "b.json").read_text())
    assert document["copy_gb_s"] == 10.0
    assert len(document["rows"]) == 4
    assert document["rows"][0]["of_copy"] > 0
    assert {"of floor", "of a copy of its size"} <= {mean["peer"] for mean in document["means"]}
    assert re.search(r"of the floor, \d+\.\d\d of a copy of its size", capsys.readouterr().out)
    settings.limit = 1e-9
    report.run_gpu(chosen, settings, None, None)
    assert "out of time for softmax/small, attention/small" in capsys.readouterr().out


def test_compiling_ahead() -> None:
    """In processes; those that fail or take too long are told of, and none is left."""
    chosen = cases.select(["softmax/S1", "attention/H1"], "bf16")
    work = warming.work(chosen, ("eager", "compile", "max-autotune", "flex", "cudnn"))
    assert [peer for *_, peer in work[:2]] == ["max-autotune", "max-autotune"]
    assert {peer for *_, peer in work} == {"compile", "max-autotune", "flex"}
    assert warming.warm(chosen, ("eager",), 4) == "nothing to compile ahead"
    told = warming.warm(chosen, ("compile",), 2, prepare=prepared)
    assert told.startswith("compiled ahead 1 of 2 peers; one failed: no attention"), told
    start = time.perf_counter()
    told = warming.warm(chosen, ("compile",), 2, 2.0, prepare=endless)
    assert told.startswith("compiled ahead 0 of 2 peers, 2 processes") and "failed" not in told
    assert time.perf_counter() - start < 30


def prepared(name: str, dtype: str, peer: str, seed: int) -> str:
    assert (dtype, peer, seed) == ("bf16", "compile", 0)
    return "no attention" if name.startswith("attention") else ""


def endless(*_: object) -> str:
    time.sleep(600)
    return ""


def test_a_picture_needs_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    import redfuse

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(redfuse.Error, match=r"pip install .redfuse\[plot\]"):
        plot.draw([], {}, tmp_path / "x.svg")


def test_every_default_case_is_there() -> None:
    chosen = cases.select([], "bf16", cases.GPU_DEFAULT)
    names = [case.full_name for case in chosen]
    assert names[:3] == ["softmax/S1", "layernorm/S1", "rmsnorm/S1"]
    assert "attention_operators/DC_GQA_32768" in names
    for case in chosen:
        assert gpu_peers.functions(case), case.full_name
