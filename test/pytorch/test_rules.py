"""Rules of our own for operations of PyTorch, against fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attempts
import judging
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

MASK = torch.tensor([[True, False, True], [False, True, True]])


def tensor(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


X = tensor(2, 3, 4)
CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "determinant": (torch.linalg.det, (tensor(2, 5, 5),)),
    "logarithm of a determinant": (torch.linalg.slogdet, (tensor(2, 3, 3),)),
    "inverse": (torch.linalg.inv, (tensor(2, 4, 4),)),
    "solution": (torch.linalg.solve, (tensor(4, 4), tensor(4, 3))),
    "one value at a mask": (lambda x, m: x.index_put((m,), torch.tensor(2.0)), (X, MASK)),
    "rows at a mask": (lambda x, m, v: x.index_put((m,), v), (X, MASK, tensor(4, 4))),
    "rows added at a mask": (lambda x, m, v: x.index_put((m,), v, True), (X, MASK, tensor(4, 4))),
    "elements at a mask": (lambda x, m, v: x.index_put((m,), v), (tensor(2, 3), MASK, tensor(4))),
    "one row at a mask": (lambda x, m, v: x.index_put((m,), v), (X, MASK, tensor(1, 4))),
    "bilinear": (F.bilinear, (tensor(3, 4), tensor(3, 5), tensor(6, 4, 5), tensor(6))),
    "rrelu": (F.rrelu, (X,)),
    "labels of rows": (lambda x, t: [F.multilabel_margin_loss(x, t, reduction=r) for r in ("none", "mean", "sum")],
                       (tensor(3, 5), torch.tensor([[1, 4, -1, 0, 2], [-1, 0, 0, 0, 0], [3, 3, 2, 0, 1]]))),
    "labels of one row": (F.multilabel_margin_loss, (tensor(4), torch.tensor([2, 0, -1, 3]))),
    "quantised": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7), (X,)),
    "mean of a number": (lambda x: x.mean(0), (tensor(),)),
    "maxima so far": (lambda x: x.cummax(1), (torch.tensor([[1.0, float("nan"), 3.0, 3.0], [2.0, 2.0, 1.0, 2.0]]),)),
    "order with NaN": (lambda x: (*x.sort(dim=-1, stable=True), *x.sort(dim=-1, descending=True, stable=True)),
                       (torch.tensor([[1.0, float("nan"), 3.0, 1.0], [2.0, 2.0, float("nan"), -1.0]]),)),
    "middle": (lambda x: (*x.median(1), x.nanmedian()), (torch.tensor([[1.0, float("nan"), 3.0], [5.0, 2.0, 4.0]]),)),
    "exponents": (torch.frexp, (torch.tensor([0.0, -0.3, 1e-45, 3e38, float("inf"), float("nan")]),)),
    "neighbours": (torch.nextafter, (torch.tensor([0.0, 1.0, -1.0, 1e-45]), torch.tensor([-1.0, 2.0, -1.0, 0.0]))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    function, inputs = CASES[name]
    program = attempts.Program(function, inputs, {})
    row = attempts.attempt(program, program.inputs)
    assert row["status"] == judging.RIGHT, row["message"]


def test_large_matrices_are_refused() -> None:
    program = attempts.Program(torch.linalg.det, [tensor(17, 17)], {})
    assert "expected at most 16" in attempts.attempt(program, program.inputs)["message"]
