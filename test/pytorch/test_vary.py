"""Neighbours of programs (test/programs/vary.py): they run, at other sizes, the same ones for a seed."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "programs"))

import vary

PROGRAM = """
import torch

groups, channels, batch, kernel = 4, 64, 16, 3

class Model(torch.nn.Module):
    def __init__(self, channels, groups, kernel):
        super().__init__()
        self.norm = torch.nn.GroupNorm(groups, channels)
        self.conv = torch.nn.Conv1d(channels, channels, kernel)

    def forward(self, x):
        return self.conv(self.norm(x))

def get_inputs():
    return [torch.rand(batch, channels, 128)]

def get_init_inputs():
    return [channels, groups, kernel]
"""


def test_neighbours_run_at_other_sizes() -> None:
    for seed in range(8):
        text = vary.varied(PROGRAM, random.Random(seed))
        assert text is not None
        assert not vary.runs(text)
        space: dict = {}
        exec(text, space)
        sizes = [space[name] for name in ("groups", "channels", "batch", "kernel")]
        assert sizes != [4, 64, 16, 3]
        assert sizes[0] == 4
        assert sizes[1] % 4 == 0
        assert sizes[3] == 3
        assert text == vary.varied(PROGRAM, random.Random(seed))


def test_programs_that_do_not_run_have_no_neighbours() -> None:
    broken = PROGRAM.replace("self.conv(self.norm(x))", "missing(x)")
    assert vary.varied(broken, random.Random(0)) is None
