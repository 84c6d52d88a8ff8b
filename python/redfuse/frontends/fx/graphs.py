"""Operations of graphs: branches, loops and scans become those of scf, whose tensors are carried
from round to round; FlexAttention is what its graphs make of all scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import scf, tensor

from . import dtypes
from .builder import Builder, Tensor, refuse

GRAPHS: dict[str, Callable[..., Any]] = {}
# Regions in which PyTorch makes the same.
_AROUND = ("wrap_with_set_grad_enabled",)


def of_graphs(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        GRAPHS[name] = function
        return function

    return add


def _metas(node: Any) -> list[Any]:
    made = node.meta["val"]
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _types(b: Builder, metas: Sequence[Any]) -> list[Any]:
    for meta in metas:
        if not isinstance(meta, torch.Tensor):
            refuse(f"a graph that returns {type(meta).__name__}; expected tensors")
    return [b.type_of(m.shape, m.dtype) for m in metas]


def _tensors(values: Sequence[Any], metas: Sequence[Any]) -> list[Tensor]:
    return [Tensor(v, tuple(m.shape), m.dtype) for v, m in zip(values, metas, strict=True)]


def _results(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _values(made: Any, types: Sequence[Any]) -> list[Any]:
    """What a graph returns, in the types that the operation has."""
    values = [t.value for t in _results(made)]
    return [v if v.type == kind else tensor.cast(kind, v)
            for v, kind in zip(values, types, strict=True)]  # fmt: skip


def _truth(given: Any) -> Any:
    """A tensor of one element as a bool."""
    if not isinstance(given, Tensor):
        refuse("a condition that is no tensor")
    value = tensor.extract(given.value, [Builder.index(0)] * given.rank)
    return dtypes.convert(value, given.dtype, torch.bool)


@of_graphs("cond")
def _cond(
    importer: Any, node: Any, pred: Any, true_graph: Any, false_graph: Any, operands: Any = ()
) -> Any:
    if isinstance(pred, bool):
        return importer.inline(true_graph if pred else false_graph, operands)
    metas = _metas(node)
    types = _types(importer.builder, metas)
    op = scf.IfOp(_truth(pred), types, has_else=True)
    for block, graph in ((op.then_block, true_graph), (op.else_block, false_graph)):
        with ir.InsertionPoint(block):
            scf.YieldOp(_values(importer.inline(graph, operands), types))
    return _tensors(op.results, metas)


@of_graphs("while_loop")
def _while(
    importer: Any, node: Any, cond: Any, body: Any, carried: Sequence[Any], more: Sequence[Any]
) -> Any:
    metas = _metas(node)
    types = _types(importer.builder, metas)
    starts = [t.value for t in carried]
    op = scf.WhileOp(types, starts)
    before, after = op.regions[0].blocks.append(*types), op.regions[1].blocks.append(*types)
    with ir.InsertionPoint(before):
        values = list(before.arguments)
        goes_on = importer.inline(cond, [*_tensors(values, metas), *more])
        scf.ConditionOp(_truth(_results(goes_on)[0]), values)
    with ir.InsertionPoint(after):
        made = importer.inline(body, [*_tensors(list(after.arguments), metas), *more])
        scf.YieldOp(_values(made, types))
    return _tensors(op.results, metas)


@of_graphs("scan")
def _scan(
    importer: Any, node: Any, combine: Any, init: Sequence[Any], xs: Sequence[Any],
    more: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """Along the first dim of ``xs``."""
    b, metas = importer.builder, _metas(node)
    types = _types(b, metas)
    count = len(init)
    stacked = [b.empty(tuple(m.shape), m.dtype) for m in metas[count:]]
    rounds = b.extent(xs[0].shape[0])
    op = scf.ForOp(b.index(0), rounds, b.index(1), [*(t.value for t in init), *stacked])
    with ir.InsertionPoint(op.body):
        at = op.induction_variable
        held = list(op.inner_iter_args)
        state = _tensors(held[:count], metas[:count])
        rows = []
        for x in xs:
            row = b.slices(x, [at, *[0] * (x.rank - 1)], (1, *x.shape[1:]), [1] * x.rank)
            rows.append(b.reshape(row, x.shape[1:]))
        made = _results(importer.inline(combine, [*state, *rows, *more]))
        after = _values(made[:count], types[:count])
        for meta, old, row in zip(metas[count:], held[count:], made[count:], strict=True):
            shape = tuple(meta.shape)
            wide = b.reshape(row, (1, *shape[1:]))
            into = Tensor(old, shape, meta.dtype)
            offsets = [at, *[0] * (len(shape) - 1)]
            after.append(b.insert(wide, into, offsets, [1] * len(shape)).value)
        scf.YieldOp(after)
    return _tensors(op.results, metas)


for _name in _AROUND:

    @of_graphs(_name)
    def _inlined(importer: Any, node: Any, *given: Any) -> Any:
        graph = next(x for x in given if isinstance(x, torch.fx.GraphModule))
        place = list(given).index(graph)
        return importer.inline(graph, given[place + 1 :])
