"""Matrix instructions: fragments of warps (mma, ldmatrix, stmatrix) and products of warpgroups (wgmma)."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import numpy as np

from .arithmetic import SMALL, elements, widen
from .copies import swizzled
from .program import Instruction, width

if TYPE_CHECKING:
    from .threads import Threads

INTEGERS = {"s8": np.int8, "u8": np.uint8}


def multiply(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """mma.sync, by the fragments of the PTX ISA; f32 sums are rounded once an instruction."""
    if mask.reshape(-1, 32).all(1).sum() * 32 != mask.sum():
        raise i.fault("not a whole warp")
    shape = next(word for word in i.words if re.match(r"m\d+n\d+k\d+$", word))
    rows, columns, sums = (int(n) for n in re.findall(r"\d+", shape))
    to, left, right, added = i.words[-4:]
    warps = t.count // 32
    a = np.zeros((warps, rows, sums), np.float64)
    b = np.zeros((warps, sums, columns), np.float64)
    c = np.zeros((warps, rows, columns), np.float64)
    lane = np.arange(t.count) % 32
    warp, group, member = np.arange(t.count) // 32, lane // 4, lane % 4
    # Registers go along rows first; each has neighbouring sums.
    each = max(1, 32 // width(left))
    for j, name in enumerate(i.names(1)):
        high, along = j % (rows // 8), j // (rows // 8)
        for e, values in enumerate(numbers(t, name, left)):
            a[warp, group + 8 * high, each * (member + 4 * along) + e] = values
    for j, name in enumerate(i.names(2)):
        for e, values in enumerate(numbers(t, name, right)):
            b[warp, each * (member + 4 * j) + e, group] = values
    for j, name in enumerate(i.names(3)):
        c[warp, group + 8 * (j // 2), 2 * member + j % 2] = t.read(name, added)
    made = c + a @ b
    for j, name in enumerate(i.names(0)):
        values = made[warp, group + 8 * (j // 2), 2 * member + j % 2]
        t.write(name, values.astype(np.int64) if to == "s32" else values, mask, to)


def numbers(t: Threads, name: str, kind: str) -> list[np.ndarray]:
    """What a register holds, the low one first."""
    if kind == "tf32":  # the lower bits are not looked at
        word = t.read(name, "b32") & np.uint32(0xFFFFE000)
        return [word.view(np.float32).astype(np.float64)]
    return [t.read(name, kind)] if kind == "f64" else elements(t.read(name, "b32"), kind)


def fragment(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """ldmatrix and stmatrix: 8 by 8 elements of 16 bits a register, of a row an address."""
    is_load, is_transposed = i.op == "ldmatrix", "trans" in i.words
    registers, place = (i.names(0), 1) if is_load else (i.names(1), 0)
    if "x4" not in i.words or len(registers) != 4 or (is_transposed and not is_load):
        raise i.fault("unknown instruction")
    at = np.zeros(t.count, np.int64)
    at[mask] = t.shared_places(i, t.address(i.operands[place])[mask], mask, 16, is_read=is_load)
    rows = at.reshape(-1, 4, 8, 1) + np.arange(16)  # warp, register, row, byte
    for j, register in enumerate(registers):
        spots = rows[:, j]
        if is_load:
            words = t.shared.bytes[spots].view(np.uint16)
            words = np.ascontiguousarray(words.swapaxes(1, 2) if is_transposed else words)
            t.write(register, words.view(np.uint32).reshape(-1), mask, "b32")
        else:
            words = t.read(register, "b32").reshape(-1, 8, 4)
            whole = mask.reshape(-1, 32).all(1)
            t.shared.bytes[spots[whole]] = np.ascontiguousarray(words[whole]).view(np.uint8)


# Warpgroups -------------------------------------------------------------------------------------
def warpgroup(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """wgmma: a product is done when it is started, but its operands may not change before the wait."""
    if "mma_async" in i.words:
        for group in np.flatnonzero(mask.reshape(-1, 128).any(1)):
            product(t, i, 128 * int(group))
    elif "commit_group" in i.words:
        for warp in np.flatnonzero(mask.reshape(-1, 32).any(1)):
            t.races.commit("wgmma", warp)
    elif "wait_group" in i.words:
        for warp in np.flatnonzero(mask.reshape(-1, 32).any(1)):
            t.races.wait("wgmma", warp, int(i.operands[0]))
    elif "fence" not in i.words:
        raise i.fault("unknown instruction")


@functools.cache
def _offsets(
    free: int, is_sum_contiguous: bool, leading: int, stride: int, size: int
) -> np.ndarray:
    """Bytes of an operand [free, 32 / size] from its start, before they are swizzled."""
    n, k = np.arange(free)[:, None], np.arange(32 // size)[None]
    if is_sum_contiguous:
        return n // 8 * stride + n % 8 * 128 + k * size
    return n // 64 * leading + k // 8 * stride + k % 8 * 128 + n % 64 * 2


def operand(
    t: Threads,
    i: Instruction,
    name: str,
    free: int,
    is_sum_contiguous: bool,
    first: int,
    size: int = 2,
) -> np.ndarray:
    """[free, 32 / size] bits of floats of ``size`` bytes in the block of the thread ``first``."""
    own = np.arange(first, first + 128)
    mask = np.zeros(t.count, bool)
    mask[own] = True
    given = t.read(name, "u64", mask)[own]
    if (given != given[0]).any():
        raise i.fault("descriptors differ between threads")
    descriptor = int(given[0])
    if descriptor >> 62 != 1:
        raise i.fault("a descriptor without swizzles of 128 bytes")
    leading, stride = ((descriptor >> s & 0x3FFF) << 4 for s in (16, 32))
    at = ((descriptor & 0x3FFF) << 4) + _offsets(free, is_sum_contiguous, leading, stride, size)
    at, beyond = t.shared.place(swizzled(at), np.full(at.shape, t.rank[first]), size)
    if beyond.any():
        raise i.fault("beyond shared memory")
    t.read_asynchronously(i, at.reshape(-1), "wgmma", range(first // 32, first // 32 + 4))
    return t.shared.words[size][at // size]


def few_digits(before: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sums of products of floats of 8 bits: the unit cuts all it adds up off 13 bits below the
    largest of them."""
    added = np.concatenate([before[:, :, None], left[:, None] * right[None]], -1)
    size = np.abs(added)
    with np.errstate(invalid="ignore"):
        largest = np.where(np.isfinite(size), size, 0).max(-1, keepdims=True)
        step = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1))) - 13)
        return (np.trunc(added / step) * step).sum(-1)


