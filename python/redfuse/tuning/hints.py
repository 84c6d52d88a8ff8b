"""Hints worth trying, of each kind of kernel. What they are and what they take is one table in C++
(RedfuseHints.td); here is how the search uses it."""

from __future__ import annotations

import dataclasses
import functools
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from .. import _ext
from ..attributes import Hint, Schedule, word

# Kinds of kernels, by the instructions of their products.
KERNELS = WGMMA, MMA_SYNC, REGISTERS = "wgmma", "mma_sync", "registers"


@dataclasses.dataclass(frozen=True)
class Use:
    """What to try of a hint, for a kind of kernel. folds: it changes nothing where nothing is
    folded. unsplit: nor for splits of a fold."""

    values: tuple[Hint, ...]
    folds: bool
    unsplit: bool

    def concerns(self, schedule: Schedule) -> bool:
        """Whether it may change a kernel of this schedule."""
        if schedule.kind == "split" and self.unsplit:
            return False
        return bool(schedule.stream) or not self.folds


@functools.cache
def table() -> dict[str, list[dict[str, Any]]]:
    """``hints``: each with ``name``, ``meaning``, ``expected`` (what it takes) and ``uses``.
    ``sets``: hints of a ``kernel`` that pay only with each other, ``values`` by their names."""
    return json.loads(_ext.hints())


def lines() -> Iterator[str]:
    """The table for people: what a hint takes and means, and what is tried of each kind."""
    indent = " " * 10
    for hint in table()["hints"]:
        yield f"{hint['name']:{len(indent)}}{hint['expected']}"
        yield from textwrap.wrap(
            hint["meaning"], 100, initial_indent=indent, subsequent_indent=indent
        )
        tried = [
            f"{_where(use['kernel'])}: " + ", ".join(map(word, use["values"]))
            for use in hint["uses"]
        ]
        yield f"{indent}tried {'; '.join(tried)}"
    yield "tried together"
    for tried in table()["sets"]:
        asked = ", ".join(f"{name} = {word(value)}" for name, value in tried["values"].items())
        yield f"{indent}{_where(tried['kernel'])}: {asked}"


def _where(kernel: str) -> str:
    return f"{'in' if kernel == REGISTERS else 'with'} {kernel}"


@functools.cache
def uses(kernel: str) -> dict[str, Use]:
    """The hints of a kind of kernel, most promising first."""
    return {
        hint["name"]: Use(tuple(use["values"]), use["folds"], use["unsplit"])
        for hint in table()["hints"]
        for use in hint["uses"]
        if use["kernel"] == kernel
    }


@functools.cache
def sets(kernel: str) -> tuple[Mapping[str, Hint], ...]:
    """Hints of a kind of kernel that pay only with each other."""
    return tuple(one["values"] for one in table()["sets"] if one["kernel"] == kernel)


def hinted(schedule: Schedule, kernel: str) -> Iterator[tuple[str, Schedule]]:
    """Neighbours of a schedule that differ in a hint, or in some that go together, and what is
    varied. kernel: the kind that it becomes; none of the above has no hints."""
    known = {name: use for name, use in uses(kernel).items() if use.concerns(schedule)}
    for together in sets(kernel):
        if all(name in known for name in together):
            made = schedule
            for name, value in together.items():
                made = made.with_hint(name, value)
            if made != schedule:
                yield " ".join(together), made
    hints = dict(schedule.hints)
    for name, use in known.items():
        for value in use.values:
            if hints.get(name) != value:
                yield name, schedule.with_hint(name, value)


def kinds_of(explanation: Mapping[str, Any]) -> list[str]:
    """The kind of each kernel of a program for GPUs."""
    return [kernel.get("matrices", {}).get("kind", REGISTERS) for kernel in explanation["kernels"]]
