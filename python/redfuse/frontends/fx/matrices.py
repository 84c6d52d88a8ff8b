"""Rules for factors and determinants of small matrices: elimination, a step a column, unrolled, in
fp64: as near as PyTorch's, whose order of sums is another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...errors import UnsupportedError
from .composed import composes

MOST = 16  # rows; larger ones would make long programs


def _eliminated(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """L and U in one matrix, the rows that were exchanged (from 1 on), and the sign of their
    order."""
    count = x.shape[-1]
    if count > MOST:
        raise UnsupportedError(f"the factors of matrices of {count} rows; expected at most {MOST}")
    x = x.double()
    rows = torch.arange(count)
    sign = torch.ones(x.shape[:-2], dtype=x.dtype)
    exchanged = []
    for k in range(count):
        pivot = x[..., k:, k].abs().argmax(-1) + k
        exchanged.append(pivot + 1)
        sign = torch.where(pivot == k, sign, -sign)
        at = pivot.unsqueeze(-1)
        order = torch.where(rows == k, at, torch.where(rows == at, k, rows))
        x = x.gather(-2, order.unsqueeze(-1).expand(x.shape))
        factor = x[..., k + 1 :, k] / x[..., k, k].unsqueeze(-1)
        factor = torch.where(x[..., k, k].unsqueeze(-1) == 0, 0.0, factor)
        rest = x[..., k + 1 :, k + 1 :] - factor.unsqueeze(-1) * x[..., k, k + 1 :].unsqueeze(-2)
        low = torch.cat([factor.unsqueeze(-1), rest], -1)
        if k + 1 < count:
            below = torch.cat([x[..., k + 1 :, :k], low], -1)
            x = torch.cat([x[..., : k + 1, :], below], -2)
    return x, torch.stack(exchanged, -1).to(torch.int32), sign


@composes("_linalg_det.default")
def _det(A: Tensor) -> Any:  # noqa: N803
    factors, pivots, sign = _eliminated(A)
    made = sign * factors.diagonal(0, -2, -1).prod(-1)
    return made.to(A.dtype), factors.to(A.dtype), pivots


@composes("_linalg_slogdet.default")
def _slogdet(A: Tensor) -> Any:  # noqa: N803
    factors, pivots, sign = _eliminated(A)
    diagonal = factors.diagonal(0, -2, -1)
    made = sign * diagonal.sign().prod(-1), diagonal.abs().log().sum(-1), factors
    return *(t.to(A.dtype) for t in made), pivots


@composes("linalg_lu_factor_ex.default")
def _lu(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:  # noqa: N803
    if not pivot or A.shape[-1] != A.shape[-2]:
        raise UnsupportedError("factors without pivots, or of matrices that are not square")
    factors, pivots, _ = _eliminated(A)
    return factors.to(A.dtype), pivots, _singular(factors)


def _singular(factors: Tensor) -> Tensor:
    """The first column (from 1 on) whose pivot is 0; 0 where there is none."""
    zero = factors.diagonal(0, -2, -1) == 0
    first = zero.to(torch.int32).argmax(-1) + 1
    return torch.where(zero.any(-1), first, 0).to(torch.int32)


def _solved(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: N803
    """X of A X = B, and the factors."""
    count = A.shape[-1]
    factors, pivots, _ = _eliminated(A)
    x = B.double()
    rows = torch.arange(count)
    for k in range(count):
        at = pivots[..., k].to(torch.int64).unsqueeze(-1) - 1
        order = torch.where(rows == k, at, torch.where(rows == at, k, rows))
        x = x.gather(-2, order.unsqueeze(-1).expand(x.shape))
    parts = [x[..., k, :] for k in range(count)]
    for k in range(count):
        for j in range(k):
            parts[k] = parts[k] - factors[..., k, j].unsqueeze(-1) * parts[j]
    for k in reversed(range(count)):
        for j in range(k + 1, count):
            parts[k] = parts[k] - factors[..., k, j].unsqueeze(-1) * parts[j]
        parts[k] = parts[k] / factors[..., k, k].unsqueeze(-1)
    return torch.stack(parts, -2), factors, pivots


@composes("linalg_inv_ex.default")
def _inv(A: Tensor, *, check_errors: bool = False) -> Any:  # noqa: N803
    unit = torch.eye(A.shape[-1], dtype=A.dtype).expand(A.shape)
    made, factors, _ = _solved(A, unit)
    return made.to(A.dtype), _singular(factors)


@composes("_linalg_solve_ex.default")
def _solve(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False,  # noqa: N803
) -> Any:  # fmt: skip
    column = B.dim() == A.dim() - 1 and B.shape == A.shape[:-1]
    if not left:
        raise UnsupportedError("a solution from the right; expected left=True")
    wide = B.unsqueeze(-1) if column else B
    lead = torch.broadcast_shapes(A.shape[:-2], wide.shape[:-2])
    A, wide = (t.expand(*lead, *t.shape[-2:]) for t in (A, wide))  # noqa: N806
    made, factors, pivots = _solved(A, wide)
    made = made.squeeze(-1) if column else made
    return made.to(B.dtype), factors.to(B.dtype), pivots, _singular(factors)


@composes("linalg_inv.default", "inverse.default")
def _inverse(A: Tensor) -> Tensor:  # noqa: N803
    return _inv(A)[0]


@composes("linalg_solve.default")
def _linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:  # noqa: N803
    return _solve(A, B, left=left)[0]
