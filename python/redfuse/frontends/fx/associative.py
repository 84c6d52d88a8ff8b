"""``associative_scan``: every prefix of a dim folded by a function of the program's own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith
from torch._subclasses.fake_tensor import unset_fake_temporarily

from . import dtypes
from .builder import Body, Builder, Tensor, projection, refuse
from .graphs import of_graphs

# What a part of an identity is tried to be.
_NEUTRAL = (0, 1, -math.inf, math.inf)
# Identities that are tried, at most: those of six parts.
_MOST_TRIED = 4096
# Of elements, although PyTorch does not tag them so.
_OF_ELEMENTS = (
    "prims.convert_element_type.default", "aten._to_copy.default", "aten.clone.default",
    "aten.alias.default", "aten.full.default", "aten.scalar_tensor.default",
    "aten.full_like.default", "aten.zeros_like.default", "aten.ones_like.default",
)  # fmt: skip


class Scalars(Builder):
    """Computes element by element: the values of its tensors are scalars, in the body of an op."""

    def __init__(self, around: Builder):
        super().__init__(around.extent, around.precision)

    def map(self, inputs: Sequence[Tensor], shape: Sequence[Any], dtype: Any, body: Body) -> Tensor:
        """The body's result."""
        return Tensor(body(*(t.value for t in inputs)), tuple(shape), dtype)

    def full(self, shape: Sequence[Any], dtype: Any, number: Any) -> Tensor:
        """A constant."""
        return Tensor(dtypes.constant(number, dtype), tuple(shape), dtype)

    def reshape(self, x: Tensor, shape: Sequence[Any]) -> Tensor:
        """The same scalar."""
        return Tensor(x.value, tuple(shape), x.dtype)

    def empty(self, shape: Sequence[Any], dtype: Any) -> Any:
        """There is no memory."""
        refuse("a function that is not element by element")

    def generic(
        self,
        inputs: Sequence[tuple[Any, Any]],
        outputs: Sequence[tuple[Any, Any]],
        reductions: Sequence[int],
        body: Body,
    ) -> list[Any]:
        """There are no tensors."""
        refuse("a function that is not element by element")
        raise AssertionError

    slices = insert = pad = permute = empty  # type: ignore[assignment]


@of_graphs("associative_scan")
def _associative_scan(
    importer: Any, node: Any, combine: Any, xs: Sequence[Tensor], more: Sequence[Any] = ()
) -> Any:
    """Along the first dim of ``xs``, which are of one shape."""
    if more:
        refuse("a function that reads tensors beside its elements")
    for call in combine.graph.nodes:
        if call.op == "call_function" and not _is_of_elements(call.target):
            refuse(f"a function that is not element by element: {call.target}")
    used = sorted({user.args[1] for user in node.users}) or list(range(len(xs)))
    parts = _needed(combine.graph, len(xs), used)
    kinds = [xs[p].dtype for p in parts]
    identity = _identity(combine, parts, xs)
    rank = xs[0].rank
    b, every, state = importer.builder, projection(rank, range(rank)), range(1, rank)
    outs = [
        *((b.full(xs[p].shape[1:], k, n).value, projection(rank, state))
          for p, k, n in zip(parts, kinds, identity or [0] * len(parts), strict=True)),
        *((b.empty(xs[p].shape, k), every) for p, k in zip(parts, kinds, strict=True)),
    ]  # fmt: skip

    def body(*scalars: Any) -> list[Any]:
        right, left = scalars[: len(parts)], scalars[len(parts) : 2 * len(parts)]
        given: list[Any] = [None] * (2 * len(xs))
        for part, mine, other in zip(parts, left, right, strict=True):
            given[part] = Tensor(mine, xs[part].shape[1:], xs[part].dtype)
            given[len(xs) + part] = Tensor(other, xs[part].shape[1:], xs[part].dtype)
        made = _combined(importer, combine, given, parts)
        if _calls(combine.graph) > 1:
            is_first = _is_identity(b, left, kinds, identity)
            made = [_unless(is_first, m, r, identity is not None)
                    for m, r in zip(made, right, strict=True)]  # fmt: skip
        return [*made, *made]

    made = b.generic([(xs[p].value, every) for p in parts], outs, (0,), body)
    if identity is not None and _calls(combine.graph) > 1:
        _declare(made[0].owner, zip(identity, kinds, strict=True))
    prefixes = dict(zip(parts, made[len(parts) :], strict=True))
    return [Tensor(prefixes[i], x.shape, x.dtype) if i in prefixes else None
            for i, x in enumerate(xs)]  # fmt: skip


