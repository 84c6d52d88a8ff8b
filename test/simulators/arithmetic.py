"""What the arithmetic of PTX computes, on arrays with an element a thread."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from .memory import BITS
from .program import Instruction, width

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
SMALL = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
_ROUNDINGS = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


@functools.cache
def type_of(kind: str) -> type:
    """The numpy type of numbers of ``kind``; their bits' for bf16."""
    if kind in FLOATS:
        return FLOATS[kind]
    size = width(kind)
    return np.dtype(f"i{size // 8}").type if kind[0] == "s" else BITS[size]


def is_float(kind: str) -> bool:
    return kind in FLOATS or kind == "bf16"


def widen(bits: np.ndarray) -> np.ndarray:
    """f32 of bf16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrow(values: np.ndarray) -> np.ndarray:
    """bf16 bits of f32, to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    up = ((bits >> 16) & 1) + np.uint32(0x7FFF)
    rounded = ((bits.astype(np.uint64) + up) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def elements(word: np.ndarray, kind: str) -> list[np.ndarray]:
    """The numbers of ``kind`` in a 32-bit word, the low one first, as f64."""
    bits, result = width(kind), []
    for j in range(32 // bits):
        part = (word >> np.uint32(j * bits)).astype(BITS[bits])
        if kind == "bf16":
            part = widen(part)
        elif kind in SMALL or kind in FLOATS or kind == "s8":
            part = part.view(SMALL.get(kind) or type_of(kind))
        result.append(part.astype(np.float64))
    return result


def compare(i: Instruction, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What setp finds."""
    relation, unordered = i.words[0], np.zeros(len(a), bool)
    if is_float(i.kind):
        unordered = np.isnan(a) | np.isnan(b)
    if relation in ("num", "nan"):
        return ~unordered if relation == "num" else unordered
    also = relation in _UNORDERED
    result = _RELATIONS[relation.rstrip("u") if also else relation](a, b)
    return result | unordered if also else result & ~unordered


_UNORDERED = {"equ", "neu", "ltu", "leu", "gtu", "geu"}
_RELATIONS: dict[str, Callable] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal,
    "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def convert(i: Instruction, values: np.ndarray) -> tuple[np.ndarray, str]:
    """What cvt makes of numbers of its last type, and of which type that is."""
    to, source = i.words[-2:]
    if to == "tf32":  # ten bits of a fraction, in the register of an f32
        bits = values.view(np.uint32)
        bits = bits + np.uint32(0xFFF) + (bits >> 13 & np.uint32(1))
        whole = np.where(np.isnan(values), np.uint32(0x7FFFFFFF), bits & np.uint32(0xFFFFE000))
        return whole.astype(np.uint32), "u32"
    roundings = [_ROUNDINGS[word] for word in i.words if word in _ROUNDINGS]
    if is_float(source):
        for rounding in roundings:
            values = rounding(values)
        if not is_float(to):
            limits = np.iinfo(f"{'i' if to[0] == 's' else 'u'}{width(to) // 8}")
            inside = np.clip(values.astype(np.float64), limits.min, limits.max)
            values = _saturated(np.where(np.isnan(values), 0, inside), limits)
        elif "sat" in i.words:
            values = np.where(np.isnan(values), 0, np.clip(values, 0, 1))
    if to == "s8":  # wider registers get its sign
        return values.astype(np.int8).astype(np.int64), "s64"
    if is_float(to):
        return values.astype(FLOATS.get(to, np.float32)), to
    return values, to


def saturate(values: np.ndarray, kind: str) -> np.ndarray:
    """Codes of 8 bits, of which what is too large is the largest number."""
    small = SMALL[kind]
    most = float(ml_dtypes.finfo(small).max)
    codes = np.clip(values, -most, most).astype(small)  # keeps NaN
    return np.where(np.isnan(values), np.uint8(0x7F), codes.view(np.uint8))


def _saturated(values: np.ndarray, limits: np.iinfo) -> np.ndarray:
    """Integers of floats in the limits of a type, of which f64 lacks the largest of 64 bits."""
    top = values >= float(limits.max)
    whole = np.where(top, 0, values).astype(limits.dtype)
    return np.where(top, limits.dtype.type(limits.max), whole)


def compute(i: Instruction, *values: np.ndarray) -> np.ndarray:
    """The ops of COMPUTE, and what words after the name do to their results."""
    result = COMPUTE[i.op](i.words, i.kind, *values)
    if "sat" in i.words:
        if not is_float(i.kind):
            raise i.fault("unknown instruction")
        result = np.where(np.isnan(result), 0, np.clip(result, 0, 1))
    return np.maximum(result, 0) if "relu" in i.words else result


def multiply_add(i: Instruction, *sources: np.ndarray) -> np.ndarray:
    """mad, and mul.wide; of types that are as wide as the result."""
    result = sources[0] * sources[1]
    return result + sources[2] if len(sources) > 2 else result


def wide_kind(i: Instruction) -> str:
    """The type of a product."""
    wide = {"u32": "u64", "s32": "s64", "u16": "u32", "s16": "s32"}
    return wide[i.kind] if "wide" in i.words else i.kind


def _extreme(pick: Callable, quiet: Callable) -> Callable:
    return lambda words, kind, *v: (
        (pick if "NaN" in words else quiet)(*v) if is_float(kind) else pick(*v)
    )


def _multiply(words: list[str], kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if "hi" not in words:
        return a * b
    size = width(kind)
    wide = [int(x) * int(y) >> size for x, y in zip(a, b, strict=True)]
    return np.array([w & (2**size - 1) for w in wide], BITS[size])


def _field(words: list[str], kind: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """``c`` bits of ``a`` from bit ``b`` on."""
    wide, size = a.astype(np.uint64), c.astype(np.uint64) & np.uint64(255)
    bits = (wide >> b.astype(np.uint64)) & ((np.uint64(1) << size) - np.uint64(1))
    if kind[0] == "s":
        top = np.uint64(1) << (size - np.uint64(1))
        bits = (bits ^ top) - top
    return bits


def _permute(
    words: list[str], kind: str, a: np.ndarray, b: np.ndarray, c: np.ndarray
) -> np.ndarray:
    """Bytes of a pair of words, by the digits of ``c``; the top bit of one asks for the sign.

    f4e: four in a row, from the one of that number on.
    """
    pool = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    if "f4e" in words:
        return (pool >> ((c.astype(np.uint64) & np.uint64(3)) * np.uint64(8))).astype(np.uint32)
    result = np.zeros_like(pool)
    for i in range(4):
        digit = (c.astype(np.uint64) >> np.uint64(4 * i)) & np.uint64(15)
        byte = (pool >> ((digit & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        byte = np.where(digit & np.uint64(8), sign, byte)
        result |= byte << np.uint64(8 * i)
    return result


def _shift(values: np.ndarray, by: np.ndarray, left: bool) -> np.ndarray:
    size = values.itemsize * 8
    far = by >= size
    by = np.where(far, size - 1, by).astype(values.dtype)
    if left:
        return np.where(far, 0, values << by)
    return np.where(far & (values.dtype.kind == "u"), 0, values >> by)


def _fma(words: list[str], kind: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    # f32: the product is exact in f64. f64: one rounding more than there should be.
    result = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    if kind == "f32" and "rm" in words:
        near = result.astype(np.float32)
        return np.where(near > result, np.nextafter(near, np.float32(-np.inf)), near)
    return result


def _divide(words: list[str], kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if kind in FLOATS:
        return a / b
    safe = np.where(b == 0, 1, b)
    if kind[0] == "u":
        return a // safe
    return (np.abs(a) // np.abs(safe)) * np.sign(a) * np.sign(safe)


def _power(values: np.ndarray) -> np.ndarray:
    return np.where(values < 2.0**-126, 0, values)


def _add(words: Sequence[str], kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Toward zero (rz) that is the sum, unless it was rounded away from it."""
    total = a + b
    if "rz" not in words or a.dtype != np.float32:
        return total
    wide = a.astype(np.float64) + b.astype(np.float64)
    return np.where(np.abs(total) > np.abs(wide), np.nextafter(total, np.float32(0)), total)


def _funnel(
    words: list[str], kind: str, low: np.ndarray, high: np.ndarray, by: np.ndarray
) -> np.ndarray:
    """The upper of two words, shifted to the left, or the lower one, to the right (shf.wrap)."""
    both = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    by = (by & 31).astype(np.uint64)
    shifted = both << by >> np.uint64(32) if "l" in words else both >> by
    return shifted.astype(np.uint32)


# By op: of its words, its type and its operands.
COMPUTE: dict[str, Callable] = {
    "add": _add,
    "sub": lambda w, k, a, b: _add(w, k, a, -b) if "rz" in w else a - b,
    "mul": _multiply,
    "fma": _fma,
    "div": _divide,
    "rem": lambda w, k, a, b: a - _divide(w, k, a, b) * b,
    "neg": lambda w, k, a: -a if is_float(k) else (0 - a.astype(np.int64)),
    "abs": lambda w, k, a: np.abs(a),
    "min": _extreme(np.minimum, np.fmin),
    "max": _extreme(np.maximum, np.fmax),
    "and": lambda w, k, a, b: a & b,
    "or": lambda w, k, a, b: a | b,
    "xor": lambda w, k, a, b: a ^ b,
    "not": lambda w, k, a: ~a,
    "shl": lambda w, k, a, b: _shift(a, b, left=True),
    "shr": lambda w, k, a, b: _shift(a, b, left=False),
    "ex2": lambda w, k, a: _power(np.exp2(a.astype(np.float64))),
    "lg2": lambda w, k, a: np.log2(a.astype(np.float64)),
    "rcp": lambda w, k, a: 1 / a,
    "sqrt": lambda w, k, a: np.sqrt(a),
    "rsqrt": lambda w, k, a: 1 / np.sqrt(a.astype(np.float64)),
    "tanh": lambda w, k, a: np.tanh(a.astype(np.float64)),
    "prmt": _permute,
    "shf": _funnel,
    "bfe": _field,
    "copysign": lambda w, k, a, b: np.copysign(b, a),
}  # fmt: skip

# By op: the words that its name may have besides types; others would change what it computes.
_APPROXIMATE = frozenset({"approx", "ftz", "rn", "full"})
_COMPARE = frozenset({*_RELATIONS, *_UNORDERED, "num", "nan", "and", "or", "ftz"})
WORDS: dict[str, frozenset[str]] = {
    **dict.fromkeys((*COMPUTE, "selp", "mov"), frozenset()),
    **dict.fromkeys(("ex2", "lg2", "rcp", "sqrt", "rsqrt", "tanh", "div"), _APPROXIMATE),
    **dict.fromkeys(("neg", "abs"), frozenset({"ftz"})),
    **dict.fromkeys(("add", "sub"), frozenset({"rn", "rz", "ftz", "sat"})),
    **dict.fromkeys(("min", "max"), frozenset({"NaN", "ftz", "relu"})),
    "fma": frozenset({"rn", "rm", "ftz", "sat"}),
    "shf": frozenset({"l", "r", "wrap"}), "prmt": frozenset({"f4e"}),
    "mul": frozenset({"rn", "ftz", "sat", "lo", "hi", "wide"}),
    "mad": frozenset({"lo", "hi", "wide", "cc"}), "madc": frozenset({"lo", "hi", "cc"}),
    "setp": _COMPARE,
    "cvt": frozenset({*_ROUNDINGS, "rn", "sat", "satfinite", "ftz", "tf32"}),
}  # fmt: skip
