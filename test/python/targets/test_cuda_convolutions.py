"""Convolutions on a GPU: machine code, and results by the simulator against fp64."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import redfuse
from convolution_programs import Convolution, draw
from drivers.simulated import execute

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(5)

CHIPS = ("sm_90a", "sm_80")
TILED = {
    "two_dims": Convolution((9, 10), (3, 3)),
    "strided": Convolution((7, 8), (3, 3), channels=5, stride=2),
    "channels_last": Convolution((9, 8), (3, 3), channels=16, filters=24, is_channels_last=True),
    "dilated": Convolution((40,), (5,), channels=12, dilation=2, batch=3),
    "three_dims": Convolution((4, 5, 6), (2, 3, 2), channels=4, filters=9, batch=1),
    "padded": Convolution((9, 10), (3, 3), pad=1),
    # Chunks of channels are as long as stages, half of one, and several.
    "chunks": Convolution((5, 9), (3, 3), channels=64, batch=1, pad=1),
    "half_chunks": Convolution((5, 9), (3, 3), channels=24, batch=1, pad=1),
    "chunks_last": Convolution(
        (5, 9), (3, 3), channels=64, batch=1, pad=1, is_channels_last=True, dtype="bf16"
    ),
    "points": Convolution((8, 8), (1, 1), channels=40, filters=48),
    "groups": Convolution((8, 8), (3, 3), channels=16, filters=32, groups=2),
    "f64": Convolution((9, 10), (3, 3), pad=1, dtype="f64"),
    "f64_channels_last": Convolution(
        (7, 9), (3, 3), channels=24, filters=40, is_channels_last=True, pad=1, dtype="f64"
    ),
    "f64_groups": Convolution(
        (8, 7), (3, 3), channels=10, filters=36, groups=2, stride=2, dtype="f64"
    ),
    "bf16": Convolution((9, 10), (3, 3), channels=16, dtype="bf16"),
    "bf16_channels_last": Convolution(
        (6, 10), (3, 3), channels=16, filters=40, is_channels_last=True, dtype="bf16"
    ),
}


def check(program: Convolution, exe: redfuse.Executable) -> None:
    given = program.data(np.random.default_rng(0))
    want, _ = program.exact(given)
    got, _ = execute(exe, given, [want])
    assert not program.judge(given, got)


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", TILED)
def test_tiled(name: str, chip: str) -> None:
    program = TILED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # ptxas warns of spills
        exe = redfuse.compile(program.program(), target=f"cuda:{chip}", options={"cache": False})
    assert "redfuse.contraction" in exe.ir["plan"]
    assert "mma.sync" in exe.asm
    assert not any(kernel.spills for kernel in exe.resources)
    check(program, exe)


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtypes", [("f32", "bf16", "f16"), ("f64",)])
@pytest.mark.parametrize("seed", range(12))
def test_random(seed: int, dtypes: tuple[str, ...], chip: str) -> None:
    program = draw(seed, dtypes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scalar kernels of odd shapes spill
        exe = redfuse.compile(program.program(), target=f"cuda:{chip}", options={"cache": False})
    check(program, exe)


# Large enough for units of warpgroups: padding, steps and dilation of windows, rows that are numbered
# linearly, a part of 128 bytes of channels, filters that are no multiple of a tile.
BOXES = {
    "padded": Convolution((17, 19), (3, 3), 64, 128, 5, pad=1, dtype="bf16", is_channels_last=True),
    "strided": Convolution((13, 14), (3, 3), 64, 136, 9, stride=2, dtype="bf16", is_channels_last=True),
    "dilated": Convolution((150,), (5,), 128, 192, 9, dilation=3, dtype="bf16", is_channels_last=True),
    "three_dims": Convolution((5, 9, 10), (2, 3, 3), 120, 128, 3, pad=1, dtype="bf16", is_channels_last=True),
    "channels_first": Convolution((30, 31), (3, 3), 96, 130, 4, pad=1, dtype="bf16"),
}  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", BOXES)
def test_boxes(name: str) -> None:
    program = BOXES[name]
    exe = redfuse.compile(program.program(), target="cuda:sm_90a", options={"cache": False})
    assert "boxes = true" in exe.ir["plan"]
    assert not any(kernel.spills for kernel in exe.resources)
    check(program, exe)
