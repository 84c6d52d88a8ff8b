"""Targets that name GPUs by architecture: ``cuda``, ``cuda:sm_90a``, ``rocm:gfx90a,gfx942``."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .errors import TargetError, one_of


def named_chips(target: str, known: Collection[str]) -> list[str]:
    """The architectures that a target names, each once; raises TargetError for unknown ones."""
    named = target.partition(":")[2]
    chips = list(dict.fromkeys(named.split(","))) if named else []
    for chip in chips:
        if chip not in known:
            raise TargetError(one_of(f"target '{target}': architecture", chip, tuple(known)))
    return chips


def chips_of(target: str) -> list[str]:
    """``["sm_90a"]`` of ``cuda:sm_90a``."""
    return target.partition(":")[2].split(",")


def first_device(target: str, example: str, known: Collection[str], driver: str) -> dict[str, Any]:
    """This machine's first GPU; TargetError with what to say instead, as ``example``."""
    from . import _ext

    family = target.partition(":")[0]
    try:
        devices = _ext.devices(family)
    except TargetError as error:
        raise TargetError(
            f"target '{target}': {error}; to compile for a GPU elsewhere name its architecture, "
            f"as {family}:{example} ({', '.join(known)})"
        ) from None
    if not devices:
        raise TargetError(f"target '{target}': {driver} sees no GPU")
    return devices[0]


def machine_text(family: str, known: Collection[str]) -> str:
    """This machine's GPUs, and what programs can be compiled for without one."""
    from . import _ext

    try:
        devices = _ext.devices(family)
        found = ", ".join(f"{d['name']} ({d['chip']}, {d['units']} units)" for d in devices)
    except TargetError as error:
        found = str(error)
    return f"{found or 'no GPU'}; compiles for {', '.join(known)}"
