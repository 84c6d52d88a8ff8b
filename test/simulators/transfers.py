"""Loads, stores, and what else moves bits between registers and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .arithmetic import type_of
from .memory import FAR
from .program import Instruction, width

if TYPE_CHECKING:
    from .threads import Threads


def load_store(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """ld and st, of vectors too."""
    if "param" in i.words:
        return load_parameter(t, i, mask)
    is_load = i.op == "ld"
    registers, place = (i.names(0), 1) if is_load else (i.names(1), 0)
    size = max(1, width(i.kind) // 8)
    at = t.address(i.operands[place])[mask]
    is_shared = "shared" in i.words
    find = t.shared_places if is_shared else t.global_places
    at = find(i, at, mask, size * len(registers), is_read=is_load)
    if is_shared:
        words, at = t.shared.words[size], at // size
    else:
        words, at = t.memory.words(size), t.memory.index(at, size)
    for j, register in enumerate(registers):
        if is_load:
            load_register(t, i, register, words[at + j], mask)
        else:
            values = t.read(register, f"b{size * 8}")[mask]
            words[at + j] = values
            if (words[at + j] != values).any():
                raise i.fault("threads store different values at one address")
    return None


def load_register(
    t: Threads, i: Instruction, register: str, part: np.ndarray, mask: np.ndarray
) -> None:
    """Words that the threads of ``mask`` have read."""
    kind = f"b{8 * part.itemsize}"
    if i.kind[0] == "s" and part.itemsize < 8:  # registers are wider; they get its sign
        part, kind = part.view(type_of(i.kind)).astype(np.int64).view(np.uint64), "b64"
    if mask is not t.every:
        full = np.zeros(t.count, part.dtype)
        full[mask] = part
        part = full
    t.write(register, part, mask, kind)


def load_parameter(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    name = i.operands[1].strip("[]")
    if name not in t.parameters:
        raise i.fault(f"no parameter {name}")
    t.write(i.operands[0], np.full(t.count, t.parameters[name], np.uint64), mask, "b64")


def prefetch(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """cp.async.bulk.prefetch, of what is there."""
    start, size = t.address(i.operands[0])[mask], t.read(i.operands[1], "u32")[mask]
    if (start % 16).any() or (size % 16).any():
        raise i.fault("not aligned to 16 bytes")
    t.check_memory(i, start, mask, size.astype(np.int64))


def address_of_block(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """mapa: a shared address in another block of the cluster."""
    near = t.read(i.operands[1], "u32").astype(np.int64) % FAR
    block = t.read(i.operands[2], "u32").astype(np.int64)
    if (block[mask] >= t.kernel.cluster).any():
        raise i.fault("a block that the cluster lacks")
    t.write(i.operands[0], near + (block + 1) * FAR, mask, "b32")


# What an atomic leaves of what was there and what is given, both as the type says.
_UPDATES: dict[str, Callable[[int, int], int]] = {
    "inc": lambda old, given: 0 if old >= given else old + 1,
    "add": lambda old, given: old + given,
    "max": max,
    "min": min,
    "and": lambda old, given: old & given,
    "or": lambda old, given: old | given,
}


def update(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """atom of integers, thread by thread. In shared memory it is taken for a read: what was there must
    be seen, and who writes it otherwise must be ordered behind."""
    how, size = i.words[-2], width(i.kind) // 8
    if how not in _UPDATES or size not in (4, 8) or i.kind[0] == "f":
        raise i.fault("unknown instruction")
    kind = np.dtype(f"{'i' if i.kind[0] == 's' else 'u'}{size}")
    given = t.read(i.operands[2], f"b{8 * size}").view(kind)
    old, at = np.zeros(t.count, kind), t.address(i.operands[1])[mask]
    if "shared" in i.words:
        words, places = (
            t.shared.words[size],
            t.shared_places(i, at, mask, size, is_read=True) // size,
        )
    else:
        words = t.memory.words(size)
        places = t.memory.index(t.global_places(i, at, mask, size), size)
    for thread, word in zip(np.flatnonzero(mask), places, strict=True):
        old[thread] = words[word].astype(kind)
        made = _UPDATES[how](int(old[thread]), int(given[thread]))
        words[word] = made & ((1 << 8 * size) - 1)
    t.write(i.operands[0], old.view(f"u{size}"), mask, f"b{8 * size}")


def move(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """mov, which also takes registers apart and puts them together."""
    target, source = i.operands[:2]
    if target.startswith("{"):
        parts = i.names(0)
        size = width(i.kind) // len(parts)
        bits = t.read(source, f"b{width(i.kind)}").astype(np.uint64)
        for j, part in enumerate(parts):
            t.write(part, bits >> np.uint64(j * size), mask, f"b{size}")
    elif source.startswith("{"):
        parts = i.names(1)
        size = width(i.kind) // len(parts)
        bits = np.zeros(t.count, np.uint64)
        for j, part in enumerate(parts):
            bits |= t.read(part, f"b{size}").astype(np.uint64) << np.uint64(j * size)
        t.write(target, bits, mask, i.kind)
    else:
        t.write(target, t.read(source, i.kind), mask, i.kind)


def undefined(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """A register of which the compiler says here that its bits do not matter."""
    zero = np.zeros(t.count, np.uint64)
    t.write(i.operands[0], zero, mask, "pred" if i.operands[0].startswith("%p") else "b64")
    t.define(i.operands[0], ~zero, mask)


def shuffle(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """shfl, within warps that are all there."""
    lanes = np.arange(t.count)
    other = t.read(i.operands[2], "s32")
    if "bfly" in i.words:
        source = lanes ^ other
    elif "idx" in i.words:
        source = (lanes & ~31) + (other & 31)
    else:
        raise i.fault("unknown instruction")
    source = np.where(mask, source, lanes)
    if not mask[source[mask]].all():
        raise i.fault("of a lane that takes no part")
    t.write(i.operands[0].split("|")[0], t.read(i.operands[1], "b32")[source], mask, "b32")


HANDLERS = {
    "ld": load_store, "st": load_store, "mapa": address_of_block, "atom": update,
    "mov": move, "cvta": move, "undefined": undefined, "shfl": shuffle,
}  # fmt: skip
