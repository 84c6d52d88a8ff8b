"""Branches, loops, scans and FlexAttention in PyTorch programs."""

from __future__ import annotations

from typing import Any

import redfuse
import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


class Model(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def check(function: Any, *calls: tuple[torch.Tensor, ...]) -> redfuse.Executable:
    """Compiled for the first call, right in all."""
    exe = redfuse.compile(Model(function), target="cpu", inputs=calls[0], options={"cache": False})
    for inputs in calls:
        with torch.no_grad():
            expected = function(*inputs)
        got = exe(*inputs)
        for mine, theirs in zip(
            *(torch.utils._pytree.tree_leaves(x) for x in (got, expected)), strict=True
        ):
            torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
    return exe


def test_branches() -> None:
    def program(x: torch.Tensor, p: torch.Tensor) -> Any:
        return torch.cond(p.sum() > 0, lambda x: (x * 2).softmax(-1), lambda x: x - 1, (x,))

    x = torch.randn(3, 7)
    check(program, (x, torch.ones(2)), (x, -torch.ones(2)))


def test_loops() -> None:
    def program(x: torch.Tensor, n: torch.Tensor) -> Any:
        start = torch.zeros((), dtype=torch.int64)
        return while_loop(
            lambda i, x, n: i < n, lambda i, x, n: (i + 1, x * 1.5 + i, n.clone()), (start, x, n)
        )

    x = torch.randn(5)
    check(program, *((x, torch.tensor(n)) for n in (5, 0, 1)))


def test_scans() -> None:
    def program(h: torch.Tensor, x: torch.Tensor) -> Any:
        return scan(lambda h, x: (h * 0.5 + x, h.sum(-1)), h, x)

    check(program, (torch.randn(3, 4), torch.randn(5, 3, 4)))


def test_flex_attention() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    slopes = torch.rand(2)

    def program(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            return torch.where(i >= j, s - slopes[h] * (i - j), float("-inf"))

        return flex_attention(q, k, v, score_mod=score)

    exe = check(program, tuple(torch.randn(1, 2, 16, 8) for _ in range(3)))
    assert any("cascades" in kernel for kernel in exe.explanation["kernels"])
