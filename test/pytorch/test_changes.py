"""Modules that have a state: what a call leaves in buffers and other attributes."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import redfuse
import torch
from torch import nn


class Model(nn.Module):
    """``step`` is called with the module and the arguments."""

    def __init__(self, step: Callable[..., torch.Tensor], is_buffer: bool = False) -> None:
        super().__init__()
        self.step = step
        self.layer = nn.Linear(9, 4)
        self.other: torch.Tensor | None = None
        state = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
        if is_buffer:
            self.register_buffer("state", state)
        else:
            self.state = state

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.step(self, *inputs)


def check(model: Model, *inputs: torch.Tensor) -> None:
    """Several calls give what eager ones do, and leave the same."""
    eager = copy.deepcopy(model)
    is_buffer = "state" in model._buffers
    exe = redfuse.compile(model, target="cpu", inputs=inputs, options={"cache": False})
    torch.testing.assert_close(model.state, eager.state)  # nothing yet
    for _ in range(3):
        with torch.no_grad():
            torch.testing.assert_close(exe(*inputs), eager(*inputs))
        torch.testing.assert_close(model.state, eager.state)
    assert ("state" in model._buffers) is is_buffer


@pytest.mark.parametrize("is_buffer", [False, True])
def test_replaced_tensors(is_buffer: bool) -> None:
    def step(m: Model, x: torch.Tensor) -> torch.Tensor:
        m.state = torch.tanh(m.layer(torch.cat((x, m.state), 1)))
        return m.state * 2

    check(Model(step, is_buffer), torch.randn(3, 5))


@pytest.mark.parametrize("is_buffer", [False, True])
def test_written_tensors(is_buffer: bool) -> None:
    def step(m: Model, x: torch.Tensor) -> torch.Tensor:
        m.state.add_(x)
        return m.state.sum(-1)

    check(Model(step, is_buffer), torch.randn(3, 4))


def test_tensors_that_are_written_and_replaced() -> None:
    def step(m: Model, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        m.state.copy_(start)
        m.state = torch.tanh(m.layer(torch.cat((x, m.state), 1)))
        return m.state * 2

    check(Model(step), torch.randn(3, 5), torch.randn(3, 4))


def test_states_of_modules_inside() -> None:
    def step(m: Model, x: torch.Tensor) -> torch.Tensor:
        m.state = m.state + x
        return m.state

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Model(step)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) * 2

    model = Outer()
    before, x = model.inner.state.clone(), torch.ones(3, 4)
    exe = redfuse.compile(model, target="cpu", inputs=[x], options={"cache": False})
    for number in range(1, 4):
        torch.testing.assert_close(exe(x), (before + number) * 2)
    torch.testing.assert_close(model.inner.state, before + 3)


def test_what_nobody_reads_may_change_its_shape() -> None:
    def step(m: Model, x: torch.Tensor) -> torch.Tensor:
        m.state = x.sum(-1)
        return m.state * 2

    model = Model(step)
    exe = redfuse.compile(model, target="cpu", inputs=[torch.ones(7, 5)], options={"cache": False})
    torch.testing.assert_close(exe(torch.ones(7, 5)), torch.full((7,), 10.0))


def test_refused() -> None:
    def grows(m: Model, x: torch.Tensor) -> torch.Tensor:
        m.state = torch.cat((m.state, x))
        return m.state.sum(0)

    def fills(m: Model, x: torch.Tensor) -> torch.Tensor:
        m.held[0] = m.held[0] + x
        return m.held[0] * 2

    x = torch.randn(3, 4)
    with pytest.raises(redfuse.UnsupportedError, match="gives state another shape or type"):
        redfuse.compile(Model(grows), target="cpu", inputs=[x])
    model = Model(fills)
    model.held = [torch.zeros(3, 4)]
    with pytest.raises(redfuse.UnsupportedError, match=r"replaces the tensor held\[0\]"):
        redfuse.compile(model, target="cpu", inputs=[x])


def test_exported_programs_that_write_to_constants() -> None:
    def step(m: Model, x: torch.Tensor) -> torch.Tensor:
        m.state.add_(x)
        return m.state * 2

    program = torch.export.export(Model(step), (torch.randn(3, 4),))
    with pytest.raises(redfuse.UnsupportedError, match=r"writes to state.*register_buffer"):
        redfuse.compile(program, target="cpu")


def test_running_statistics() -> None:
    model = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7))
    eager, x = copy.deepcopy(model), torch.randn(11, 5)
    exe = redfuse.compile(torch.export.export(model, (x,)), target="cpu", options={"cache": False})
    for _ in range(2):
        with torch.no_grad():
            torch.testing.assert_close(exe(x), eager(x))
