"""Whose turn it is among the arguments of a profile, and what a module's profile gives its program."""

from __future__ import annotations

from typing import Any

import pytest
import redfuse
import torch
from redfuse import profiling
from redfuse.bench import gpu_timing, programs


@pytest.fixture(autouse=True)
def a_small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a GPU that is not there: tensors are the host's."""
    properties = type("Properties", (), {"L2_cache_size": 1000})()
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(profiling, "_tensor", lambda x: x if torch.is_tensor(x) else None)
    monkeypatch.setattr(profiling, "_delay", lambda *arguments: None)


def recorded(exe: redfuse.Executable, monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """What timed calls are given."""
    given: list[list[Any]] = []

    def call(arguments: Any, out: Any, stream: Any) -> list[tuple[str, float]]:
        given.append(list(arguments))
        return [("main_0", 1000.0 * len(given))]

    monkeypatch.setattr(exe, "timed_call", call)
    return given


def test_how_many_sets() -> None:
    """As many as the cache asks for, and none of copies where the arguments are larger."""
    assert len(gpu_timing.sets_of([torch.zeros(250)])) == 3
    assert len(gpu_timing.sets_of([torch.zeros(2500)])) == 2
    assert len(gpu_timing.sets_of([torch.zeros(2500)], least=1)) == 1
    first = torch.zeros(250)
    sets = profiling._sets([2.0, first], None)
    assert sets[0][1] is first
    assert [made[0] for made in sets] == [2.0] * 3
    assert profiling._sets([2.0], None) == []


def test_sets_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    exe = redfuse.compile(programs.softmax(5, 50, "f32"), target="cuda:sm_90a",
                          options={"cache": False})  # fmt: skip
    given, x = recorded(exe, monkeypatch), torch.ones(5, 50)
    found = exe.profile(x, repeats=4)
    places = [arguments[0].data_ptr() for arguments in given]
    assert places[0] == x.data_ptr()  # the warm-up
    assert len(set(places)) == 3 and places[1] != x.data_ptr()
    assert places[4] == places[1] and places[3] == places[0]
    assert all(torch.equal(arguments[0], x) for arguments in given)
    (kernel,) = found.kernels
    assert (found.cold, kernel.median_us, kernel.least_us) == (True, 3.5, 2.0)


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(50))

    def forward(self, x: torch.Tensor, *, scale: torch.Tensor) -> dict[str, torch.Tensor]:
        self.count.add_(1)
        return {"scaled": torch.softmax(x * scale, -1) + self.count}


def test_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its keywords and buffers are arguments of the program, and it is not written to."""
    model, x, scale = Counter(), torch.ones(5, 50), torch.ones(50)
    exe = redfuse.compile(model, inputs=[x], kwargs={"scale": scale}, target="cuda:sm_90a",
                          options={"cache": False})  # fmt: skip
    given = recorded(exe, monkeypatch)
    found = exe.profile(x, scale=scale, repeats=1)
    assert len(given[0]) == len(exe.signature.inputs) == 3
    assert not model.count.any()
    assert found.kernels[0].median_us == 2.0
    with pytest.raises(redfuse.ArgumentError, match="expected arguments of the structure"):
        exe.profile(x)
