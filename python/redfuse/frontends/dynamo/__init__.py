"""``torch.compile(model, backend="redfuse")``.

PyTorch looks the backend up by the entry point ``torch_dynamo_backends``; in a program that
imports this package it is there as well. docs/design/pytorch.md says how the parts play together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def backend(
    graph: Any,
    inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
    **_: Any,
) -> Any:
    """Compiles a graph that TorchDynamo recorded: parts that redfuse claims by redfuse, the rest
    by Inductor, in one callable.

    graph: a ``torch.fx.GraphModule``. inputs: fake tensors, numbers and SymInts like its arguments.
    mode, options: those of ``torch.compile``; docs/user/pytorch.md lists them.

    Raises ArgumentError for an option that does not exist.
    """
    from .compiling import compile_graph
    from .settings import Settings

    return compile_graph(graph, inputs, Settings.of(mode, options))
