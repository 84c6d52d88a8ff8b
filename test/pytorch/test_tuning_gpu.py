"""What `redfuse tune --target cuda` does with tensors and clocks, where there is no GPU: tensors
stay on the CPU, programs too, and events are clocks."""

import dataclasses
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
import redfuse
import torch
from redfuse.bench import gpu_timing, programs
from redfuse.options import Options
from redfuse.targets.cuda import Resources
from redfuse.tuning import measure
from test_bench_gpu import Event

PROGRAM = programs.softmax(32, 96, "bf16")
STREAM = "#redfuse.schedule<stream, grid = [0], tiles = [4, 32], stream = [1]>"
ROWS = "#redfuse.schedule<resident, grid = [0], tiles = [2, 0]>"


@pytest.fixture
def subject(monkeypatch: pytest.MonkeyPatch) -> measure.Subject:
    class Properties:
        L2_cache_size = 1 << 13

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Properties)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.Tensor, "cuda", lambda tensor: tensor)
    monkeypatch.setattr(gpu_timing.Timer, "_capture", lambda timer, repeat: None)

    def compiled(source: Any, target: str, options: Options) -> redfuse.Executable:
        exe = redfuse.compile(source, target="cpu", options=options)
        if STREAM in options.schedules:
            spilled = Resources("main_0", registers=255, shared=0, spills=8, stack=8)
            exe.variants = [SimpleNamespace(code=b"", images=[], resources=[spilled])]
            warnings.warn(
                "ptxas -arch=sm_90a: main_0: 8 bytes spilled", redfuse.CodeWarning, stacklevel=2
            )
        return exe

    monkeypatch.setattr(measure, "compile", compiled)
    return measure.Subject({
        "text": PROGRAM, "name": "-", "target": "cuda:sm_90a", "shapes": [], "inputs": "",
        "seconds": 0.01, "options": dataclasses.asdict(Options()),
    })  # fmt: skip


def test_candidates_are_timed_on_cold_sets(subject: measure.Subject) -> None:
    assert subject.trial([""])["ms"] > 0
    assert len(subject.sets) == 4  # of 6 kB each: three times 8 kB
    assert subject.trial([ROWS])["ms"] > 0
    assert subject.trial([ROWS])["same"]


def test_worse_code_is_not_measured(subject: measure.Subject) -> None:
    subject.trial([""])
    assert subject.trial([STREAM])["error"].startswith(
        "pruned: ptxas -arch=sm_90a: main_0: 8 bytes"
    )


def test_what_is_not_written_shows(
    subject: measure.Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject.trial([""])
    monkeypatch.setattr(redfuse.Executable, "__call__", skipping(redfuse.Executable.__call__))
    assert "another result: out0 bf16: error inf" in subject.trial([ROWS])["error"]


def skipping(call: Any) -> Any:
    """A program that leaves a given output as it is."""
    return lambda exe, *arrays, out=None: call(exe, *arrays) if out is None else None
