"""Functions of PyTorch as programs for a GPU that a simulator runs (``drivers.simulated``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import redfuse
import torch
from drivers.simulated import execute
from redfuse.frontends.fx.program import import_exported

# A function, and what it is called with.
Case = tuple[Callable[..., Any], list[torch.Tensor]]


class Program(torch.nn.Module):
    """A function as `torch.export` takes it."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def rows(n: int, *slices: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, *slices, generator=torch.Generator().manual_seed(seed))


def _as_tuple(made: Any) -> tuple[torch.Tensor, ...]:
    return made if isinstance(made, tuple) else (made,)


def outcomes(case: Case) -> list[tuple[np.ndarray, torch.Tensor, np.ndarray]]:
    """Of each result: what the simulated kernels made for sm_90a, what eager PyTorch made, and what
    it made of the inputs in fp64."""
    function, inputs = case
    program = torch.export.export(Program(function), tuple(inputs))
    text = import_exported(program).operation.get_asm()
    exe = redfuse.compile(text, target="cuda:sm_90a", options={"cache": False})
    want = _as_tuple(function(*inputs))
    exact = _as_tuple(function(*(x.double() if x.is_floating_point() else x for x in inputs)))
    got: Sequence[np.ndarray]
    got, _ = execute(exe, [x.numpy() for x in inputs], [x.numpy() for x in want])
    return list(zip(got, want, [x.numpy() for x in exact], strict=True))
