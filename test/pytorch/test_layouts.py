"""How programs of PyTorch are laid out on a GPU: their kernels, and what plans say of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redfuse
import torch
from redfuse.explain.explanation import walk
from redfuse.frontends import mlir as mlir_frontend
from torch.nn import functional as fn

BF, F32, I64 = torch.bfloat16, torch.float32, torch.int64
Spec = tuple[tuple[int, ...], torch.dtype]


def kernels(f: Callable[..., Any], *specs: Spec) -> list[str]:
    """The schedules of a program's kernels for an H200, all with tiles in registers."""
    inputs = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in specs]
    exe = redfuse.compile(f, inputs=inputs, target="cuda:sm_90a", options={"cache": False})
    module = mlir_frontend.read(exe.ir["plan"]).parse()
    for launch in walk(module.operation, "redfuse.launch"):
        assert "redfuse.no_registers" not in launch.attributes
    return [
        str(kernel.attributes["schedule"]) for kernel in walk(module.operation, "redfuse.kernel")
    ]


def test_columns_that_are_read_twice_are_held() -> None:
    (schedule,) = kernels(lambda x: torch.softmax(x, 1), ((64, 1000, 28, 28), F32))
    assert "resident" in schedule and "tiles = [1, 0, 16]" in schedule


def test_groups_of_few_channels_are_normalised_behind_their_statistics() -> None:
    def norm(x: torch.Tensor) -> torch.Tensor:
        return fn.group_norm(x.permute(0, 3, 1, 2), 32).permute(0, 2, 3, 1)

    states, map_ = kernels(norm, ((16, 64, 64, 256), BF))
    assert "parts of sectors" in states and "map" in map_
    # A group's 16 channels are a sector each.
    assert len(kernels(norm, ((16, 64, 64, 512), BF))) == 1


def test_quantised_columns_are_read_as_they_are_stored() -> None:
    def quantise(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scale = x.float().abs().amax(0) / 127.0
        return torch.round(x.float() / scale).to(torch.int8), scale

    assert len(kernels(quantise, ((4096, 4096), BF))) == 2


def test_few_points_beside_many_are_kept_apart() -> None:
    def update(cache: torch.Tensor, table: torch.Tensor, x: torch.Tensor, at: torch.Tensor) -> Any:
        angles = table[at]
        turned = x * angles[:, None]
        places = at.view(-1, 1, 1, 1).expand(-1, 4, 1, 128)
        return cache.scatter(2, places, turned[:, :, None]), (x * angles[:, None]).sum(-1)

    specs = ((7, 4, 2333, 128), F32), ((2333, 128), F32), ((7, 4, 128), F32), ((7,), I64)
    assert all("tiles = [1, 64, 0, 0]" not in schedule for schedule in kernels(update, *specs))


def test_distances_of_points_are_no_product_of_matrices() -> None:
    def nearest(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        squares = (a * a).sum(-1)[:, None] + (b * b).sum(-1)[None] - 2.0 * a @ b.t()
        return squares.min(-1)[0]

    assert len(kernels(nearest, ((3000, 3), F32), ((2466, 3), F32))) <= 2


def test_ranks_among_equals_are_scanned_in_registers() -> None:
    def ranks(expert: torch.Tensor) -> torch.Tensor:
        hot = (
            expert.t().reshape(-1)[:, None] == torch.arange(12, device=expert.device)[None]
        ).long()
        return (hot.cumsum(0) * hot).sum(1) - 1

    assert 0 < len(kernels(ranks, ((3000, 2), I64))) <= 3


def test_angles_of_many_points_are_little_code() -> None:
    def kernel(rate: torch.Tensor, turn: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        t = torch.arange(784.0, device=rate.device)
        angle = turn[..., None] * t
        waves = weight[..., None] * angle.cos() - weight[..., None] * angle.sin()
        return ((rate[..., None] * t).exp() * waves).sum(1)

    inputs = [torch.empty(256, 32, device="meta") for _ in range(3)]
    exe = redfuse.compile(kernel, inputs=inputs, target="cuda:sm_90a", options={"cache": False})
    assert len(exe.asm) < 2_000_000


@pytest.mark.parametrize("taps", [7, 11])
def test_stems_of_three_channels_are_padded_for_warpgroups(taps: int) -> None:
    def stem(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return fn.conv2d(x, w, stride=2, padding=taps // 2)

    inputs = [
        torch.empty(32, 3, 224, 224, dtype=BF, device="meta"),
        torch.empty(64, 3, taps, taps, dtype=BF, device="meta"),
    ]
    exe = redfuse.compile(stem, inputs=inputs, target="cuda:sm_90a", options={"cache": False})
    assert "wgmma.mma_async" in exe.asm


def test_a_recurrence_over_neighbours_compiles() -> None:
    """Each of 30 steps reads the one before it three times."""

    def steps(x: torch.Tensor) -> torch.Tensor:
        for _ in range(30):
            one, two = fn.pad(x[:, :-1], (1, 0)), fn.pad(x[:, :-2], (2, 0))
            x = torch.log(x.exp() + one.exp() + two.exp())
        return x

    assert len(kernels(steps, ((70, 39), F32))) > 1
