"""Measures what predictions are made from."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .groups import Group, torch_distributed
from .links import Links

_SMALL, _REPEATS = 1 << 10, 5


def measure(
    mesh: Any, *, mesh_dim: str | int | None = None, nbytes: int = 0, side: int = 0
) -> Links:
    """The links of a mesh and its ranks' rates. Every rank calls it; all get the same.

    nbytes: of a large message (1 GiB between GPUs, 16 MiB else); side: of the square matrices (bf16
    on a GPU, f32 else) whose product gives the rate of computing (8192, 512).
    """
    import torch

    group = Group(mesh, mesh_dim, None)
    device = torch.device("cuda", torch.cuda.current_device()) if group.on_gpu else "cpu"
    nbytes = nbytes or (1 << 30 if group.on_gpu else 16 << 20)
    side = side or (8192 if group.on_gpu else 512)
    large = torch.zeros(nbytes, dtype=torch.uint8, device=device)
    other = torch.empty_like(large)
    dtype = torch.bfloat16 if group.on_gpu else torch.float32
    matrix = torch.randn(side, side, device=device).to(dtype)

    def shift(size: int) -> None:
        to, source = (group.rank + 1) % group.size, (group.rank - 1) % group.size
        group.finish(
            group.start_exchange([large[:size]], to, [other[:size]], source), "a measured message"
        )

    def reduce_some() -> None:
        group.run(
            lambda d: d.all_reduce(small, group=group.data, async_op=True), "a measured all-reduce"
        )

    small = torch.zeros(_SMALL // 4, device=device)
    found = {
        "work": _seconds(group, lambda: matrix @ matrix),
        "copy": _seconds(group, lambda: other.copy_(large)),
        "launch": _seconds(group, lambda: small.add_(0)),
        "latency": 0.0,
        "collective": 0.0,
        "message": 0.0,
    }
    if group.size > 1:
        found["latency"] = _seconds(group, lambda: shift(_SMALL))
        found["message"] = _seconds(group, lambda: shift(nbytes))
        found["collective"] = _seconds(group, reduce_some)
    # The slowest rank's.
    values = torch.tensor(list(found.values()), dtype=torch.float64, device=device)
    if group.size > 1:
        maximum = torch_distributed().ReduceOp.MAX
        group.run(
            lambda d: d.all_reduce(values, maximum, group=group.data, async_op=True),
            "what was measured",
        )
    slowest = dict(zip(found, values.tolist(), strict=True))
    transfer = max(slowest["message"] - slowest["latency"], 1e-9)
    return Links(
        bandwidth=nbytes / transfer if group.size > 1 else Links.bandwidth,
        latency=slowest["latency"],
        collective=slowest["collective"],
        compute=2.0 * side**3 / slowest["work"],
        memory=2.0 * nbytes / slowest["copy"],
        launch=slowest["launch"],
    )


def _seconds(group: Group, run: Callable[[], Any]) -> float:
    """The median of some runs."""
    import torch

    times = []
    for number in range(_REPEATS + 2):
        if group.on_gpu:
            torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        if group.on_gpu:
            torch.cuda.synchronize()
        if number >= 2:
            times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]
