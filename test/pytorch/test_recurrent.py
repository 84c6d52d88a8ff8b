"""Recurrent layers and cells: loops over time, against PyTorch in fp64."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import redfuse
import torch
from drivers.simulated import execute
from redfuse.frontends.fx.program import import_exported
from redfuse.frontends.fx.recurrent import as_one_operation
from torch import nn
from torch.utils import _pytree as pytree

EPSILON = torch.finfo(torch.float32).eps
TIMES, BATCH, INPUTS, UNITS = 5, 3, 7, 11


def compiled(module: nn.Module, *inputs: Any, **more: Any) -> redfuse.Executable:
    options = {"cache": False, **more.pop("options", {})}
    return redfuse.compile(module, target="cpu", inputs=inputs, options=options, **more)


def check(module: nn.Module, *inputs: Any) -> redfuse.Executable:
    """Gates are below 1 and states stay below times * 1: a round adds a few roundings of what is
    summed up, and hands on those of the round before."""
    module = module.eval()
    exe = compiled(module, *inputs)
    got = pytree.tree_leaves(exe(*inputs))
    with torch.no_grad():
        exact = module.double()(*pytree.tree_map(lambda x: x.double(), inputs))
    module.float()
    bound = 4 * EPSILON * (INPUTS + UNITS) * TIMES
    for mine, theirs in zip(got, pytree.tree_leaves(exact), strict=True):
        assert mine.shape == theirs.shape
        torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=bound)
    return exe


def inputs_for(layer: nn.RNNBase, times: int = TIMES) -> torch.Tensor:
    x = torch.randn(times, BATCH, layer.input_size)
    return x.transpose(0, 1).contiguous() if layer.batch_first else x


LAYERS = {
    "lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN,
    "relu": lambda *sizes, **more: nn.RNN(*sizes, nonlinearity="relu", **more),
}  # fmt: skip


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("is_wide", [False, True])
def test_layers(kind: str, is_wide: bool) -> None:
    for bias, batch_first in itertools.product((False, True), repeat=2):
        torch.manual_seed(1)
        layer = LAYERS[kind](INPUTS, UNITS, num_layers=2, bidirectional=is_wide, bias=bias,
                             batch_first=batch_first, dropout=0.5)  # fmt: skip
        check(layer, inputs_for(layer))


def state_for(layer: nn.RNNBase, units: int) -> torch.Tensor:
    return torch.randn(layer.num_layers * (1 + layer.bidirectional), BATCH, units)


@pytest.mark.parametrize("kind", LAYERS)
def test_states_that_are_given(kind: str) -> None:
    layer = LAYERS[kind](INPUTS, UNITS, bidirectional=True)
    state = state_for(layer, UNITS)
    check(layer, inputs_for(layer), (state, state * 2) if kind == "lstm" else state)


@pytest.mark.parametrize("is_wide", [False, True])
def test_projections(is_wide: bool) -> None:
    layer = nn.LSTM(INPUTS, UNITS, num_layers=2, proj_size=2, bidirectional=is_wide)
    check(layer, inputs_for(layer), (state_for(layer, 2), state_for(layer, UNITS)))


def test_one_sample_and_one_time() -> None:
    check(nn.LSTM(INPUTS, UNITS), torch.randn(TIMES, INPUTS))
    layer = nn.GRU(INPUTS, UNITS, bidirectional=True)
    check(layer, inputs_for(layer, times=1))


def test_cells() -> None:
    x, h = torch.randn(BATCH, INPUTS), torch.randn(BATCH, UNITS)
    check(nn.LSTMCell(INPUTS, UNITS), x, (h, h + 1))
    check(nn.GRUCell(INPUTS, UNITS, bias=False), x, h)
    check(nn.RNNCell(INPUTS, UNITS), x)
    check(nn.RNNCell(INPUTS, UNITS, nonlinearity="relu"), x, h)


def test_a_round_is_one_kernel() -> None:
    layer = nn.LSTM(INPUTS, UNITS, num_layers=3)
    exe = check(layer, inputs_for(layer))
    rounds = [k for k in exe.explanation["kernels"] if len(k["cascades"][0]["stages"]) == 4]
    assert len(exe.explanation["kernels"]) <= 3 * 2 + 2
    assert rounds


def launched_for(layer: nn.RNNBase, times: int) -> int:
    """How many kernels a simulated GPU runs; results are right."""
    x = inputs_for(layer, times)
    with as_one_operation():
        text = import_exported(torch.export.export(layer, (x,))).operation.get_asm()
    exe = redfuse.compile(text, target="cuda:sm_90a", options={"cache": False})
    with torch.no_grad():
        want = pytree.tree_leaves(layer(x))
    got, launched = execute(exe, [x.numpy()], [t.numpy() for t in want])
    for mine, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(torch.from_numpy(mine), theirs)
    return len(launched)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_rounds_are_one_launch_for_both_directions(kind: str) -> None:
    layers = 2
    layer = LAYERS[kind](5, 7, num_layers=layers, bidirectional=True).eval()
    # Three rounds are launches.
    assert launched_for(layer, 3) - launched_for(layer, 2) == layers
    assert launched_for(layer, 9) == launched_for(layer, 5)


@pytest.mark.parametrize(
    ("kind", "batch", "units"), [("lstm", 9, 67), ("gru", 6, 109), ("tanh", 1, 130)]
)
def test_rounds_in_clusters(kind: str, batch: int, units: int) -> None:
    """Parts of the batch have clusters of their own; units of all warps exchange their states."""
    layer = LAYERS[kind](5, units).eval()
    x = torch.randn(6, batch, 5)
    with as_one_operation():
        text = import_exported(torch.export.export(layer, (x,))).operation.get_asm()
    exe = redfuse.compile(text, target="cuda:sm_90a", options={"cache": False})
    assert "_rounds" in exe.ir["generate"]
    plans = [k["rounds"] for k in exe.explanation["kernels"] if "rounds" in k]
    assert [plan["cluster"] * plan["warps"] >= units for plan in plans] == [True]
    assert "rounds    all in one launch" in exe.explain()
    with torch.no_grad():
        want = pytree.tree_leaves(layer(x))
    got, _ = execute(exe, [x.numpy()], [t.numpy() for t in want])
    for mine, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(torch.from_numpy(mine), theirs)


def test_weights_as_arguments() -> None:
    layer = nn.GRU(INPUTS, UNITS, bidirectional=True).eval()
    x = inputs_for(layer)
    exe = compiled(layer, x, options={"parameters": "arguments"})
    with torch.no_grad():
        for weight in layer.parameters():
            weight.mul_(0.5)
        want = layer(x)
    torch.testing.assert_close(exe(x), want)


def test_open_extents() -> None:
    layer = nn.LSTM(INPUTS, UNITS, batch_first=True).eval()
    dims = {1: torch.export.Dim("times", min=2, max=64)}
    exe = compiled(layer, inputs_for(layer), dynamic_shapes=(dims,))
    for times in (TIMES, 13, 2):
        x = inputs_for(layer, times)
        with torch.no_grad():
            torch.testing.assert_close(exe(x), layer(x))


def test_sixteen_bits() -> None:
    layer = nn.GRU(INPUTS, UNITS).eval()
    x = inputs_for(layer)
    with torch.no_grad():
        exact = layer.double()(x.bfloat16().double())[0]
    half = layer.bfloat16()
    got = compiled(half, x.bfloat16())(x.bfloat16())[0]
    torch.testing.assert_close(got.double(), exact, rtol=0, atol=TIMES * 2**-7)


def test_long_loops_are_fast_to_export() -> None:
    """PyTorch's own rules would run all 3 * 512 rounds."""
    layer = nn.GRU(4, 4, num_layers=3).eval()
    x = torch.randn(512, 2, 4)
    with torch.no_grad():
        torch.testing.assert_close(compiled(layer, x)(x), layer(x))


def test_dropout_in_training_is_refused() -> None:
    class Trained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(INPUTS, UNITS, num_layers=2, dropout=0.5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.layer.train()
            return self.layer(x)[0]

    with pytest.raises(redfuse.UnsupportedError, match=r"aten\.lstm\.input: dropout"):
        compiled(Trained(), torch.randn(TIMES, BATCH, INPUTS))


def test_packed_sequences_are_refused() -> None:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(INPUTS, UNITS)

        def forward(self, data: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
            return self.layer(nn.utils.rnn.PackedSequence(data, sizes))[0].data

    with pytest.raises(redfuse.UnsupportedError, match="packed sequences"):
        compiled(Packed(), torch.randn(8, INPUTS), torch.tensor([3, 3, 2]))
