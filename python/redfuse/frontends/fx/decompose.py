"""Operations without a lowering, taken apart by PyTorch's own rules when the importer meets one.

A rule is a Python function of the operation's arguments that calls other operations, as PyTorch
has for most of core ATen. It is traced with fake tensors of the shapes at hand; what calls of equal
arguments become is made once.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensorMode, dispatch_functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from ...errors import UnsupportedError
from . import (
    complex_products,
    complexes,
    composed,
    fourier,
    gradients,
    losses,
    matrices,
    quantised,
)

# They register rules.
assert complex_products and fourier and gradients and losses and matrices and quantised
Rule = Callable[..., Any]
# Traces of calls without open extents are kept for other programs, this many.
_MOST_KEPT = 4096
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


@functools.cache
def rules_of(op: Any) -> list[Rule]:
    """What takes ``op`` apart, the best first: our own rule, what it is composed of in C++,
    PyTorch's decomposition in Python, what a prim stands for."""
    own = composed.RULES.get(str(op))
    if own is not None:
        return [own]
    rules: list[Rule] = []
    if not isinstance(op, torch._ops.OpOverload):
        return rules
    if op._can_decompose():
        rules.append(lambda *args, **kwargs: op.decompose(*args, **kwargs))
    for kind in ("post_autograd", "pre_autograd"):
        rule = torch._decomp.global_decomposition_table[kind].get(op)
        if rule is not None:
            rules.append(rule)
    if op.namespace == "prims":
        prim = getattr(torch._prims, op._opname, None)
        if hasattr(prim, "impl_aten"):
            rules.append(prim.impl_aten)
    return rules


class Decomposer:
    """Traces of one program's operations."""

    _kept: dict[Any, Any] = {}  # noqa: RUF012  shared by all

    def __init__(self) -> None:
        self._own: dict[Any, Any] = {}

    def graph_of(self, node: Any, by_parts: bool = False) -> tuple[Any, Sequence[Any]] | None:
        """The graph module of the operation that ``node`` calls, and what of the node's arguments
        are its arguments, in order; None where no rule is known.

        by_parts: by a rule for complex numbers, whose graph takes and makes two real tensors for
        each complex one. Raises UnsupportedError where the rule needs the data of tensors.
        """
        own = complexes.rule_of(node.target) if by_parts else None
        rules = rules_of(node.target) if own is None else [own]
        if not rules:
            return None
        leaves, spec = pytree.tree_flatten((tuple(node.args), dict(node.kwargs)))
        values = [_known(x) for x in leaves]
        kinds = (torch.Tensor, *_SYMBOLIC)
        arguments = [x for x, v in zip(leaves, values, strict=True) if isinstance(v, kinds)]
        if own is not None:
            mode = detect_fake_mode([v for v in values if isinstance(v, kinds)])
            values, spec = complexes.in_parts(values, spec, mode)
        places = [i for i, v in enumerate(values) if isinstance(v, kinds)]
        key = (node.target, str(spec), *map(_key, values))
        is_open = any(_is_open(v) for v in values)
        known = self._own if is_open else self._kept
        graph = known.get(key)
        if graph is None:
            mode = detect_fake_mode([values[i] for i in places] or [node.meta.get("val")])
            graph = _trace(node.target, rules, values, places, spec, mode)
            if known is self._kept and len(known) >= _MOST_KEPT:
                known.clear()
            known[key] = graph
        return graph, arguments


def _known(leaf: Any) -> Any:
    """What is known of an argument: a fake tensor, a graph, a number."""
    if not isinstance(leaf, torch.fx.Node):
        return leaf
    if leaf.op == "get_attr" and not isinstance(leaf.meta.get("val"), torch.Tensor):
        return attribute_of(leaf)
    return leaf.meta["val"]


def attribute_of(node: Any) -> Any:
    """What a node that reads an attribute of its module reads."""
    value = node.graph.owning_module
    for name in node.target.split("."):
        value = getattr(value, name)
    return value


def _key(value: Any) -> Any:
    if isinstance(value, torch.fx.GraphModule):
        return id(value)
    if isinstance(value, torch.Tensor):
        return (tuple(map(str, value.shape)), tuple(map(str, value.stride())), value.dtype,
                str(value.device))  # fmt: skip
    return (type(value), str(value))


def _is_open(value: Any) -> bool:
    if isinstance(value, torch.fx.GraphModule):
        return True  # no other program has it
    if isinstance(value, torch.Tensor):
        return not all(isinstance(n, int) for n in (*value.shape, *value.stride()))
    return isinstance(value, _SYMBOLIC)


def _trace(
    op: Any, rules: list[Rule], values: list[Any], places: list[int], spec: Any, mode: Any
) -> Any:
    """The graph of the first rule that can be traced; of one that calls the operation itself only
    if there is no other."""
    words, circular = "", None
    for rule in rules:
        try:
            graph = _traced(rule, values, places, spec, mode)
        except UnsupportedError:
            raise
        except Exception as error:  # rules raise what they like
            lines = str(error).strip().splitlines() or [type(error).__name__]
            words = words or lines[0]
            continue
        if all(n.target is not op for n in graph.graph.nodes):
            return graph
        circular = circular or graph
    if circular is None:
        raise UnsupportedError(f"cannot be taken apart: {words}")
    return circular


def _traced(rule: Rule, values: list[Any], places: list[int], spec: Any, mode: Any) -> Any:
    def body(*given: Any) -> Any:
        whole = list(values)
        for place, value in zip(places, given, strict=True):
            whole[place] = value
        args, kwargs = _plain(pytree.tree_unflatten(whole, spec))
        made = rule(*args, **kwargs)
        return tuple(made) if isinstance(made, tuple) else made

    given = [values[i] for i in places]
    functional = dispatch_functionalize(body, FunctionalTensorMode())
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if mode is None:
            return make_fx(functional, tracing_mode="fake")(*given)
        with mode:
            return make_fx(functional)(*given)


def _plain(value: Any) -> Any:
    """FX's lists and dictionaries refuse to be changed, which some rules do to their copies."""
    if isinstance(value, (list, tuple)):
        made = [_plain(x) for x in value]
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, dict):
        return {k: _plain(x) for k, x in value.items()}
    return value


def constant_of(value: Any) -> Any:
    """The data of a tensor that a rule made of numbers; None of another."""
    if isinstance(value, FakeTensor):
        return value.constant
    return value
