"""Python classes of the redfuse ops, generated from RedfuseOps.td, and builders for them.

The generated classes (``CascadeOp``, ``FoldOp``, ...) take what MLIR takes. The builders here
take what a person has: maps written as text or ``AffineMap``, and a Python function for a body::

    with ir.Context(), ir.Location.unknown():
        ...
        op = cascade(
            [x], [init], ["(i, j) -> (i, j)", "(i, j) -> (i)"],
            lambda e: reduce("add", e, over=[1], into=[0]),
        )
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir

from ..attributes import Schedule, Target
from ._redfuse_enum_gen import Reducer, ScheduleKind
from ._redfuse_ops_gen import *  # noqa: F403
from ._redfuse_ops_gen import (
    CascadeOp,
    FinalizeOp,
    FoldOp,
    IndexOp,
    MergeOp,
    MergeTopkOp,
    ReduceOp,
    ScanOp,
    YieldOp,
)

Map = ir.AffineMap | str
Body = Callable[..., ir.Value | Sequence[ir.Value]]


def affine_map(text: Map) -> ir.AffineMap:
    """An ``AffineMap`` from its text, such as ``(i, j) -> (i)``; a map passes through.

    Raises ``ValueError`` where the text is not an affine map.
    """
    if isinstance(text, ir.AffineMap):
        return text
    try:
        return ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<{text}>")).value
    except ir.MLIRError as error:
        raise ValueError(f"not an affine map: {text!r} (expected e.g. '(i, j) -> (i)')") from error


def _maps(maps: Sequence[Map]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(affine_map(m)) for m in maps])


def _elements(values: Sequence[ir.Value]) -> list[ir.Type]:
    return [ir.ShapedType(v.type).element_type for v in values]


def _fill(region: ir.Region, types: Sequence[ir.Type], body: Body) -> None:
    block = region.blocks.append(*types)
    with ir.InsertionPoint(block):
        made = body(*block.arguments)
        YieldOp([made] if isinstance(made, ir.Value) else list(made))


def cascade(
    inputs: Sequence[ir.Value],
    inits: Sequence[ir.Value],
    maps: Sequence[Map],
    body: Body,
    *,
    schedule: Schedule | ir.Attribute | None = None,
) -> CascadeOp:
    """A ``redfuse.cascade`` at the insertion point.

    ``inputs`` and ``inits`` are ranked tensors, ``maps`` one map for each of them in this order.
    ``body`` gets a scalar for each input and returns one scalar for each init.
    """
    attribute = schedule.attribute() if isinstance(schedule, Schedule) else schedule
    op = CascadeOp([v.type for v in inits], inputs, inits, _maps(maps), schedule=attribute)
    _fill(op.body, _elements(inputs), body)
    return op


def finalize(
    inputs: Sequence[ir.Value], inits: Sequence[ir.Value], maps: Sequence[Map], body: Body
) -> FinalizeOp:
    """A ``redfuse.finalize``; arguments as for `cascade`."""
    op = FinalizeOp([v.type for v in inits], inputs, inits, _maps(maps))
    _fill(op.body, _elements(inputs), body)
    return op


def merge(
    right: Sequence[ir.Value], left: Sequence[ir.Value], maps: Sequence[Map], body: Body
) -> MergeOp:
    """A ``redfuse.merge`` of two states; ``maps`` has one map for each component.

    ``body`` gets the scalars of the left state, then those of the right one.
    """
    op = MergeOp([v.type for v in left], right, left, _maps([*maps, *maps]))
    _fill(op.body, [*_elements(left), *_elements(right)], body)
    return op


def fold(
    inputs: Sequence[ir.Value],
    state: Sequence[ir.Value],
    maps: Sequence[Map],
    step: Body,
    merge: Body,
    *,
    over: Sequence[int],
    identities: Sequence[float | int | ir.Attribute],
    outputs: Sequence[ir.Value] = (),
    certificate: dict[str, ir.Attribute] | None = None,
) -> FoldOp:
    """A ``redfuse.fold`` that continues ``state`` along the dims ``over``.

    ``step`` gets the scalars of the inputs, then of the state; ``merge`` those of the left state,
    then of the right one; both return the state. ``identities`` has a number (of the component's
    element type) or an attribute for each component. ``outputs`` are destinations that each
    segment writes its own elements of (their maps are the last ones): ``step`` returns them after
    the state.
    """
    kinds = _elements(state)
    if len(identities) != len(state):
        raise ValueError(
            f"expected {len(state)} identities, one for each component of the state, "
            f"got {len(identities)}"
        )
    constants = [_constant(v, t) for v, t in zip(identities, kinds, strict=True)]
    op = FoldOp(
        [v.type for v in (*state, *outputs)],
        inputs,
        [*state, *outputs],
        _maps(maps),
        over,
        ir.ArrayAttr.get(constants),
        certificate=ir.DictAttr.get(certificate) if certificate is not None else None,
    )
    _fill(op.step, [*_elements(inputs), *kinds], step)
    _fill(op.merge, [*kinds, *kinds], merge)
    return op


def _constant(value: float | int | ir.Attribute, kind: ir.Type) -> ir.Attribute:
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(kind, (ir.IntegerType, ir.IndexType)):
        return ir.IntegerAttr.get(kind, int(value))
    return ir.FloatAttr.get(kind, float(value))


def _combining(
    kind: type[ReduceOp] | type[ScanOp],
    reducer: Reducer | str,
    operands: tuple[ir.Value, ...],
    dims: tuple,
    identities: Sequence[float | int | ir.Attribute] | None,
    combine: Body | None,
    **flags: bool,
) -> ir.Value | list[ir.Value]:
    if isinstance(reducer, str):
        names = {str(r): r for r in Reducer}
        if reducer not in names:
            raise ValueError(f"unknown reducer {reducer!r}; expected one of {', '.join(names)}")
        reducer = names[reducer]
    types = [v.type for v in operands]
    constants = None
    if identities is not None:
        if len(identities) != len(operands):
            raise ValueError(
                f"expected {len(operands)} identities, one for each operand, got {len(identities)}"
            )
        constants = ir.ArrayAttr.get(
            [_constant(v, t) for v, t in zip(identities, types, strict=True)]
        )
    set_flags = {name: True for name, on in flags.items() if on}
    op = kind(types, reducer, list(operands), *dims, identities=constants, **set_flags)
    if combine is not None:
        _fill(op.combine, [*types, *types], combine)
    results = list(op.results_)
    return results[0] if len(results) == 1 else results


def reduce(
    reducer: Reducer | str,
    *operands: ir.Value,
    over: Sequence[int],
    into: Sequence[int],
    identities: Sequence[float | int | ir.Attribute] | None = None,
    ordered: bool = False,
    combine: Body | None = None,
) -> ir.Value | list[ir.Value]:
    """A ``redfuse.reduce`` in a body: one value, or as many as there are operands.

    ``reducer`` is a name as in the text form (``add``, ``maximumf``, ...). The last three are for
    ``declared``: ``combine`` gets the scalars of the left state, then of the right one. Raises
    ``ValueError`` for a name that is none and for a wrong number of identities.
    """
    return _combining(
        ReduceOp, reducer, operands, (over, into), identities, combine, ordered=ordered
    )


def scan(
    reducer: Reducer | str,
    *operands: ir.Value,
    along: int,
    exclusive: bool = False,
    identities: Sequence[float | int | ir.Attribute] | None = None,
    ordered: bool = False,
    combine: Body | None = None,
) -> ir.Value | list[ir.Value]:
    """A ``redfuse.scan`` in a body: every prefix along dim ``along``; as ``reduce`` otherwise."""
    return _combining(
        ScanOp,
        reducer,
        operands,
        (along,),
        identities,
        combine,
        exclusive=exclusive,
        ordered=ordered,
    )


def merge_topk(
    values: ir.Value,
    indices: ir.Value,
    other_values: ir.Value,
    other_indices: ir.Value,
    *,
    along: int,
) -> tuple[ir.Value, ir.Value]:
    """The best of two sorted lists along dim ``along``, the rank: values and indices."""
    op = MergeTopkOp(values, indices, other_values, other_indices, along)
    return op.bestValues, op.bestIndices


def index(dim: int) -> ir.Value:
    """The position along iteration dim ``dim``, of type ``index``."""
    return IndexOp(dim).result


__all__ = [
    "Reducer",
    "Schedule",
    "ScheduleKind",
    "Target",
    "affine_map",
    "cascade",
    "finalize",
    "fold",
    "index",
    "merge",
    "reduce",
]
__all__ += [name for name in globals() if name.endswith("Op")]
