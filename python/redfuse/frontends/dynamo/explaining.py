"""``redfuse.explain``: who gets which operation of a PyTorch model, and why."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ArgumentError
from . import report
from .settings import Settings


def explain(
    model: Any,
    inputs: Sequence[Any] | Mapping[str, Any],
    *,
    json: bool = False,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
    dynamic: bool | None = None,
) -> Any:
    """What ``torch.compile(model, backend="redfuse")`` would do: graphs, graph breaks, which
    operations redfuse gets, what is left and why, with predicted times.

    model: a module or function, which is called once. inputs: its arguments, or a mapping of
        keyword arguments. mode, options, dynamic: as for ``torch.compile``.
    json: the object of docs/user/pytorch.md instead of text.

    Where gradients are recorded, the graphs of the backward pass are made too; no ``grad`` of a
    parameter changes. Raises ArgumentError for what is no model or no arguments.
    """
    import torch

    if not callable(model):
        raise ArgumentError(
            f"model: expected a torch module or function, got {type(model).__name__}"
        )
    if isinstance(inputs, torch.Tensor) or not isinstance(inputs, (Sequence, Mapping)):
        raise ArgumentError(
            "inputs: expected a list or tuple of arguments, or a mapping of keyword arguments, "
            f"got {type(inputs).__name__}"
        )
    settings = Settings.of(mode, options)
    breaks: list[dict[str, str]] = []

    def without_kernels(graph: Any, examples: Any, **_: Any) -> Any:
        _note_break(graph, breaks)
        from .compiling import claim_only

        return claim_only(graph, examples, settings)

    args, kwargs = ((), inputs) if isinstance(inputs, Mapping) else (tuple(inputs), {})
    run = torch.compile(_renewed(model), backend=without_kernels, dynamic=dynamic)
    patches = {"force_disable_caches": True}
    with torch._inductor.config.patch(patches), report.collected() as records:
        results = run(*args, **kwargs)
        _run_backward(results, args, kwargs, model)
    return _as_json(records, breaks) if json else _as_text(records, breaks, settings)


def _renewed(model: Any) -> Any:
    """A function that calls the model, with code of its own: TorchDynamo keeps what it compiled
    by code, and this is to be compiled anew each time."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    code = call.__code__.replace(co_name="explained")
    return types.FunctionType(code, call.__globals__, "explained", None, call.__closure__)


def _run_backward(results: Any, args: Any, kwargs: Any, model: Any) -> None:
    import torch
    from torch.utils import _pytree as pytree

    def wanting(value: Any) -> list[Any]:
        return [x for x in pytree.tree_leaves(value)
                if isinstance(x, torch.Tensor) and x.requires_grad]  # fmt: skip

    made = [x for x in wanting(results) if x.is_floating_point()]
    given = wanting((args, dict(kwargs)))
    if isinstance(model, torch.nn.Module):
        given += [p for p in model.parameters() if p.requires_grad]
    if made and given:
        torch.autograd.grad(made, given, [torch.ones_like(x) for x in made], allow_unused=True)


def _note_break(graph: Any, breaks: list[dict[str, str]]) -> None:
    reason = getattr(graph, "compile_subgraph_reason", None)
    if reason is None or not getattr(reason, "graph_break", False):
        return
    lines = str(reason.reason).strip().splitlines() or ["a graph break"]
    frame = reason.user_stack[-1] if reason.user_stack else None
    place = f"{frame.filename}:{frame.lineno}" if frame else ""
    breaks.append({"reason": lines[0], "detail": "\n".join(lines[1:]), "at": place})


def _as_json(records: Sequence[report.GraphRecord], breaks: list[dict[str, str]]) -> dict:
    return {"graphs": [r.to_json() for r in records], "breaks": breaks}


def _as_text(
    records: Sequence[report.GraphRecord], breaks: list[dict[str, str]], settings: Settings
) -> str:
    plural = "" if len(records) == 1 else "s"
    made = [f"{len(records)} graph{plural}; {settings.fallback} runs what redfuse does not"]
    for number, record in enumerate(records):
        first, *more = record.lines()
        made += [f"graph {number}: {first}", *more]
    for found in breaks:
        made.append(f"graph break at {found['at'] or '?'}: {found['reason']}")
    return "\n".join(made)