def product(t: Threads, i: Instruction, first: int) -> None:
    """wgmma.mma_async of the 128 threads from ``first`` on."""
    shape = next(w for w in i.words if w.startswith("m64"))
    columns = int(re.match(r"m64n(\d+)k(?:8|16|32)$", shape)[1])
    kinds = i.words[-2:]
    size = 4 if i.kind == "tf32" else 1 if i.kind in SMALL or i.kind in INTEGERS else 2
    # Sums of integers are exact, modulo 2**32, and have no signs of factors behind them.
    sum_kind, sum_type = ("s32", np.int64) if i.kind in INTEGERS else ("f32", np.float64)
    group = slice(first, first + 128)
    mask = np.zeros(t.count, bool)
    mask[group] = True

    def numbers(bits: np.ndarray, kind: str) -> np.ndarray:
        if size == 4:  # what TF32 has of them
            return (bits & 0xFFFFE000).astype(np.uint32).view(np.float32)
        if size == 1:
            return bits.view({**SMALL, **INTEGERS}[kind])
        return widen(bits) if kind == "bf16" else bits.view(np.float16).astype(np.float32)

    outs = i.names(0)
    keep = t.read(i.operands[3], "pred", mask)[group]
    # Which operand is transposed: of 16 bits alone.
    scales = [int(v) for v in i.operands[6:]] or [0, 0]
    lane = np.arange(128)
    row = lane // 32 * 16 + lane % 32 // 4
    if i.operands[1].startswith("{"):
        a = np.zeros((64, 16), np.uint16)
        for j, register in enumerate(i.names(1)):
            bits = t.read(register, "b32", mask)[group]
            at = (row + j % 2 * 8, j // 2 * 8 + lane % 4 * 2)
            a[at] = (bits & 0xFFFF).astype(np.uint16)
            a[at[0], at[1] + 1] = (bits >> 16).astype(np.uint16)
    else:
        a = operand(t, i, i.operands[1], 64, scales.pop(0) == 0, first, size)
    b = operand(t, i, i.operands[2], columns, scales[0] == 0, first, size)
    left, right = (numbers(v, kind).astype(sum_type) for v, kind in zip((a, b), kinds, strict=True))
    r = np.arange(len(outs))[:, None]
    at = (row + r // 2 % 2 * 8, r // 4 * 8 + lane % 4 * 2 + r % 2)
    before = np.zeros((64, columns), sum_type)
    if keep.any():
        sums = np.stack([t.read(register, sum_kind, mask)[group] for register in outs])
        before[at] = np.where(keep, sums, 0)
    value = (few_digits(before, left, right) if i.kind in SMALL else before + left @ right.T)[at]
    made = value.astype(np.int32 if i.kind in INTEGERS else np.float32)
    for register, values in zip(outs, made, strict=True):
        full = np.zeros(t.count, made.dtype)
        full[group] = values
        t.write(register, full, mask, sum_kind)


HANDLERS = {
    "mma": multiply, "ldmatrix": fragment, "stmatrix": fragment, "wgmma": warpgroup,
}  # fmt: skip
