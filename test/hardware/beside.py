"""A program beside torch.compile on a GPU: one line of times, their ratio and errors."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import redfuse
import torch
from bytes import L2_BYTES, replayed
from timing import microseconds

MOST_SETS, ROUNDS = 6, 3


def first(result: Any) -> torch.Tensor:
    return torch.as_tensor(result if torch.is_tensor(result) else result[0], device="cuda")


def error(found: torch.Tensor, exact: torch.Tensor) -> float:
    """In 2-norm; of integers, how many differ."""
    if not found.dtype.is_floating_point:
        return (found != exact).double().mean().item()
    return ((found.double() - exact).norm() / exact.norm()).item()


def compare(
    name: str, f: Callable[..., Any], make: Callable[[], Sequence[torch.Tensor]], moved: int = 0
) -> None:
    """``make``: inputs on the GPU; sets of them take turns, so that the L2 cache has none. Errors are
    those of the first result against fp64 where ``f`` can run in it, else against eager PyTorch.
    moved: bytes that the program has to read and write, for a rate."""
    data = [make()]
    size = sum(x.nbytes for x in data[0])
    data += [make() for _ in range(min(MOST_SETS, int(3 * L2_BYTES // size) + 1) - 1)]
    own = redfuse.compile(
        f, inputs=[x.to("meta") for x in data[0]], target="cuda", options={"cache": False}
    )
    torch._dynamo.reset()
    peer = torch.compile(f, dynamic=False)
    exact = first(f(*(x.double() if x.dtype.is_floating_point else x for x in data[0])))
    errors = [error(first(g(*data[0])), exact) for g in (own, peer)]
    del exact
    graphs = [replayed(lambda i, g=g: g(*data[i]), len(data)) for g in (own, peer)]  # type: ignore[misc]
    rounds = [[microseconds(g, 1, calls=4) / len(data) for g in graphs] for _ in range(ROUNDS)]
    mine, theirs = (statistics.median(times) for times in zip(*rounds, strict=True))
    rate = f" {1e-6 * moved / mine:5.2f} TB/s" if moved else ""
    print(
        f"{name:34} {mine:9.1f} us{rate}  torch.compile {theirs:9.1f} us {theirs / mine:5.2f}  "
        f"errors {errors[0]:.1e} {errors[1]:.1e}  {len(own.resources)} kernels",
        flush=True,
    )
