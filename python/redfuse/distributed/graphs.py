"""CUDA graphs of a call with its collectives."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, UnsupportedError
from .program import Program

# The first NCCL whose collectives can be captured.
_NCCL = (2, 11)


class Graph:
    """A captured call. Call it with arguments of the same shapes: they are copied to where the
    graph reads, and the results lie where it writes, until the next call."""

    def __init__(self, graph: Any, arguments: list[Any], results: Any):
        self._graph, self._arguments, self.results = graph, arguments, results

    def __call__(self, *arguments: Any) -> Any:
        """The results of these arguments; the call returns when the work is enqueued. Raises
        ArgumentError for another number or other shapes."""
        if len(arguments) != len(self._arguments):
            raise ArgumentError(
                f"graph: expected {len(self._arguments)} arguments, got {len(arguments)}"
            )
        for index, (to, value) in enumerate(zip(self._arguments, arguments, strict=True)):
            if value is to:
                continue
            if tuple(value.shape) != tuple(to.shape) or value.dtype != to.dtype:
                raise ArgumentError(
                    f"graph: argument {index}: expected {to.dtype} of shape {tuple(to.shape)}, as "
                    f"was captured, got {value.dtype} of {tuple(value.shape)}",
                    index,
                )
            to.copy_(value)
        self._graph.replay()
        return self.results


def capture(program: Program, *arguments: Any) -> Graph:
    """Captures a call of a program on every rank: local tensors, of the shapes that later calls
    have.

    The program must be compiled with ``check="first"``: what ranks say to each other over the host
    is no part of a graph. A rank that hangs is then found by NCCL's own watchdog. Raises
    UnsupportedError where a graph cannot be made, ArgumentError for wrong arguments.
    """
    import torch

    if not program.group.on_gpu:
        raise UnsupportedError("a graph needs GPUs; expected a mesh of device type cuda")
    version = torch.cuda.nccl.version()
    if tuple(version[:2]) < _NCCL:
        raise UnsupportedError(
            f"NCCL {'.'.join(map(str, version))} cannot be captured; expected 2.11 or later"
        )
    if program.check != "first":
        raise ArgumentError("capture: expected a program compiled with check='first'")
    static = [value.detach().clone() for value in arguments]
    # Connections, workspaces and code are made before; so are agreements.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            program(*static)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # Other threads (NCCL's watchdog) may call the driver meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        results = program(*static)
    return Graph(graph, static, results)
