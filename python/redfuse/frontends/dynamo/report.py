"""What was claimed of which graph, and what not and why: what explain and the log show."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Iterator
from typing import Any

from . import nodes

LOG = logging.getLogger("redfuse.dynamo")
_collectors: list[list[GraphRecord]] = []


@dataclasses.dataclass
class Entry:
    """A part that was considered. kernel: its name, if it was claimed, else why: the reason.
    nodes: names in the graph. mine, theirs: predicted seconds, of redfuse and of the fall-back.
    loops: of the kernel."""

    title: str
    kind: str
    nodes: list[str]
    mine: float
    theirs: float
    kernel: str = ""
    why: str = ""
    loops: int = 0


@dataclasses.dataclass
class GraphRecord:
    """One graph that went through the pass.

    count: of operations. operations: name, operation and the user's line of each; only while
    somebody collects. parts: what was considered. others: operations that no part can have, by
    reason, with how many there are and the first one's line.
    """

    count: int = 0
    operations: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    parts: list[Entry] = dataclasses.field(default_factory=list)
    others: dict[str, tuple[int, str]] = dataclasses.field(default_factory=dict)
    failure: str = ""

    def begin(self, graph: Any) -> None:
        """Notes what there is."""
        called = [n for n in graph.nodes if n.op == "call_function"]
        self.count = len(called)
        if _collectors:
            self.operations = [(n.name, str(n.target), nodes.place_of(n)) for n in called]

    def unclaimed(self, node: Any, why: str) -> None:
        """Notes an operation that no part can have."""
        count, place = self.others.get(why, (0, ""))
        self.others[why] = (count + 1, place or nodes.place_of(node))

    def refused(self, claim: Any, why: str) -> None:
        """Notes a part that is left to the fall-back."""
        self.parts.append(_entry(claim, why=why))

    def claimed(self, claim: Any, name: str, executable: Any) -> None:
        """Notes a part that became a call."""
        loops = len(executable.explanation["kernels"])
        self.parts.append(_entry(claim, kernel=name, loops=loops))

    def lines(self) -> list[str]:
        """For people."""
        taken = [p for p in self.parts if p.kernel]
        count = sum(len(p.nodes) for p in taken)
        made = [f"{self.count} operations, {count} of them in {len(taken)} calls of redfuse"]
        if self.failure:
            made.append(f"  nothing is claimed: {self.failure}")
        for part in sorted(self.parts, key=lambda p: not p.kernel):
            times = f"{part.mine * 1e6:.0f} us, fall-back {part.theirs * 1e6:.0f} us, as predicted"
            if part.kernel:
                made.append(f"  redfuse: {part.title} ({len(part.nodes)} operations; {times})")
                made.append(f"    kernel {part.kernel[:12]}, {part.loops} loops")
            else:
                made.append(f"  left: {part.title} ({len(part.nodes)} operations)")
                made.append(f"    {part.why.splitlines()[0]}")
        for why, (number, place) in sorted(self.others.items(), key=lambda item: -item[1][0]):
            made.append(f"  {number} times: {why}" + (f", first at {place}" if place else ""))
        return made

    def to_json(self) -> dict[str, Any]:
        """The object of docs/user/pytorch.md."""
        by = {name: p.kernel for p in self.parts if p.kernel for name in p.nodes}
        return {
            "operations": [
                {"name": n, "operation": op, "at": at, "kernel": by.get(n, "")}
                for n, op, at in self.operations
            ],
            "parts": [
                {
                    "title": p.title, "kind": p.kind, "operations": p.nodes, "kernel": p.kernel,
                    "loops": p.loops, "why_not": p.why,
                    "predicted_us": {"redfuse": round(p.mine * 1e6, 1),
                                     "fallback": round(p.theirs * 1e6, 1)},
                }
                for p in self.parts
            ],
            "others": [
                {"reason": why, "count": number, "at": place}
                for why, (number, place) in self.others.items()
            ],
            "failure": self.failure,
        }  # fmt: skip


def _entry(claim: Any, **fields: Any) -> Entry:
    listed = sorted(n.name for n in claim.members)
    return Entry(claim.title, claim.kind, listed, claim.mine, claim.theirs, **fields)


@contextlib.contextmanager
def collected() -> Iterator[list[GraphRecord]]:
    """The records of graphs that are compiled meanwhile: backward graphs have threads of their
    own."""
    records: list[GraphRecord] = []
    _collectors.append(records)
    try:
        yield records
    finally:
        _collectors[:] = [c for c in _collectors if c is not records]


def add(record: GraphRecord) -> None:
    """Hands a record to who collects them, and to the log."""
    for records in _collectors:
        records.append(record)
    if LOG.isEnabledFor(logging.INFO):
        LOG.info("graph: %s", "\n".join(record.lines()))
