"""From a recorded graph to one callable: AOTAutograd and Inductor, with redfuse as a pass of them.

Inductor runs the pass over every graph that it compiles (inference, forward, backward) before it
makes kernels; what the pass claims has become calls of one operation, which Inductor leaves alone.
So all that Inductor does around its kernels (CUDA graphs, memory plans, caches) is at work.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass

from ...store import cache
from . import attention, kernels, trees, whole
from .settings import Settings


def claim(graph: Any, settings: Settings) -> None:
    """As ``partition.claim``. What that needs is loaded here: a graph that is found in PyTorch's
    caches does without."""
    from . import partition

    partition.claim(graph, settings)


class ClaimPass(CustomGraphPass):
    """Puts calls of kernels into a graph."""

    def __init__(self, settings: Settings, before: Any = None):
        """before: the pass that the user had in this place, or a list of them."""
        self.settings = settings
        self.before = list(before) if isinstance(before, (list, tuple)) else [before]
        self.before = [one for one in self.before if one is not None]

    def __call__(self, graph: Any) -> None:
        for one in self.before:
            one(graph)
        claim(graph, self.settings)
        attention.take_apart(graph)
        trees.take_apart(graph)

    def uuid(self) -> Any:
        """Of all that decides what it does: Inductor keeps graphs by it. The folder's number is in
        it, as such a graph needs the kernels that are kept there."""
        before = [getattr(one, "uuid", lambda: None)() for one in self.before]
        if None in before:
            return None
        if not self.settings.kernels.cache:
            return None
        return f"redfuse {cache.build_id()} {kernels.folder_id()} {self.settings.key()} {before}"


def compile_graph(graph: Any, inputs: Sequence[Any], settings: Settings) -> Any:
    """The callable of a graph of TorchDynamo."""
    _keep_whole(graph, inputs, settings)
    if settings.fallback == "eager":
        return _with_eager(graph, inputs, settings)
    from torch._inductor.compile_fx import compile_fx

    patches = settings.inductor_settings()
    before = patches.get("post_grad_custom_pre_pass", config.post_grad_custom_pre_pass)
    patches["post_grad_custom_pre_pass"] = ClaimPass(settings, before)
    return compile_fx(graph, inputs, config_patches=patches)


def _keep_whole(graph: Any, inputs: Sequence[Any], settings: Settings) -> None:
    """What PyTorch would take apart while it records a graph, and the pass may claim."""
    if not whole.is_plain_inference(graph, inputs):
        return
    attention.keep_whole(graph)
    if not settings.kernels.strict:  # another order of combinations
        trees.keep_whole(graph)


def claim_only(graph: Any, inputs: Sequence[Any], settings: Settings) -> Any:
    """The same claims, with PyTorch's own kernels for the rest: for who wants to know of the claims
    only."""
    _keep_whole(graph, inputs, settings)
    if settings.fallback == "eager":
        return _with_eager(graph, inputs, settings)
    from functorch.compile import make_boxed_func
    from torch._inductor.compile_fx import compile_fx

    def inner(module: Any, _: Sequence[Any], **__: Any) -> Any:
        module.graph.eliminate_dead_code()
        claim(module.graph, settings)
        module.recompile()
        return make_boxed_func(module)

    return compile_fx(graph, inputs, inner, config_patches=settings.inductor_settings())


def _with_eager(graph: Any, inputs: Sequence[Any], settings: Settings) -> Any:
    """PyTorch's own kernels for what is not claimed."""
    from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    def compiled(module: Any, _: Sequence[Any]) -> Any:
        with contextlib.suppress(AttributeError):
            module.graph.eliminate_dead_code()
        claim(module.graph, settings)
        module.recompile()
        return make_boxed_func(module)

    made = aot_autograd(
        fw_compiler=compiled,
        bw_compiler=compiled,
        inference_compiler=compiled,
        decompositions=select_decomp_table(),
        partition_fn=functools.partial(min_cut_rematerialization_partition, compiler="inductor"),
    )
    return made(graph, inputs)
