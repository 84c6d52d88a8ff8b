"""Targets that name GPUs by architecture: ``cuda``, ``cuda:sm_90a``, ``rocm:gfx90a,gfx942``."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ..errors import TargetError, one_of


class Chip(NamedTuple):
    """An architecture that code is made for: ``lanes`` of a warp or wave, and the number that code
    objects of AMD's have for it."""

    name: str
    lanes: int
    elf_machine: int


@functools.cache
def chips(family: str) -> dict[str, Chip]:
    """Those of ``cuda`` or ``rocm`` by name, older ones first, from the compiler's own table."""
    from .. import _ext

    return {chip["name"]: Chip(**chip) for chip in _ext.chips(family)}


def named_chips(target: str) -> list[str]:
    """The architectures that a target names, each once; raises TargetError for unknown ones."""
    family, _, named = target.partition(":")
    known = tuple(chips(family))
    found = list(dict.fromkeys(named.split(","))) if named else []
    for chip in found:
        if chip not in known:
            raise TargetError(one_of(f"target '{target}': architecture", chip, known))
    return found


def chips_of(target: str) -> list[str]:
    """``["sm_90a"]`` of ``cuda:sm_90a``."""
    return target.partition(":")[2].split(",")


def first_device(target: str, driver: str) -> dict[str, Any]:
    """This machine's first GPU; TargetError with what to say instead."""
    from .. import _ext

    family = target.partition(":")[0]
    known = list(chips(family))
    try:
        devices = _ext.devices(family)
    except TargetError as error:
        raise TargetError(
            f"target '{target}': {error}; to compile for a GPU elsewhere name its architecture, "
            f"as {family}:{known[-1]} ({', '.join(known)})"
        ) from None
    if not devices:
        raise TargetError(f"target '{target}': {driver} sees no GPU")
    return devices[0]


def machine_text(family: str) -> str:
    """This machine's GPUs, and what programs can be compiled for without one."""
    from .. import _ext

    try:
        devices = _ext.devices(family)
        found = ", ".join(f"{d['name']} ({d['chip']}, {d['units']} units)" for d in devices)
    except TargetError as error:
        found = str(error)
    return f"{found or 'no GPU'}; compiles for {', '.join(chips(family))}"


def binary_of(module: Any) -> bytes:
    """What the kernels of a module became, in its gpu.binary; empty if it has none."""
    from mlir.dialects import gpu

    for operation in module.operation.regions[0].blocks[0].operations:
        if operation.operation.name == "gpu.binary":
            return bytes(gpu.ObjectAttr(operation.objects[0]).object)
    return b""