def _is_identity(b: Builder, left: Sequence[Any], kinds: Sequence[Any], identity: Any) -> Any:
    """Whether there is nothing on the left."""
    if identity is None:
        return arith.cmpi(arith.CmpIPredicate.eq, b.position(0), b.index(0))
    same = None
    for value, kind, number in zip(left, kinds, identity, strict=True):
        constant = dtypes.constant(number, kind)
        if dtypes.is_float(kind):
            one = arith.cmpf(arith.CmpFPredicate.OEQ, value, constant)
        else:
            one = arith.cmpi(arith.CmpIPredicate.eq, value, constant)
        same = one if same is None else arith.andi(same, one)
    return same


def _unless(is_first: Any, made: Any, right: Any, is_identity: bool) -> Any:
    """The first prefix is the first element, to the last bit: an infinite one times 0 is a NaN."""
    choice = arith.SelectOp(is_first, right, made)
    if is_identity:
        choice.operation.attributes["redfuse.identity"] = ir.UnitAttr.get()
    return choice.result


def _declare(op: Any, identity: Iterable[tuple[float, Any]]) -> None:
    """What the op's body combines is associative, and this its identity."""
    numbers = ir.ArrayAttr.get([
        (ir.FloatAttr.get if kind.is_floating_point else ir.IntegerAttr.get)(
            dtypes.element_type(kind), number
        )
        for number, kind in identity
    ])  # fmt: skip
    op.attributes["redfuse.combiner"] = ir.DictAttr.get(
        {"identity": numbers, "ordered": ir.UnitAttr.get()}
    )


def _combined(importer: Any, combine: Any, given: Sequence[Any], parts: Sequence[int]) -> list[Any]:
    """The parts of a state that is combined of two, as scalars."""
    graph = _only(combine, parts)
    outer = importer.builder
    importer.builder = Scalars(outer)
    try:
        made = importer.inline(graph, given)
    finally:
        importer.builder = outer
    return [m.value for m in made]


def _only(combine: Any, parts: Sequence[int]) -> Any:
    """The function of these parts alone."""
    graph = torch.fx.Graph()
    copied = graph.graph_copy(combine.graph, {})
    graph.output([copied[p] for p in parts])
    for node in reversed(graph.nodes):
        if node.op not in ("placeholder", "output") and not node.users:
            graph.erase_node(node)
    return torch.fx.GraphModule(combine, graph)


def _inputs(graph: Any, part: int) -> set[Any]:
    """The placeholders that a part of the result is made of."""
    todo, seen = [graph.output_node().args[0][part]], set()
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += node.all_input_nodes
    return {n for n in seen if n.op == "placeholder"}


def _places(graph: Any) -> list[Any]:
    return [n for n in graph.nodes if n.op == "placeholder"]


def _needed(graph: Any, count: int, used: Sequence[int]) -> list[int]:
    """The parts of states that these need: those that they are made of, on either side."""
    places, parts = _places(graph), set(used)
    while True:
        read = set().union(*(_inputs(graph, p) for p in parts))
        more = parts | {i for i in range(count) if places[i] in read or places[count + i] in read}
        if more == parts:
            return sorted(parts)
        parts = more


def _is_of_elements(target: Any) -> bool:
    return str(target) in _OF_ELEMENTS or (
        isinstance(target, torch._ops.OpOverload) and torch.Tag.pointwise in target.tags
    )


def _calls(graph: Any) -> int:
    return sum(n.op == "call_function" for n in graph.nodes)


def _identity(combine: Any, parts: Sequence[int], xs: Sequence[Tensor]) -> list[float] | None:
    """What changes no element where it is on the left, found by trying; None if nothing is."""
    kinds = [x.dtype for x in xs]

    def neutral(kind: Any) -> list[float]:
        if kind.is_floating_point:
            return list(_NEUTRAL)
        limits = torch.iinfo(kind) if kind is not torch.bool else None
        return [0, 1, *((limits.min, limits.max) if limits else ())]

    tried = itertools.product(*(neutral(kinds[p]) for p in parts))
    with unset_fake_temporarily(), torch.no_grad():
        elements = [_drawn(kind) for kind in kinds]
        for numbers in itertools.islice(tried, _MOST_TRIED):
            left = [torch.zeros_like(e) for e in elements]
            for part, number in zip(parts, numbers, strict=True):
                left[part] = torch.full_like(elements[part], number)
            try:
                made = combine(*left, *elements)
            except RuntimeError:  # it makes tensors on a device of its own
                return None
            if all(torch.equal(made[p], elements[p]) for p in parts):
                return list(numbers)
    return None


def _drawn(kind: Any) -> Any:
    """Elements of a type, of both signs."""
    draws = torch.Generator().manual_seed(0)
    if kind.is_floating_point:
        return torch.randn(64, generator=draws).to(kind)
    if kind is torch.bool:
        return torch.rand(64, generator=draws) < 0.5
    return torch.randint(0 if kind is torch.uint8 else -100, 100, (64,), generator=draws).to(kind)
