"""How long a launch is predicted to take, read off what ``redfuse-predict-times`` says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..attributes import fields

PARTS = ("launch", "memory", "matrix", "vector")


def predicted(launch: Any) -> dict[str, float] | None:
    """Of a ``redfuse.launch``: microseconds in all, of the launch, of memory, of matrix units and
    of what threads compute, and the blocks that have work of their own; None where nothing is said.
    """
    if "redfuse.predicted" not in launch.attributes:
        return None
    said = fields(launch.attributes["redfuse.predicted"], "predicted_time") or {}
    times = {f"{part}_us": said[part] / 1e3 for part in ("total", *PARTS)}
    return {**times, "blocks": said["blocks"]}


def together(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    """Two launches, one behind the other."""
    return {key: a[key] + b[key] for key in a}


def predicted_text(kernels: Sequence[Mapping[str, Any]]) -> str:
    """What kernels are predicted to take, with the longest part of it; "" where that is not known
    of all."""
    said = [kernel.get("predicted") for kernel in kernels]
    known = [each for each in said if each is not None]
    if not known or len(known) < len(said):
        return ""
    total = sum(each["total_us"] for each in known)
    part = max(PARTS, key=lambda name: sum(each[f"{name}_us"] for each in known))
    most = sum(each[f"{part}_us"] for each in known)
    launch = "the launch" if len(known) == 1 else "launches"
    words = {"launch": launch, "matrix": "matrix units", "vector": "what threads compute"}
    return f"{total:.1f} us predicted, most of it {words.get(part, part)} ({most:.1f} us)"
