"""Which parts of a graph are worth a claim.

A part is one of four kinds: an attention; rows: reductions along the same dims with the
element-wise work around them; scans with the work around them, sums of products with vectors among
it; or products with all that is around them, up to the next attention.
A claim is made where a gain is predicted (``costs``). Of products that are not worth one, the rows
between them may be.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from . import costs, nodes
from .groups import Grouping
from .report import GraphRecord

ATTENTION, ROWS, SCANS, PRODUCTS = "attention", "rows", "scans", "products"
_GROWN = (nodes.POINTWISE, nodes.REDUCTION, nodes.VIEW, nodes.SCAN, nodes.PART)
_AROUND_PRODUCTS = (*_GROWN, nodes.JOIN, nodes.PRODUCT, nodes.WINDOW)


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
    # Of training, products and scans were not measured.
    is_measured = everything or not _is_trained(graph)
    taken = [node for node in graph.nodes if _is_possible(node, record, is_measured)]
    order = {node: i for i, node in enumerate(graph.nodes)}
    spelled: dict[str, bool] = {}
    claims: list[Claim] = []

    def consider(grouping: Grouping) -> None:
        for members in list(grouping.members.values()):
            _trim(grouping, members)
            made = _claim_of(sorted(members, key=order.__getitem__))
            if made is None:
                continue
            costs.predict(made, spelled)
            if everything or not made.objection:
                claims.append(made)
                continue
            record.refused(made, made.objection)
            if made.kind == PRODUCTS:
                within = [n for n in taken if n in members]
                consider(_grouped(graph, within, with_products=False))

    consider(_grouped(graph, taken, with_products=is_measured))
    return claims


def _is_trained(graph: Any) -> bool:
    """Whether it is AOTAutograd's forward or backward graph, not one for inference."""
    names = [node.name for node in graph.nodes if node.op == "placeholder"]
    return any(name.startswith(("primals_", "tangents_")) for name in names)


def _is_possible(node: Any, record: GraphRecord, with_scans: bool) -> bool:
    """Whether some part may have the node; notes why not."""
    kind = nodes.kind_of(node)
    if kind is not None and not node.users:
        return False
    why = nodes.refusal(node) if node.op == "call_function" else None
    if why is None and kind == nodes.SCAN and not with_scans:
        why = "a scan that is trained was not measured"
    if why is not None:
        record.unclaimed(node, why)
    return why is None and kind is not None


def _grouped(graph: Any, taken: list[Any], with_products: bool) -> Grouping:
    """Attentions, and groups of what is grown. with_products: around products of a kind for which
    gains were measured."""
    grouping = Grouping(graph)
    repeating = _repeating(taken)
    for node in taken:
        kind = nodes.kind_of(node)
        if kind == nodes.ATTENTION or node in repeating:
            grouping.add(node, [grouping.group[a] for a in node.all_input_nodes if a in repeating])
        elif (
            kind in _GROWN
            or _sums_scan(grouping, node)
            or (with_products and kind in _AROUND_PRODUCTS and costs.is_measured_product(node))
        ):
            _add(grouping, node, kind)
    return grouping


def _sums_scan(grouping: Grouping, node: Any) -> bool:
    """Whether it is a product of a vector with what a scan made."""
    groups = [grouping.group.get(a) for a in node.all_input_nodes]
    return nodes.is_product_of_vector(node) and any(
        nodes.kind_of(n) == nodes.SCAN
        for group in groups
        if group is not None
        for n in grouping.members[group]
    )


def _repeating(taken: list[Any]) -> set[Any]:
    """What repeats keys and values for the heads of queries that share them, up to an attention: it
    goes with that one, which then reads each of them once."""
    possible, found = set(taken), set()
    for attention in taken:
        if nodes.kind_of(attention) != nodes.ATTENTION:
            continue
        for node in attention.args[1:3]:
            chain = []
            while node in possible and len(node.users) == 1 and _only_moves(node):
                chain.append(node)
                before = node.args[0]
                if node.target is torch.ops.aten.expand.default and _numel(before) < _numel(node):
                    found.update(chain)
                    break
                node = before
    return found


def _only_moves(node: Any) -> bool:
    """Whether it makes nothing but another tensor of the same elements."""
    return nodes.kind_of(node) == nodes.VIEW or node.target is torch.ops.aten.clone.default


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
    products = costs.products_of(sequence)
    if products:
        count = f"{len(products)} products" if len(products) > 1 else "product"
        largest = max(products, key=costs.flops_of_product)
        title = f"{count} up to {_shape(largest)}{_at(largest)}"
        return Claim(PRODUCTS, set(sequence), title, f"redfuse_{len(products)}_products")
    if nodes.SCAN in kinds:
        node = sequence[kinds.index(nodes.SCAN)]
        return Claim(SCANS, set(sequence), f"scan of {_shape(node.args[1][0])}{_at(node)}",
                     "redfuse_scan")  # fmt: skip
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
