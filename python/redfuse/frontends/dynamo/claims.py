"""Which parts of a graph are worth a claim.

A part is one of two kinds: an attention, or rows: reductions along the same dims with the
element-wise work around them. A claim is made where a gain is predicted (``costs``).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import costs, nodes
from .groups import Grouping
from .report import GraphRecord

ATTENTION, ROWS = "attention", "rows"
_GROWN = (nodes.POINTWISE, nodes.REDUCTION, nodes.VIEW, nodes.PART)


@dataclasses.dataclass
class Claim:
    """Nodes that become one call. name: of its function, as a profiler shows it. mine, theirs:
    predicted seconds, of redfuse and of the fall-back. objection: why it is not worth it."""

    kind: str
    members: set[Any]
    title: str
    name: str = "main"
    mine: float = 0.0
    theirs: float = 0.0
    objection: str = ""


def find(graph: Any, everything: bool, record: GraphRecord) -> list[Claim]:
    """The claims of a graph, in its order. everything: also where no gain is predicted."""
    grouping = Grouping(graph)
    for node in graph.nodes:
        kind = nodes.kind_of(node)
        if kind is not None and not node.users:
            continue
        why = nodes.refusal(node) if node.op == "call_function" else None
        if why is not None:
            record.unclaimed(node, why)
            continue
        if kind == nodes.ATTENTION:
            grouping.add(node, [])
        elif kind in _GROWN:
            _add(grouping, node, kind)
    claims = []
    spelled: dict[str, bool] = {}
    order = {node: i for i, node in enumerate(graph.nodes)}
    for members in list(grouping.members.values()):
        _trim(grouping, members)
        made = _claim_of(sorted(members, key=order.__getitem__))
        if made is None:
            continue
        costs.predict(made, spelled)
        if everything or not made.objection:
            claims.append(made)
        else:
            record.refused(made, made.objection)
    return claims


def _add(grouping: Grouping, node: Any, kind: str) -> None:
    """Into the parts of its operands; an attention takes only its own results."""
    wanted = []
    for given in node.all_input_nodes:
        group = grouping.group.get(given)
        if group is None:
            continue
        is_attention = any(nodes.kind_of(n) == nodes.ATTENTION for n in grouping.members[group])
        if is_attention and kind != nodes.PART:
            continue
        if kind == nodes.PART and not is_attention and nodes.kind_of(given) is None:
            continue
        wanted.append(group)
    if kind == nodes.PART and not wanted:
        return
    grouping.add(node, wanted)


def _trim(grouping: Grouping, members: set[Any]) -> None:
    """Leaves out views at the border, and what makes tensors of nothing: they cost nothing
    where they are."""
    changed = True
    while changed:
        changed = False
        for node in list(members):
            is_view = nodes.kind_of(node) == nodes.VIEW
            is_last = not any(user in members for user in node.users)
            is_first = not any(a in members for a in node.all_input_nodes)
            if is_view and (is_last or is_first):
                grouping.remove(node)
                changed = True


def _claim_of(sequence: list[Any]) -> Claim | None:
    """A claim of nodes in order, if there is a reduction among them."""
    kinds = [nodes.kind_of(n) for n in sequence]
    if nodes.ATTENTION in kinds:
        node = sequence[kinds.index(nodes.ATTENTION)]
        title = f"attention {_shape(node.args[0])}{_at(node)}"
        return Claim(ATTENTION, set(sequence), title, "redfuse_attention")
    reductions = [n for n, k in zip(sequence, kinds, strict=True) if k == nodes.REDUCTION]
    if not reductions:
        return None
    names = [n.target._opname for n in reductions[:4]]
    largest = max(reductions, key=lambda n: _numel(n.args[0]))
    title = f"{'+'.join(names)} over {_shape(largest.args[0])}{_at(largest)}"
    return Claim(ROWS, set(sequence), title, "_".join(["redfuse", *names]))


def _numel(node: Any) -> int:
    return costs.numel(node.meta["val"])


def _shape(node: Any) -> str:
    value = node.meta["val"]
    name = str(value.dtype).removeprefix("torch.")
    return f"{name}[{', '.join(map(str, value.shape))}]"


def _at(node: Any) -> str:
    place = nodes.place_of(node)
    return f" at {place}" if place else ""
