"""Predicted times of parts, by redfuse and by the fall-back.

The fall-back's time is a roofline: bytes that its kernels move, operations of products. redfuse's
is that divided by what it was measured to win, and what a call costs. What was not measured, or
wins less than the margin, is not claimed; docs/user/pytorch.md lists it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from ... import _ext
from ...errors import Error
from . import attention, extract, nodes


class Win(NamedTuple):
    """What is claimed of a kind of part: how much faster than the fall-back, and of which lengths
    (elements of a row, keys of an attention)."""

    ratio: float
    least: int
    most: int = sys.maxsize


# The tuned numbers; the rates they go with are rows of ``Chips.def``. docs/design/pytorch.md ("What
# claims are predicted from") has the figures: of the CPU each ratio is among those of its kind, of
# one query below the one that there is. Of GPUs whole models alone were measured, so ratios there
# are estimates that these agree with.
CPU_ROWS = Win(1.15, 64, 16384)
CPU_ONE_QUERY = Win(2.5, 64)
CPU_CAUSAL = Win(1.15, 128, 1024)
GPU_ROWS = Win(1.15, 64, 16384)
GPU_ATTENTION = Win(1.12, 256)
GPU_LARGEST_HEAD = 256
# A claim has to be predicted to win this much: predictions are no better (whole models, 1 to 2 % of
# noise, and the spread of a kind's ratios).
MARGIN = 1.05
# Of parts with products, whose times on both sides are those of the same products. Estimated: the
# models of docs/design/pytorch.md, whole, are 1.02 to 1.33 times as fast with these claimed.
PRODUCTS_MARGIN = 1.02
# What lies between two kernels of which one needs the other, of the fall-back and of redfuse, whose
# kernels are placed while the one before them still runs. Estimates.
_GAP_S, _OWN_GAP_S = 2e-6, 1e-6
# A scan's work on an element, beside what it reads and writes. On an H200 a selective scan of
# 4x1536x2048 elements with 16 states each takes 0.26 ms; on a core scans take 0.6 to 4 ns.
_SCAN_S, _CORE_SCAN_S = 1e-12, 1.2e-9
# How often what a scan makes is moved by the fall-back: on a CPU each level of its tree is in
# memory (an element takes 2 to 14 ns there).
_SCAN_PASSES, _TREE_PASSES = 2, 6
# What a window of a sequence's channels takes more, by the fall-back, than its result is moved in.
# On an H200 4x1536x2048 elements of 16 bits took 134 us, which are moved in 8.
_WINDOW_PASSES = 12
# An attention that PyTorch takes apart on a GPU: scores in memory are written and read twice, and
# its operands are read, and twice as wide in f32 written and read again. APART_RATE: of redfuse's
# kernel, of the rate at which it works on long rows. Estimates: BERT and ViT, whose attentions are
# such, are 2.53 and 2.07 times as fast with these claimed.
_SCORE_PASSES, _OPERAND_PASSES, APART_RATE = 4, 5, 0.5


@dataclasses.dataclass(frozen=True)
class Machine:
    """What kernels reach on a device, from the compiler's table (``Chips.def``). call_s: of a
    kernel that is not Inductor's own. bytes_s: of memory, or of a core's caches. flops_s: of
    products; f32_flops_s: of those in f32 without matrix units. The rest is of this file: gap_s,
    own_gap_s: between kernels; scan_s: of a scan's element; scan_passes: of what it makes over
    memory, by the fall-back."""

    call_s: float
    bytes_s: float
    flops_s: float
    f32_flops_s: float
    gap_s: float = _GAP_S
    own_gap_s: float = _OWN_GAP_S
    scan_s: float = _SCAN_S
    scan_passes: int = _SCAN_PASSES


def _machine(device: Any) -> Machine:
    one = Machine(**_ext.reached(is_gpu=device.type != "cpu"))
    if device.type != "cpu":
        return one
    n = torch.get_num_threads()
    return Machine(one.call_s, one.bytes_s * n, one.flops_s * n, one.f32_flops_s * n,
                   0.0, 0.0, _CORE_SCAN_S / n, _TREE_PASSES)  # fmt: skip


def numel(value: Any) -> int:
    """Elements of a tensor; open extents count as what they are at the moment."""
    return math.prod(extent(n) for n in value.shape)


def extent(n: Any) -> int:
    """An extent as a number: an open one as what it is at the moment."""
    return n if isinstance(n, int) else int(n.node.hint or 1)


def predict(claim: Any, spelled: dict[str, bool]) -> None:
    """Fills in ``mine``, ``theirs`` and ``objection`` (why it is not worth a claim, else empty).
    spelled: whether attentions are taken apart, of those that were asked before."""
    first = next(v for n in claim.members for v in nodes.values_of(n))
    machine = _machine(first.device)
    products = products_of(claim.members)
    scans = [n for n in claim.members if nodes.kind_of(n) == nodes.SCAN]
    reductions = [n for n in claim.members if nodes.kind_of(n) == nodes.REDUCTION]
    if products or scans:
        _predict_products(claim, products, machine)
        return
    if reductions:
        work = sum(_bytes(v) for v in _border(claim.members)) / machine.bytes_s
        ratio, why = _rows_ratio(reductions, first.device)
        if ratio is not None and any(_is_scattered(v) for v in _given(claim.members)):
            ratio, why = (
                None,
                (
                    "an operand whose rows are not together in memory (it is transposed) is read "
                    "faster by the fall-back"
                ),
            )
    else:
        (node,) = (n for n in claim.members if nodes.kind_of(n) == nodes.ATTENTION)
        work = _flops(node) / machine.flops_s
        is_apart = _is_taken_apart(node, spelled)
        ratio, why = _attention_ratio(node, is_apart)
        if is_apart:
            moved = sum(_bytes(node.args[i].meta["val"]) for i in (0, 1, 2))
            claim.theirs = _apart_s(node, moved, machine)
            claim.mine = machine.call_s + max(work / APART_RATE, moved / machine.bytes_s)
    if not claim.theirs:
        claim.theirs = work
        claim.mine = machine.call_s + work / (ratio or 1.0)
    if ratio is None:
        claim.objection = why
    elif claim.mine * MARGIN > claim.theirs:
        claim.objection = (
            f"no gain is predicted: {claim.mine * 1e6:.0f} us, beside "
            f"{claim.theirs * 1e6:.0f} us of the fall-back"
        )


def is_measured_product(node: Any) -> bool:
    """Whether products like this node, or work around them, were measured: of 16-bit floats on a
    GPU like those, of known extents."""
    values = nodes.values_of(node)
    if nodes.kind_of(node) == nodes.PRODUCT:
        values += [a.meta["val"] for a in node.all_input_nodes]
        if any(v.dtype not in (torch.float16, torch.bfloat16) for v in values):
            return False
    return all(
        v.device.type != "cpu"
        and _has_measured_products(v.device.index or 0)
        and all(isinstance(n, int) for n in v.shape)
        for v in values
    )


@functools.cache
def _has_measured_products(index: int) -> bool:
    """Whether a GPU is of the kind whose products are as fast as the library's (Hopper: wgmma).
    Those of others are slower, or were not measured. Without a GPU it is one for which is
    compiled."""
    if torch.version.hip:
        return False
    return not torch.cuda.is_available() or torch.cuda.get_device_capability(index)[0] == 9


def products_of(members: Iterable[Any]) -> list[Any]:
    """The products of matrices; beside a scan one with a vector is a sum as others are."""
    found = [n for n in members if nodes.kind_of(n) == nodes.PRODUCT]
    if any(nodes.kind_of(n) == nodes.SCAN for n in members):
        found = [n for n in found if not nodes.is_product_of_vector(n)]
    return found


def flops_of_product(node: Any) -> float:
    """Of a product of matrices."""
    first = node.args[1 if "addmm" in str(node.target) or "baddbmm" in str(node.target) else 0]
    return 2.0 * numel(node.meta["val"]) * extent(first.meta["val"].shape[-1])


def _predict_products(claim: Any, products: list[Any], machine: Machine) -> None:
    """The fall-back has a kernel for each product and one for each group of work between them. Ours
    are as fast, but what is element-wise behind a product is its epilogue and costs no pass over
    memory. What a scan makes of each element the fall-back has in memory, and we have not."""
    theirs = mine = 0.0
    for product in products:
        moved = sum(_bytes(v) for v in _border({product})) / machine.bytes_s
        one = max(flops_of_product(product) / machine.flops_s, moved)
        theirs += one + machine.gap_s
        mine += one + machine.own_gap_s
    for part in _between(claim.members, products):
        theirs += sum(_bytes(v) for v in _border(part)) / machine.bytes_s + machine.gap_s
        theirs += sum(_WINDOW_PASSES * _bytes(n.meta["val"]) for n in part
                      if nodes.kind_of(n) == nodes.WINDOW) / machine.bytes_s  # fmt: skip
        scanned = [v for n in part for v in _scanned(n)]
        theirs += machine.scan_passes * sum(map(_bytes, scanned)) / machine.bytes_s
        theirs += machine.gap_s * len(scanned)
        mine += sum(map(numel, scanned)) * machine.scan_s
        given = {a for n in part for a in n.all_input_nodes if a not in part}
        behind = {a for a in given if a in claim.members}
        if behind and not scanned and not any(nodes.kind_of(n) == nodes.REDUCTION for n in part):
            mine += sum(_bytes(a.meta["val"]) for a in given - behind) / machine.bytes_s
        else:
            mine += sum(_bytes(v) for v in _border(part)) / machine.bytes_s + machine.own_gap_s
    claim.theirs, claim.mine = theirs, mine + machine.call_s
    if claim.mine * PRODUCTS_MARGIN > claim.theirs:
        claim.objection = (
            f"no gain is predicted: {claim.mine * 1e6:.0f} us, beside "
            f"{claim.theirs * 1e6:.0f} us of the fall-back"
        )


def _scanned(node: Any) -> list[Any]:
    """What a scan makes that is used."""
    if nodes.kind_of(node) != nodes.SCAN:
        return []
    return [user.meta["val"] for user in node.users]


def _between(members: set[Any], products: list[Any]) -> list[set[Any]]:
    """The connected groups of what is no product."""
    left = members - set(products)
    groups = []
    while left:
        todo, group = [left.pop()], set()
        while todo:
            node = todo.pop()
            group.add(node)
            near = {*node.all_input_nodes, *node.users} & left
            left -= near
            todo += near
        if any(nodes.kind_of(n) != nodes.VIEW for n in group):
            groups.append(group)
    return groups


def _given(members: set[Any]) -> list[Any]:
    """Tensors that go in."""
    given = {a for n in members for a in n.all_input_nodes if a not in members}
    return [v for n in given for v in nodes.values_of(n)]


def _border(members: set[Any]) -> list[Any]:
    """Tensors that go in or out."""
    made = {n for n in members if any(u not in members for u in n.users)}
    return _given(members) + [v for n in made for v in nodes.values_of(n)]


def _is_scattered(value: Any) -> bool:
    """Whether neighbours along the last dim are apart in memory, as behind a permutation: a kernel
    of rows then reads element by element."""
    return value.dim() > 1 and extent(value.shape[-1]) > 1 and extent(value.stride()[-1]) > 1


def _bytes(value: Any) -> int:
    return numel(value) * int(value.element_size())


def _axes(node: Any) -> tuple[int, ...] | None:
    """The dims that a reduction goes along, from the end; None where it is all of them."""
    rank = node.args[0].meta["val"].dim()
    name = str(node.target)
    if name == "aten.native_layer_norm.default":
        return tuple(range(-len(node.args[1]), 0))
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    if given is None or given == []:
        return None
    dims = [given] if isinstance(given, int) else given
    return tuple(sorted((d % rank) - rank for d in dims))


def _rows_ratio(reductions: list[Any], device: Any) -> tuple[float | None, str]:
    """What redfuse was measured to win over Inductor, and why nothing where that is None."""
    axes = {_axes(n) for n in reductions}
    if len(axes) > 1:
        return None, "reductions go along different dims, which was not measured"
    (dims,) = axes
    if dims is None or max(dims) != -1:
        return None, "a reduction that is not along the last dims, which was not measured"
    values = [n.args[0].meta["val"] for n in reductions]
    row = max(math.prod(extent(v.shape[d]) for d in dims) for v in values)
    win = CPU_ROWS if device.type == "cpu" else GPU_ROWS
    if not win.least <= row <= win.most:
        return None, f"rows of {row} elements; a gain was measured of {win.least} to {win.most}"
    names = {str(n.target) for n in reductions}
    if device.type == "cpu":
        if any(v.dtype is not torch.float32 for v in values):
            return None, "rows that are not f32, which on the CPU was not measured"
        return win.ratio, ""
    if len(reductions) < 2 and not any("softmax" in n or "var_mean" in n for n in names):
        return None, "a single reduction along rows is as fast by Inductor"
    return win.ratio, ""


def _flops(node: Any) -> float:
    query, key = (node.args[i].meta["val"] for i in (0, 1))
    made = 4.0 * numel(query) * extent(key.shape[-2])
    return made / 2 if _is_causal(node) else made


def _is_causal(node: Any) -> bool:
    given = dict(zip([a.name for a in node.target._schema.arguments], node.args, strict=False))
    return bool({**given, **node.kwargs}.get("is_causal", False))


def _is_taken_apart(node: Any, spelled: dict[str, bool]) -> bool:
    """Whether PyTorch makes products and a softmax of an attention on a GPU, since none of its
    kernels takes the operands."""
    if node.target is not attention.WHOLE or node.args[0].meta["val"].device.type == "cpu":
        return False
    values = [n.meta["val"] for n in node.all_input_nodes]
    kinds = [(v.dtype, tuple(v.shape), v.stride()) for v in values]
    places = {n: f"%{i}" for i, n in enumerate(node.all_input_nodes)}
    key = str((kinds, torch.fx.map_arg((node.args, node.kwargs), places.__getitem__)))
    if key not in spelled:
        try:
            made, _ = attention.traced_of(node)
            targets = {n.target for n in made.nodes}
        except Error:
            targets = set()
        spelled[key] = torch.ops.aten.bmm.default in targets
    return spelled[key]


def _apart_s(node: Any, moved: float, machine: Machine) -> float:
    """Seconds of such an attention, which leaves out no scores and reads f32 copies of its
    operands. moved: bytes of these."""
    query, key = (node.args[i].meta["val"] for i in (0, 1))
    scores = numel(query) // max(extent(query.shape[-1]), 1) * extent(key.shape[-2])
    flops = 4.0 * scores * extent(query.shape[-1])
    passes = _SCORE_PASSES * 4.0 * scores + _OPERAND_PASSES * moved
    return flops / machine.f32_flops_s + passes / machine.bytes_s


def _attention_ratio(node: Any, is_apart: bool) -> tuple[float | None, str]:
    """is_apart: PyTorch has no kernel for it."""
    query, key = (node.args[i].meta["val"] for i in (0, 1))
    rows, keys = extent(query.shape[-2]), extent(key.shape[-2])
    if query.device.type == "cpu":
        if query.dtype is not torch.float32:
            return None, "an attention that is not in f32, which on the CPU was not measured"
        if rows == 1 and keys >= CPU_ONE_QUERY.least:
            return CPU_ONE_QUERY.ratio, ""
        if _is_causal(node) and CPU_CAUSAL.least <= keys <= CPU_CAUSAL.most:
            return CPU_CAUSAL.ratio, ""
        return None, (
            "an attention on the CPU of more than one query, but causal ones of "
            f"{CPU_CAUSAL.least} to {CPU_CAUSAL.most} keys, is as fast by PyTorch's own kernel"
        )
    if query.dtype not in (torch.float16, torch.bfloat16):
        return None, "an attention that is not in 16 bits, which on a GPU was not measured"
    if extent(query.shape[-1]) > GPU_LARGEST_HEAD:
        return None, (
            f"an attention with heads of more than {GPU_LARGEST_HEAD}, which on a GPU was not "
            "measured"
        )
    if keys < GPU_ATTENTION.least and not is_apart:
        return None, (
            f"an attention of fewer than {GPU_ATTENTION.least} keys is as fast by PyTorch's own "
            "kernels"
        )
    if rows == 1 and not is_apart:
        return None, "an attention of one query reads its keys as fast by PyTorch's own kernels"
    if extract.mask_of(node) is not None and not extract.sources_of_mask(node):
        return None, "an attention with a mask in memory is as fast by PyTorch's own kernels"
    return GPU_ATTENTION.ratio, ""
