"""Which convolutions are claimed on GPUs: those with one window for each channel of a sequence."""

from __future__ import annotations

import pytest
import torch
from redfuse.frontends.dynamo import nodes
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


def _refusal(x: tuple[int, ...], weight: tuple[int, ...] | None, groups: int) -> str | None:
    """Why the convolution is refused; without a weight, of `x` by itself."""
    with FakeTensorMode():
        given = [torch.empty(shape, dtype=torch.bfloat16) for shape in (x, weight) if shape]
        graph = make_fx(
            lambda *t: torch.ops.aten.convolution(
                t[0], t[-1], None, [1] * (len(x) - 2), [1] * (len(x) - 2), [1] * (len(x) - 2),
                False, [0] * (len(x) - 2), groups,
            )
        )(*given).graph  # fmt: skip
    (node,) = [n for n in graph.nodes if n.op == "call_function"]
    return nodes.refusal(node)


@pytest.mark.parametrize(
    ("x", "weight", "groups"), [((2, 7, 31), (7, 1, 3), 7), ((1, 1, 5), None, 1)]
)
def test_one_window_for_each_channel(
    x: tuple[int, ...], weight: tuple[int, ...] | None, groups: int
) -> None:
    assert _refusal(x, weight, groups) is None


@pytest.mark.parametrize(
    ("x", "weight", "groups"),
    [
        ((2, 6, 31), (6, 3, 3), 2),  # three channels a group
        ((2, 7, 31), (14, 1, 3), 7),  # two windows for a channel
        ((2, 7, 9, 9), (7, 1, 3, 3), 7),  # of two dims
        ((3, 3, 5), None, 1),  # of what it is given, by itself
    ],
)
def test_others(x: tuple[int, ...], weight: tuple[int, ...] | None, groups: int) -> None:
    assert "is not claimed" in (_refusal(x, weight, groups) or "")
