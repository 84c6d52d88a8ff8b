"""The time of calls on a GPU that take turns on several sets of data, so that caches have none."""

from __future__ import annotations

import statistics
from collections.abc import Callable


def microseconds(call: Callable[[int], object], sets: int, calls: int = 20) -> float:
    """The median time of one call; ``call(i)`` uses set ``i`` of ``sets``."""
    import torch

    for i in range(sets):
        call(i)
    times = []
    for _ in range(5):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        for i in range(calls):
            call(i % sets)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1000 / calls)
    return statistics.median(times)
