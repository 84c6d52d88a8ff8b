"""Times calls on a GPU: by CUDA events, and by replays of a graph where a call is short; calls in
turn on several sets of arrays, so that the L2 cache is cold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

SHORT_MS = 0.2  # under this a graph replay takes the gaps between launches out
REPLAY_MS = 2.0  # of calls in a graph, so that the start of its replay is not what is measured
MOST_SETS = 1024

Call = Callable[[], Any]


def timed(calls: Sequence[Call]) -> float:
    """ms of all calls together."""
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for call in calls:
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def sets_of(first: Sequence[Any], least: int = 2) -> list[list[Any]]:
    """Copies of some tensors, as many as are three times the L2 cache, the tensors themselves
    first; ``least`` at least."""
    import torch

    device = first[0].device if first else 0
    cache = torch.cuda.get_device_properties(device).L2_cache_size  # bytes
    nbytes = sum(tensor.nbytes for tensor in first) + 1
    number = max(least, min(MOST_SETS, math.ceil(3 * cache / nbytes)))
    return [list(first)] + [[tensor.clone() for tensor in first] for _ in range(number - 1)]


class Timer:
    """Samples the time of a call, given for each set of arrays.

    note: why there is no graph although the calls are short.
    """

    def __init__(self, calls: Sequence[Call]):
        import torch

        self.calls = list(calls)
        self.graph: Any = None
        self.note = ""
        self._repeat = 1
        with torch.no_grad():
            timed(self.calls[:2])
            one = timed(self.calls[:8]) / min(8, len(self.calls))
            if one < SHORT_MS:
                whole = max(1e-3, one) * len(self.calls)  # ms of all sets once
                self._capture(max(1, math.ceil(REPLAY_MS / whole)))
        if self.graph is None:
            self._repeat = max(1, math.ceil(2.0 / max(one, 1e-6) / len(self.calls)))

    def _capture(self, repeat: int) -> None:
        """A graph of all calls in turn, `repeat` times."""
        import torch

        stream = torch.cuda.Stream()
        try:
            with torch.cuda.stream(stream):
                for call in self.calls[:3]:
                    call()
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                for call in self.calls * repeat:
                    call()
            graph.replay()
            torch.cuda.synchronize()
            self.graph, self._repeat = graph, repeat
        except Exception as error:  # whatever a library raises
            torch.cuda.synchronize()
            self.note = f"no graph: {first_line(error)}"

    @property
    def how(self) -> str:
        """By what it is timed: graph or events."""
        return "graph" if self.graph is not None else "events"

    def sample(self) -> float:
        """ms of one call."""
        import torch

        with torch.no_grad():
            if self.graph is not None:
                return timed([self.graph.replay]) / (len(self.calls) * self._repeat)
            calls = self.calls * self._repeat
            return timed(calls) / len(calls)


def first_line(error: BaseException) -> str:
    """The error's type and the beginning of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"
