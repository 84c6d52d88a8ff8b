"""Registers of threads: arrays with an element a thread, which know who has written them.

A compiler says that bits do not matter by naming a register that no instruction of the kernel writes.
Such bits may be moved around, but nothing may be computed of them or stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from .arithmetic import FLOATS, narrow, type_of, widen
from .memory import BITS
from .program import Instruction, width

_MOVES = ("mov", "prmt", "selp", "and", "or", "xor", "not", "shl", "shr", "shf", "bfe", "cvt")


def is_float_kind(word: str) -> bool:
    return word in FLOATS or word in ("bf16", "bf16x2", "f16x2")


class Registers:
    """What threads read and write. None of the arrays is ever written to; a read of what a thread that
    takes part has not written is a fault.

    symbols: what names other than registers stand for."""

    def __init__(self, count: int, symbols: dict[str, np.ndarray]):
        self.count, self.symbols = count, symbols
        self.every = np.ones(count, bool)
        self.values: dict[str, np.ndarray] = {}
        self.missing: dict[str, np.ndarray] = {}  # who has not, where not all have
        self.undefined: dict[str, np.ndarray] = {}  # which bits do not matter, where there are any
        self.constants: dict[tuple[str, str], np.ndarray] = {}
        # The instruction that is being executed, and by whom.
        self.instruction: Instruction | None = None
        self.active = self.every

    def read(self, operand: str, kind: str, mask: np.ndarray | None = None) -> np.ndarray:
        """The operand in all threads, as the numpy type of ``kind``; ``mask``: who needs it, if not all
        that are active."""
        bits = self.values.get(operand)
        if bits is not None:
            if operand in self.missing:
                self._check(operand, self.active if mask is None else mask)
            return self._view(bits, kind)
        known = self.constants.get((operand, kind))
        if known is None:
            known = self.constants[operand, kind] = self._view(self._constant(operand), kind)
        return known

    def write(self, register: str, values: np.ndarray, mask: np.ndarray, kind: str) -> None:
        """The values of the threads of ``mask``."""
        if register == "_":
            return
        if kind == "bf16":
            bits = narrow(values)
        elif kind == "pred":
            bits = values.astype(bool, copy=False)
        else:
            own = BITS[width(kind)]
            if kind in FLOATS:
                bits = np.ascontiguousarray(values, FLOATS[kind]).view(own)
            else:
                bits = values.astype(own, copy=False)
        known = None if mask is self.every else self.values.get(register)
        self.values[register] = bits if known is None else np.where(mask, bits, known)
        if register in self.undefined:
            self.define(register, np.zeros(self.count, np.uint64), mask)
        if mask is self.every:
            self.missing.pop(register, None)
        elif known is None:
            self.missing[register] = ~mask
        elif register in self.missing:
            left = self.missing[register] & ~mask
            if left.any():
                self.missing[register] = left
            else:
                del self.missing[register]

    def define(self, register: str, undefined: np.ndarray, mask: np.ndarray) -> None:
        """Which bits of what the threads of ``mask`` have written do not matter."""
        before = self.undefined.get(register, np.zeros(self.count, np.uint64))
        left = np.where(mask, undefined, before)
        if left.any():
            self.undefined[register] = left
        else:
            self.undefined.pop(register, None)

    def check_defined(self, register: str, mask: np.ndarray) -> None:
        if register in self.undefined and self.undefined[register][mask].any():
            assert self.instruction
            raise self.instruction.fault(f"uses bits of {register} that nothing wrote")

    def execute_undefined(self, handler: Callable, i: Instruction, mask: np.ndarray) -> None:
        """An instruction that reads bits that do not matter. What moves bits is executed twice, with all
        of them clear and all of them set: those of the result that differ do not matter, either."""
        sources = {
            name: bits for name, bits in self.undefined.items()
            if name in i.sources and bits[mask].any()
        }  # fmt: skip
        is_moved = i.op in _MOVES and not set(i.operands[3:]) & sources.keys()
        if sources and (not is_moved or any(is_float_kind(word) for word in i.words)):
            raise i.fault(f"uses bits of {', '.join(sorted(sources))} that nothing wrote")
        known = {name: self.values[name] for name in sources}
        made = []
        targets = [name for name in i.names(0) if name != "_"]
        for is_set in (False, True):
            for name, bits in sources.items():
                wide = known[name].astype(np.uint64)
                wide = wide | bits if is_set else wide & ~bits
                self.values[name] = wide.astype(known[name].dtype)
            handler(self, i, mask)
            made.append([self.values[name].astype(np.uint64) for name in targets])
        for name, bits in known.items():
            if name not in targets:
                self.values[name] = bits
        for name, clear, full in zip(targets, *made, strict=True):
            self.define(name, clear ^ full, mask)

    def _check(self, operand: str, mask: np.ndarray) -> None:
        threads = np.flatnonzero(self.missing[operand] & mask)
        if len(threads):
            assert self.instruction
            raise self.instruction.fault(
                f"thread {threads[0]} reads {operand}, which it never wrote"
            )

    def _view(self, bits: np.ndarray, kind: str) -> np.ndarray:
        if kind == "pred":
            return bits != 0 if bits.dtype != bool else bits
        own = BITS[width(kind)]
        bits = bits if bits.dtype == own else bits.astype(own)
        return widen(bits) if kind == "bf16" else bits.view(type_of(kind))

    def _constant(self, operand: str) -> np.ndarray:
        """What no instruction has written, in all threads."""
        if operand in self.symbols:
            return self.symbols[operand]
        if operand.startswith(("0f", "0d")):
            value = int(operand[2:], 16)
        elif re.match(r"-?\d|0x", operand):
            value = int(operand.rstrip("U"), 0) & (2**64 - 1)
        else:
            assert self.instruction
            raise self.instruction.fault(f"reads {operand}, which nothing wrote")
        return np.full(self.count, value, np.uint64)
