"""Claims parts of a graph for redfuse, and puts calls of kernels in their place."""

from __future__ import annotations

import functools
import logging
import operator
import warnings
from typing import Any

import torch
from torch._guards import detect_fake_mode

from ... import compiler
from ...errors import Error, FusionWarning
from . import extract, kernels, nodes, report, splits
from .claims import ATTENTION, Claim, find
from .settings import Settings

LOG = logging.getLogger("redfuse.dynamo")


def claim(graph: Any, settings: Settings) -> None:
    """Claims what it can of ``graph``, in place. Nothing that fails here fails the model: the
    graph, or the part, is then left as it was."""
    record = report.GraphRecord()
    try:
        record.begin(graph)
        if settings.claim != "none":
            splits.take_apart(graph)
            _claim(graph, settings, record)
    except Exception as error:  # a graph that is not changed yet compiles without us
        record.failure = f"{type(error).__name__}: {error}"
        LOG.warning("nothing of a graph is claimed: %s", record.failure, exc_info=True)
        warnings.warn(
            f"redfuse claims nothing of a graph: {record.failure}; please report this program",
            FusionWarning,
            stacklevel=2,
        )
    report.add(record)


def _claim(graph: Any, settings: Settings, record: report.GraphRecord) -> None:
    order = {node: i for i, node in enumerate(graph.nodes)}
    claims = find(graph, settings.claim == "all", record)
    ready: list[tuple[Claim, extract.Part, str]] = []
    jobs: dict[str, kernels.Job] = {}
    for made in claims:
        target = _target(made)
        try:
            # On the CPU the order of the result's dims decides that of the loops.
            is_copied = made.kind == ATTENTION and target == "cpu"
            part = extract.extract(made.members, order, is_copied)
            name = kernels.name_of(part.text, settings.kernels, target)
            if name not in jobs and not kernels.is_ready(name):
                jobs[name] = kernels.Job(name, part.source(made.name), settings.kernels, target)
        except Error as error:
            _falls_back(made, str(error), record, is_expected=True)
            continue
        ready.append((made, part, name))
    if jobs:
        LOG.info("compiling %d kernels for %d parts", len(jobs), len(ready))
    kernels.compile_all(list(jobs.values()), lambda job: LOG.info("compiling %s", job.name))
    replaced: dict[Any, Any] = {}
    for made, part, name in ready:
        if name in jobs and jobs[name].error is not None:
            _falls_back(made, str(jobs[name].error), record, is_expected=False)
            continue
        _replace(graph, part, name, replaced)
        record.claimed(made, name, kernels.executable_of(name))
    if ready:
        _sort(graph)
        graph.eliminate_dead_code()
        graph.lint()


def _target(made: Claim) -> str:
    device = next(v.device for n in made.members for v in nodes.values_of(n))
    if device.type == "cpu":
        return "cpu"
    return _gpu_target()


@functools.cache
def _gpu_target() -> str:
    """With this machine's architectures: kernels are named by them."""
    return compiler.resolve_target("rocm" if torch.version.hip else "cuda")


def _falls_back(made: Claim, why: str, record: report.GraphRecord, is_expected: bool) -> None:
    record.refused(made, why)
    first = why.splitlines()[0]
    LOG.info("left to the fall-back: %s: %s", made.title, first)
    if not is_expected:
        warnings.warn(
            f"{made.title} is left to the fall-back: {first}", FusionWarning, stacklevel=2
        )


def _replace(graph: Any, part: extract.Part, name: str, replaced: dict[Any, Any]) -> None:
    """Puts a call before the first node that it stands for; ``_sort`` finds its place. replaced:
    nodes whose place others have taken."""
    kernels.set_fake(name, part.fake())
    first = part.outputs[0].node
    values = [b.node.meta["val"] for b in part.outputs]
    mode = detect_fake_mode(values)
    with graph.inserting_before(first):
        given = [_crossing(graph, border, replaced) for border in part.inputs]
        call = graph.call_function(kernels.CALL, (name, given))
        meta = {k: first.meta[k] for k in ("stack_trace", "nn_module_stack") if k in first.meta}
        # Inductor hands over tensors with the strides that these have.
        call.meta = {**meta, "eager_input_vals": ((name, [g.meta["val"] for g in given]), {})}
        with mode:
            call.meta["val"] = kernels.CALL(name, [g.meta["val"] for g in given])
        for i, border in enumerate(part.outputs):
            made = graph.call_function(operator.getitem, (call, i))
            made.meta = {**meta, "val": call.meta["val"][i]}
            if border.order is not None:
                if border.copied:
                    made = _row_major(graph, _permute(graph, made, border.order))
                back = [border.order.index(d) for d in range(len(border.order))]
                made = _permute(graph, made, back)
            border.node.replace_all_uses_with(made)
            replaced[border.node] = made


def _crossing(graph: Any, border: extract.Border, replaced: dict[Any, Any]) -> Any:
    """The row-major tensor that is handed over."""
    node = replaced.get(border.node, border.node)
    if border.copied:
        return _row_major(graph, node)
    return node if border.order is None else _permute(graph, node, border.order)


def _row_major(graph: Any, node: Any) -> Any:
    """A copy of that layout."""
    layout = {"memory_format": torch.contiguous_format}
    made = graph.call_function(torch.ops.aten.clone.default, (node,), layout)
    made.meta = {k: v for k, v in node.meta.items() if k != "val"}
    made.meta["val"] = node.meta["val"].clone(**layout)
    return made


def _permute(graph: Any, node: Any, order: Any) -> Any:
    made = graph.call_function(torch.ops.aten.permute.default, (node, list(order)))
    made.meta = {k: v for k, v in node.meta.items() if k != "val"}
    made.meta["val"] = node.meta["val"].permute(order)
    return made


def _sort(graph: Any) -> None:
    from torch._inductor.pattern_matcher import stable_topological_sort

    stable_topological_sort(graph)
