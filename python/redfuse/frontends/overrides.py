"""Functions of PyTorch that torch.export cannot follow, in words that it can: they look at the data
of tensors, which a graph does not have, or make tensors without data."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.overrides import TorchFunctionMode

Function = Callable[..., Any]
_BY_FUNCTION: dict[Any, Function] = {}


def _replaces(*functions: Any) -> Callable[[Function], Function]:
    def add(function: Function) -> Function:
        for replaced in functions:
            _BY_FUNCTION[replaced] = function
        return function

    return add


class Overrides(TorchFunctionMode):
    """A context in which these functions are called instead of PyTorch's."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        return _BY_FUNCTION.get(func, func)(*args, **(kwargs or {}))


# ---- checks of numbers, which a compiled program leaves out


@_replaces(torch.cov, Tensor.cov)
def _cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Covariances of variables (rows) over observations, which may count several times or have
    weights: PyTorch looks whether their number is larger than the correction."""
    if input.dim() > 2 or input.dtype == torch.bool:
        return torch.cov(input, correction=correction, fweights=fweights, aweights=aweights)
    x = input if input.dim() == 2 else input.reshape(1, -1)
    weights = fweights
    if aweights is not None:
        weights = aweights if fweights is None else fweights * aweights
    if weights is None:
        count: Any = x.shape[1]
        rest: Any = max(count - correction, 0)
        weighted = x
    else:
        count = weights.sum()
        of_weights = correction
        if aweights is not None:
            of_weights = correction * (weights * aweights).sum() / count
        rest = (count - of_weights).clamp_min(0)
        weighted = x * weights
    centred = x - (weighted.sum(1) / count).unsqueeze(1)
    other = centred if weights is None else centred * weights
    return ((centred @ other.mT.conj()) / rest).squeeze()


@_replaces(torch.corrcoef, Tensor.corrcoef)
def _corrcoef(input: Tensor) -> Tensor:
    """Covariances over both deviations, between -1 and 1."""
    c = _cov(input)
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().real.sqrt() if c.is_complex() else c.diagonal().sqrt()
    c = c / deviation.unsqueeze(1) / deviation
    if c.is_complex():
        return torch.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)


@_replaces(F.gaussian_nll_loss)
def _gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """PyTorch looks for variances below zero, which here are ``eps``."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if isinstance(var, float):
        var = var * torch.ones_like(input)
    elif var.shape == input.shape[:-1] and var.shape != input.shape:
        var = var.unsqueeze(-1)
    elif var.shape != input.shape and (*var.shape[:-1], *input.shape[-1:]) != (*input.shape,):
        raise ValueError("var is of incorrect size")
    least = var.clamp(min=eps)
    if torch.is_grad_enabled() and var.requires_grad:  # no gradient by the clamp
        least = var + (least - var).detach()
    var = least
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


# ---- numbers on the meta device, which has no place for them


def _is_meta(device: Any) -> bool:
    return device is not None and torch.device(device).type == "meta"


def _with_data(function: Function, *args: Any, device: Any = None, **named: Any) -> Tensor:
    """Made on the CPU, whose tensor the graph holds with its numbers, and moved."""
    if not _is_meta(device):
        return function(*args, device=device, **named)
    return function(*args, device="cpu", **named).to(device)


for _function in (torch.tensor, torch.as_tensor, torch.asarray):
    _replaces(_function)(functools.partial(_with_data, _function))


@_replaces(Tensor.new_tensor)
def _new_tensor(self: Tensor, data: Any, **named: Any) -> Tensor:
    if not _is_meta(named.get("device") or self.device):
        return self.new_tensor(data, **named)
    return _with_data(torch.tensor, data, **{"dtype": self.dtype, "device": self.device, **named})
