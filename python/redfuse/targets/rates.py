"""What a GPU reaches: the rates that predicted times are made of (``#redfuse.rates``).

Of this machine's GPU they are what ``redfuse calibrate`` stored for its name, else what the table
has for it; of others, and where there is none, shares of the chip's peaks (KernelTime.cpp). They
choose nothing: kernels, and so their bits, are the same with all of them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import warnings
from typing import Any, ClassVar

from ..attributes import Fields
from ..errors import ArgumentError, CacheError, CacheWarning, TargetError
from ..store import files

SUFFIX = ".rates"
_MOST_BYTES = 4096
_MOST_RATE = (1 << 31) - 1  # as the attribute has it


@dataclasses.dataclass(frozen=True)
class Rates(Fields):
    """launch: nanoseconds of a kernel that does next to nothing. round: of a round of a loop that
    one launch makes, beside its work. memory: 10^9 bytes a second that a copy reads and writes.
    vector: 10^9 additions a second of all threads. matrix: 10^9 multiply-adds a second of 16-bit
    floats by the fastest matrix instruction."""

    mnemonic: ClassVar[str] = "rates"

    launch: int
    round: int
    memory: int
    vector: int
    matrix: int


# By the driver's name of a GPU.
TABLE = {
    "NVIDIA H200": Rates(launch=4400, round=1100, memory=4125, vector=28150, matrix=501000),
}


def path(device: str) -> str:
    """The file of a GPU's rates: in ``rates`` in the folder of the cache."""
    name = "".join(c if c.isalnum() and c.isascii() else "_" for c in device)
    return os.path.join(files.cache_folder(), "rates", name + SUFFIX)


def store(device: str, rates: Rates) -> str:
    """Writes them, atomically; returns the file. Raises CacheError."""
    file = path(device)
    held = json.dumps({"device": device, **dataclasses.asdict(rates)}).encode()
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        files.replace(file, held)
    except OSError as error:
        raise CacheError(f"cannot write {file}: {error.strerror or error}") from None
    stored.cache_clear()
    return file


def forget(device: str) -> bool:
    """Removes what was stored; whether there was anything."""
    stored.cache_clear()
    try:
        os.unlink(path(device))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CacheError(f"cannot remove {path(device)}: {error.strerror}") from None
    return True


@functools.cache
def stored(device: str) -> Rates | None:
    """What was stored for a GPU; None if there is nothing, or nothing that can be used (which
    costs a warning)."""
    try:
        text = files.read_own(path(device), _MOST_BYTES)
    except OSError:
        return None
    except CacheError as error:  # another user's, say
        warnings.warn(f"{error}; it is not used", CacheWarning, stacklevel=2)
        return None
    try:
        held = json.loads(text)
        if held.pop("device") != device:
            return None  # another GPU, whose name has the same letters
        made = Rates(**held)
        if not all(type(value) is int and 1 <= value <= _MOST_RATE for value in held.values()):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError):
        warnings.warn(
            f"{path(device)}: no rates of a GPU; `redfuse calibrate` measures them again",
            CacheWarning, stacklevel=2,
        )  # fmt: skip
        return None
    return made


def of_device(device: str) -> Rates | None:
    """Stored ones, else those of the table."""
    return stored(device) or TABLE.get(device)


def of_chip(chip: str) -> Rates | None:
    """Of this machine's first GPU, if it is of this architecture."""
    found = _first_device()
    return of_device(found[0]) if found is not None and found[1] == chip else None


@functools.cache
def _first_device() -> tuple[str, str] | None:
    """Name and chip."""
    from .. import _ext

    try:
        devices: list[dict[str, Any]] = _ext.devices("cuda")
    except TargetError:
        return None
    return (devices[0]["name"], devices[0]["chip"]) if devices else None


def solved(now: float, measured: float, launch: float, others: list[float], added: float) -> float:
    """The time of the longest part by which a prediction is what was measured:
    launch + part + added * (the others), as ``KernelTime.cpp`` adds them; never less than the
    longest of the others. now: the part as it was predicted, which is returned where nothing is
    left for it. All in the same unit."""
    part = measured - launch - added * sum(others)
    if part <= 0:
        return now
    return max(part, *others) if others else part


def check(name: str, value: float) -> int:
    """A rate as a whole number from 1; raises ArgumentError for what no GPU has."""
    if not 1 <= value <= _MOST_RATE:
        raise ArgumentError(f"{name}: measured {value:g}, which no GPU has; is it busy?")
    return round(value)
