"""Geometric means of a run: how fast each peer is beside redfuse, over groups of cases that are
judged together."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence

from .cases import Case
from .runner import Row

FUSED = ("torch cudnn", "fa4")  # kernels written by hand for attention
SHARES = ("of floor", "of a copy of its size")
FASTER = "the faster of cudnn and fa4"


@dataclasses.dataclass(frozen=True)
class Mean:
    """A peer's time over redfuse's (over 1: redfuse is faster) in a group: the geometric mean, and
    the least, of which case. ``peer`` may be "of floor" or "of a copy of its size": redfuse's share
    of it."""

    group: str
    peer: str
    cases: int
    mean: float
    least: float
    least_case: str


def group_of(case: Case) -> str:
    """Workload, and what makes its cases comparable: the head dim, decoding or not."""
    if case.kind is None:
        return case.workload
    query = case.shapes[0][0]
    if query[2] == 1:
        return f"{case.workload}, decode"
    if found := re.search(r"_d(\d+)", case.name):
        return f"{case.workload}, head dim {found[1]}"
    return f"{case.workload}, prefill" if case.workload.startswith("attention") else case.workload


def means(rows: Sequence[Row], cases: Iterable[Case]) -> list[Mean]:
    """Of all groups and peers, and of the fastest peer of each case."""
    groups = {case.full_name: group_of(case) for case in cases}
    found: dict[tuple[str, str], dict[str, float]] = {}

    def add(group: str, peer: str, case: str, value: float) -> None:
        held = found.setdefault((group, peer), {})
        # Several passes time redfuse and some peers again: the best of each.
        held[case] = max(value, held.get(case, 0.0)) if peer in SHARES else min(
            value, held.get(case, math.inf)
        )  # fmt: skip

    for row in rows:
        name = f"{row.workload}/{row.case}"
        group = groups.get(name)
        if group is None or not row.median_ms:
            continue
        if row.implementation == "redfuse":
            for share, value in zip(SHARES, (row.of_floor, row.of_copy), strict=True):
                if value:
                    add(group, share, name, value)
        elif row.ratio:
            add(group, row.implementation, name, row.ratio)
            add(group, "the fastest peer", name, row.ratio)
            if row.implementation in FUSED:
                add(group, FASTER, name, row.ratio)
    return [_mean(group, peer, held) for (group, peer), held in found.items()]


def _mean(group: str, peer: str, held: dict[str, float]) -> Mean:
    worst = min(held, key=lambda case: held[case])
    mean = math.exp(sum(math.log(value) for value in held.values()) / len(held))
    return Mean(group, peer, len(held), mean, held[worst], worst)
