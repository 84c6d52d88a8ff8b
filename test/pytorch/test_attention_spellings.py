"""However an attention is spelled in 16 bits, it is one kernel for matrix units, with the plan and
the arithmetic of PyTorch's own operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import redfuse
import torch
from redfuse import lowering
from redfuse.frontends.torch import export
from redfuse.options import Options
from torch.nn.functional import scaled_dot_product_attention

B, H, S, D = 2, 4, 512, 128
Q = torch.empty(B, H, S, D, dtype=torch.bfloat16)
SCALE = D**-0.5


def transformers_eager(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Scores rounded, and rounded again when they are scaled; weights back to 16 bits."""
    scores = torch.matmul(q, k.transpose(2, 3)) * SCALE
    return torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ v


def wide_scores(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Scores that are extended before they are scaled."""
    scores = (q @ k.transpose(-1, -2)).float() * SCALE
    return torch.softmax(scores, -1).to(q.dtype) @ v


def divided(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """All in 16 bits, by a division."""
    return torch.softmax(q @ k.transpose(-1, -2) / D**0.5, -1) @ v


def instructions(function: Callable[..., torch.Tensor]) -> tuple[str, Counter[str]]:
    """The plan of the only kernel, and how many of each instruction there are."""
    source, _ = export(function, (Q, Q, Q))
    lowered = lowering.lower(source, Options(), stop_after="nvvm", target="cuda:sm_90a")
    (kernel,) = lowered.explanation["kernels"]
    words = (line.split() for line in bytes(lowered.ptx).decode().splitlines())
    return str(kernel["matrices"]), Counter(w[0] for w in words if w and w[0][0].islower())


@pytest.mark.parametrize("spelling", [transformers_eager, wide_scores, divided])
def test_a_spelling_has_the_kernel_of_the_operation(spelling: Callable) -> None:
    plan, own = instructions(spelling)
    expected_plan, expected = instructions(scaled_dot_product_attention)
    assert plan == expected_plan
    assert own["wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"] > 0
    assert own == expected


def test_a_rounding_that_decides_something_is_kept() -> None:
    """The index of the largest score is that of the rounded ones."""

    def best(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (q @ k.transpose(-1, -2) * SCALE).argmax(-1)

    torch.manual_seed(0)
    q, k = (torch.randint(-3, 4, (1, 2, n, 64)).bfloat16() for n in (67, 331))
    exe = redfuse.compile(best, inputs=(q, k), target="cpu", options={"cache": False})
    rounded = ((q.float() @ k.float().mT).bfloat16().float() * SCALE).bfloat16()
    largest = rounded == rounded.amax(-1, keepdim=True)
    torch.testing.assert_close(exe(q, k), largest.int().argmax(-1))


def test_keys_of_one_head_are_for_all_queries() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, heads, 13, 8) for heads in (4, 1, 1))
    exe = redfuse.compile(
        scaled_dot_product_attention, inputs=(q, k, v), target="cpu", options={"cache": False}
    )
    exact = scaled_dot_product_attention(q.double(), k.double(), v.double())
    torch.testing.assert_close(exe(q, k, v).double(), exact, rtol=1e-5, atol=1e-6)
