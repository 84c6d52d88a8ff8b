"""Hints worth trying, of each kind of kernel: what they mean says ``#redfuse.schedule``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ..attributes import Schedule

# Kinds of kernels, by the instructions of their products.
WARPGROUPS, WARPS, REGISTERS = "warpgroups", "warps", "registers"


@dataclasses.dataclass(frozen=True)
class Space:
    """values: what to try of each hint, most promising hints first. together: hints that pay only
    with each other. folding: names that need a fold, elsewhere they change nothing. whole: names
    that a split fold has not."""

    values: Mapping[str, tuple[int, ...]]
    together: tuple[Mapping[str, int], ...] = ()
    folding: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()


SPACES = {
    WARPGROUPS: Space(
        {"rows": (64, 128, 192), "columns": (32, 64, 80, 96, 128), "queue": (1, 2),
         "cached": (16, 32, 64), "operand": (1, 2), "store": (1, 2), "lazy": (1, 2, 4),
         "split": (1, 2, 4, 8, 16, 32), "cluster": (1, 2, 4, 8),
         "slots": (2, 3, 4, 6, 8), "blocks": (1, 2), "ahead": (1, 2, 3), "late": (2,)},
        together=({"blocks": 2, "columns": 64, "rows": 64}, {"blocks": 2, "ahead": 2},
                  {"split": 8, "cluster": 8}, {"split": 16, "cluster": 1}),
        folding=frozenset({"columns", "queue", "operand", "store", "lazy", "blocks", "ahead",
                           "late"}),
    ),
    WARPS: Space(
        {"rows": (64, 128), "columns": (16, 32, 48, 64, 128), "slots": (2, 3, 4),
         "blocks": (1, 2), "split": (1, 2, 4, 8, 16, 32), "lazy": (1, 2, 4)},
        folding=frozenset({"columns", "split", "lazy"}),
    ),
    REGISTERS: Space(
        {"threads": (128, 256, 512, 1024), "blocks": (1, 2, 4, 8), "cluster": (1, 2, 4, 8),
         "step": (8, 16, 32, 64), "loop": (1, 2), "cached": (1, 2, 3, 4), "early": (1, 2, 3),
         "await": (1, 2), "ahead": (1, 2), "keep": (1, 2)},
        together=({"loop": 1, "step": 16, "blocks": 4, "ahead": 2},
                  {"loop": 1, "step": 32, "blocks": 1},
                  {"threads": 1024, "blocks": 2, "step": 32}),
        folding=frozenset({"step", "await"}),
        whole=frozenset({"cluster", "ahead"}),
    ),
}  # fmt: skip


def hinted(schedule: Schedule, kernel: str) -> Iterator[tuple[str, Schedule]]:
    """Neighbours of a schedule that differ in a hint, or in some that go together, and what is
    varied. kernel: the kind that it becomes; none of the above has no hints."""
    space = SPACES.get(kernel)
    if space is None:
        return
    hints = dict(schedule.hints)
    for together in space.together:
        if all(_concerns(space, name, schedule) for name in together):
            made = schedule
            for name, value in together.items():
                made = made.with_hint(name, value)
            if made != schedule:
                yield " ".join(together), made
    for name, values in space.values.items():
        if not _concerns(space, name, schedule):
            continue
        for value in values:
            if hints.get(name) != value:
                yield name, schedule.with_hint(name, value)


def _concerns(space: Space, name: str, schedule: Schedule) -> bool:
    if schedule.kind == "split" and name in space.whole:
        return False
    return bool(schedule.stream) or name not in space.folding


def kinds_of(explanation: Mapping[str, Any]) -> list[str]:
    """The kind of each kernel of a program for GPUs."""
    return [kernel.get("matrices", {}).get("by", REGISTERS) for kernel in explanation["kernels"]]
