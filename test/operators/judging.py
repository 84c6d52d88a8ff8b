"""Whether results of operations are right: at most twice PyTorch's own distance from fp64, and one
unit in the last place."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

RIGHT, WRONG, REFUSED, FAILED = "right", "wrong", "refused", "failed"
CRASHED, LATE, SKIPPED = "crashed", "timed out", "skipped"
STATUSES = (RIGHT, WRONG, CRASHED, LATE, FAILED, REFUSED, SKIPPED)
TIMES, UNITS = 2.0, 1.0


def tensors_of(results: Any) -> list[torch.Tensor]:
    """The tensors of results, in order, complex ones as their parts."""
    found = [x for x in pytree.tree_leaves(results) if isinstance(x, torch.Tensor)]
    return [torch.view_as_real(x.resolve_conj()) if x.is_complex() else x for x in found]


def in_double(values: Any) -> Any:
    """The same with floating-point tensors in fp64."""

    def convert(x: Any) -> Any:
        if isinstance(x, torch.Tensor) and x.is_complex():
            return x.to(torch.complex128)
        is_float = isinstance(x, torch.Tensor) and x.is_floating_point()
        return x.double() if is_float else x

    return pytree.tree_map(convert, values)


def unit(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The distance of numbers of a type around ``x`` (fp64)."""
    info = torch.finfo(dtype)
    size = x.abs().clamp_min(info.tiny).clamp_max(info.max)
    return info.eps * torch.exp2(torch.floor(torch.log2(size)))


def fault_of(got: Any, eager: Any, exact: Any, by_element: bool) -> str:
    """What is wrong with a tensor; "" if nothing is.

    exact: the result in fp64. by_element: distances are taken in units of each element, else of
        the largest one.
    """
    if not isinstance(got, torch.Tensor):
        return f"expected a tensor, got {type(got).__name__}"
    if got.shape != eager.shape:
        return f"expected the shape {tuple(eager.shape)}, got {tuple(got.shape)}"
    if got.dtype != eager.dtype:
        return f"expected elements of {eager.dtype}, got {got.dtype}"
    if not eager.is_floating_point():
        alike = exact.shape == got.shape and not exact.is_floating_point()
        if torch.equal(got, eager) or (alike and torch.equal(got.to(exact.dtype), exact)):
            return ""
        where = (got != eager).nonzero()[0].tolist()
        return f"at {where}: expected {eager[tuple(where)]}, got {got[tuple(where)]}"
    if exact.shape != got.shape or not exact.is_floating_point():
        exact = eager
    if not got.numel():
        return ""
    mine, theirs, true = got.double(), eager.double(), exact.double()
    same = (mine == theirs) | (mine == true) | (mine.isnan() & (theirs.isnan() | true.isnan()))
    odd = ~(mine.isfinite() & theirs.isfinite() & true.isfinite())
    if bool((odd & ~same).any()):
        where = tuple((odd & ~same).nonzero()[0].tolist())
        return f"at {list(where)}: expected {theirs[where]}, got {mine[where]}"
    usual = ~odd
    if not bool(usual.any()):
        return ""
    mine, theirs, true = mine[usual], theirs[usual], true[usual]
    step = unit(true if by_element else true.abs().max(), got.dtype)
    far, allowed = (mine - true).abs() / step, (theirs - true).abs() / step
    most = TIMES * float(allowed.max()) + UNITS
    if float(far.max()) <= most:
        return ""
    at = int(far.argmax())
    return (f"{float(far.max()):.3g} units from fp64, PyTorch {float(allowed.max()):.3g}: "
            f"expected {float(true[at]):.9g}, got {float(mine[at]):.9g}")  # fmt: skip


def faults_of(got: Any, eager: Any, exact: Any, by_element: bool = False) -> str:
    """What is wrong with results of any structure; "" if nothing is."""
    mine, theirs, true = tensors_of(got), tensors_of(eager), tensors_of(exact)
    if len(mine) != len(theirs):
        return f"expected {len(theirs)} tensors, got {len(mine)}"
    if len(true) != len(theirs):
        true = theirs
    for number, parts in enumerate(zip(mine, theirs, true, strict=True)):
        fault = fault_of(*parts, by_element)
        if fault:
            return f"result {number}: {fault}" if len(mine) > 1 else fault
    return ""
