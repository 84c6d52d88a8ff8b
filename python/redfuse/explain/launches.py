"""The kernels that a program for a GPU launches, and what each must move, read off the IR."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from .explanation import walk, where
from .moved import moved
from .predicted import predicted


@dataclasses.dataclass(frozen=True)
class Launch:
    """kernel: its name for the driver. source: where its first operation was written. reads,
    writes: bytes of its arguments and of its results, each whole and once; None where the types
    leave an extent open, and for what is no kernel of a cascade (copies, selections).
    predicted_us: microseconds that it is predicted to take, None where nothing is said."""

    kernel: str
    source: str
    reads: int | None = None
    writes: int | None = None
    predicted_us: float | None = None


def launches(module: Any, entry: str, explanation: Mapping[str, Any]) -> list[Launch]:
    """Of a module after the stage "plan", in the order of the host code. ``explanation``: of the
    same compilation."""
    sources = {kernel["name"]: kernel["source"] for kernel in explanation["kernels"]}
    found = []
    for function in walk(module.operation, "func.func"):
        if function.attributes["sym_name"].value != entry:
            continue
        for op in walk(function, "redfuse.launch", "gpu.launch_func"):
            if op.name == "redfuse.launch":
                found.append(_of_cascade(op, sources))
            else:
                found.append(Launch(op.attributes["kernel"].value[-1], where(op)))
    return found


def of_names(known: Sequence[Launch], names: Sequence[str]) -> list[Launch]:
    """Of kernels that ran, in order. Where the host code has loops or leaves launches out, what all
    launches of a kernel have in common."""
    if [launch.kernel for launch in known] == list(names):
        return list(known)
    by_name: dict[str, Launch] = {}
    for launch in known:
        first = by_name.setdefault(launch.kernel, launch)
        if dataclasses.replace(first, source="") != dataclasses.replace(launch, source=""):
            by_name[launch.kernel] = Launch(first.kernel, first.source)
    return [by_name.get(name, Launch(name, "")) for name in names]


def _of_cascade(op: Any, sources: Mapping[str, str]) -> Launch:
    name = op.attributes["kernel"].value
    # Equal kernels are one, but each has its own place in the source.
    named = "redfuse.instead_of" if "redfuse.instead_of" in op.attributes else "kernel"
    own = op.attributes[named].value
    ends = ("_splits", "_states", "_merge", "_map")
    while own not in sources and own.endswith(ends):
        own = own.rpartition("_")[0]
    if "redfuse.persistent" in op.parent.attributes:
        name += "_rounds"  # one launch that makes all of them
    time = predicted(op)
    total = None if time is None else time["total_us"]
    return Launch(name, sources.get(own, ""), *moved(op), total)
