"""Runs PTX on the host, slowly: the threads of a block side by side in numpy arrays.

Threads with the lowest program counter go first, so that those that took different branches meet
again behind them. Barriers wait for all threads of the block, shuffles for all of the warp. An
access that is not aligned is an error. Blocks run one after another, in any order that the caller
likes; those of a cluster side by side, like one block with as many shared memories, of which each
is reached from the others at addresses that mapa makes.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

_FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_BITS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_BASE = 4096
# Addresses of shared memory: what mapa makes says which block it is.
_FAR = 1 << 20


class _Everything:
    """All of memory from _BASE on, as bytes."""

    def __init__(self) -> None:
        self.__array_interface__ = {
            "shape": ((1 << 47) - 2 * _BASE,),
            "typestr": "|u1",
            "version": 3,
            "data": (_BASE, False),
        }


_MEMORY = np.asarray(_Everything())
_MEMORY_OF = {size: _MEMORY.view(_BITS[8 * size]) for size in (1, 2, 4, 8)}


@functools.cache
def _width(kind: str) -> int:
    if kind in ("e4m3", "e5m2"):
        return 8
    return 1 if kind == "pred" else int(re.sub(r"\D", "", kind.replace("bf", "")))


@functools.cache
def _type(kind: str) -> type:
    """The numpy type of numbers of ``kind``; their bits' for bf16."""
    if kind in _FLOATS:
        return _FLOATS[kind]
    size = _width(kind)
    return np.dtype(f"i{size // 8}").type if kind[0] == "s" else _BITS[size]


def _wide(bits: np.ndarray) -> np.ndarray:
    """f32 of bf16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _brief(values: np.ndarray) -> np.ndarray:
    """bf16 bits of f32, to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    up = ((bits >> 16) & 1) + np.uint32(0x7FFF)
    rounded = ((bits.astype(np.uint64) + up) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


class Instruction:
    """One line: a guard, the words of the op, operands."""

    def __init__(self, text: str):
        match = re.match(r"(?:@(!?)(%p\d+)\s+)?([\w.:]+)\s*(.*)$", text, re.S)
        assert match, text
        self.text = text
        self.negated, self.guard = match[1] == "!", match[2]
        self.op, *self.words = match[3].replace("::", ".").split(".")
        self.kind = self.words[-1] if self.words else ""
        # Whether a thread that is at this is at the next one then, whatever others do.
        self.is_plain = self.op in _COMPUTE or self.op in _PLAIN
        self.is_plain &= not (self.op == "st" and "async" in self.words)
        self.operands = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s{}\[\]]+", match[4])


class Kernel:
    """A kernel of a module's PTX."""

    def __init__(self, ptx: str, name: str, globals: dict[str, int] | None = None):
        self.globals = globals or {}  # addresses by name
        match = re.search(rf"\.entry {re.escape(name)}\((.*?)\)(.*?)\n\{{\n(.*?)\n\}}", ptx, re.S)
        assert match, f"no kernel {name}"
        self.parameters = [
            (field[1], _width(field[0]) // 8)
            for field in re.findall(r"\.param \.(\w+)(?: \.ptr[^%]*?)? (\w+)(?:,|\n|$)", match[1])
        ]
        cluster = re.search(r"\.reqnctapercluster (\d+), 1, 1", match[2])
        self.cluster = int(cluster[1]) if cluster else 1
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        for line in match[3].split(";"):
            text = ""
            for part in line.strip().split("\n"):
                part = re.sub(r"//.*", "", part).strip()
                if not part or part.startswith((".reg", ".loc")):
                    continue
                if label := re.match(r"(\$?\w+):$", part):
                    self.labels[label[1]] = len(self.code)
                    continue
                if part.startswith(".pragma"):
                    continue
                text += part
            if text:
                self.code.append(Instruction(text))
        # Where the plain instructions from this one on end, of which none is jumped to.
        self.ends = list(range(len(self.code)))
        met = set(self.labels.values())
        for at in reversed(range(len(self.code))):
            if self.code[at].is_plain:
                goes_on = at + 1 < len(self.code) and at + 1 not in met
                self.ends[at] = self.ends[at + 1] if goes_on else at + 1
                self.ends[at] = max(self.ends[at], at + 1)

    def launch(
        self, blocks: int, threads: int, shared: int, arguments: int, order: Sequence[int] = ()
    ) -> None:
        """``arguments``: the address of the pointers to the values of the parameters."""
        pointers = (ctypes.c_void_p * len(self.parameters)).from_address(arguments)
        values = {
            name: int.from_bytes(ctypes.string_at(pointer, size), "little")
            for (name, size), pointer in zip(self.parameters, pointers, strict=True)
        }
        assert blocks % self.cluster == 0, "parts of a cluster"
        firsts = [block for block in order or range(blocks) if block % self.cluster == 0]
        for block in firsts:
            _Block(self, block, blocks, threads, shared, values).run()


class _Block:
    def __init__(self, kernel: Kernel, block: int, blocks: int, threads: int, shared: int, values):
        cluster, self.size = kernel.cluster, shared
        self.stride = (shared + 15) // 16 * 16
        self.kernel, self.count, self.values = kernel, threads * cluster, values
        # What is not written is not zero.
        self.shared = np.full(self.stride * cluster, 0xFF, np.uint8)
        self.shared_of = {size: self.shared.view(_BITS[8 * size]) for size in (1, 2, 4, 8)}
        self.rank = np.arange(self.count) // threads
        threads = self.count
        # Bits in words of a size; none of these arrays is ever written to.
        self.registers: dict[str, np.ndarray] = {}
        self.constants: dict[tuple[str, str], np.ndarray] = {}
        self.every = np.ones(threads, bool)
        # Threads, their groups, to, from, bytes, whether there is something to copy or zeros.
        self.copies: list[tuple] = []
        self.groups = np.zeros(threads, np.int64)
        self.pc = np.zeros(threads, np.int64)
        self.waits = np.zeros(threads, bool)
        self.apart = np.zeros(threads, bool)  # at a shuffle that the warp has not reached
        self.done = np.zeros(threads, bool)
        of_block = np.uint64(threads // cluster)
        index = np.arange(threads, dtype=np.uint64)
        zero = np.zeros(threads, np.uint64)
        self.special = {
            "%tid.x": index % of_block, "%laneid": index % 32,
            "%ctaid.x": self.rank.astype(np.uint64) + np.uint64(block),
            "%ntid.x": zero + of_block, "%nctaid.x": zero + np.uint64(blocks),
            "%nctaid.y": zero + np.uint64(1),
        }  # fmt: skip

    def run(self) -> None:
        """All threads to their end."""
        with np.errstate(all="ignore"):
            while not self.done.all():
                ready = ~self.done & ~self.waits & ~self.apart
                if not ready.any():
                    # All that are left have reached the barrier.
                    assert not self.apart.any(), "a shuffle that some of a warp never reach"
                    self.waits[:] = False
                    continue
                at = self.pc[ready].min()
                mask = ready & (self.pc == at)
                if self.kernel.code[at].op in ("shfl", "mma"):
                    mask = self.meet(at, 32, self.waits)
                self.advance(at, mask)

    def advance(self, at: int, mask: np.ndarray) -> None:
        """The threads of ``mask`` by the instruction at ``at``, and the plain ones behind it."""
        code, end = self.kernel.code, max(self.kernel.ends[at], at + 1)
        self.pc[mask] = end
        if (mask | self.done).all():
            mask = self.every
        for instruction in code[at:end]:
            holds = mask
            if instruction.guard:
                holds = self.read(instruction.guard, "pred")
                holds = mask & (~holds if instruction.negated else holds)
                if not holds.any():
                    continue
            self.execute(instruction, holds)

    def meet(self, at: int, group: int, stopped: np.ndarray) -> np.ndarray:
        """The threads at ``at`` whose whole warp, or other group, has come; the others wait."""
        here = (self.pc == at) & ~self.done & ~stopped
        complete = (here | self.done).reshape(-1, group).all(1).repeat(group) & here
        self.apart = (self.apart & ~complete) | (here & ~complete)
        return complete

    # Operands ----------------------------------------------------------------
    def read(self, operand: str, kind: str) -> np.ndarray:
        """The operand in all threads, as the numpy type of ``kind``; not to be written to."""
        bits = self.registers.get(operand)
        if bits is not None:
            return self.view(bits, kind)
        known = self.constants.get((operand, kind))
        if known is None:
            known = self.constants[operand, kind] = self.view(self.constant(operand), kind)
        return known

    def view(self, bits: np.ndarray, kind: str) -> np.ndarray:
        if kind == "pred":
            return bits != 0 if bits.dtype != bool else bits
        own = _BITS[_width(kind)]
        bits = bits if bits.dtype == own else bits.astype(own)
        return _wide(bits) if kind == "bf16" else bits.view(_type(kind))

    def constant(self, operand: str) -> np.ndarray:
        """What no instruction has written, in all threads."""
        if operand in self.special:
            return self.special[operand]
        value = 0  # the start of shared memory; or a phi that does not matter
        if operand.startswith(("0f", "0d")):
            value = int(operand[2:], 16)
        elif re.match(r"-?\d|0x", operand):
            value = int(operand.rstrip("U"), 0) & (2**64 - 1)
        elif operand in self.kernel.globals:
            value = self.kernel.globals[operand]
        return np.full(self.count, value, np.uint64)

    def write(self, register: str, values: np.ndarray, mask: np.ndarray, kind: str) -> None:
        if register == "_":
            return
        if kind == "bf16":
            bits = _brief(values)
        elif kind == "pred":
            bits = values.astype(bool, copy=False)
        else:
            own = _BITS[_width(kind)]
            if kind in _FLOATS:
                bits = np.ascontiguousarray(values, _FLOATS[kind]).view(own)
            else:
                bits = values.astype(own, copy=False)
        known = None if mask is self.every else self.registers.get(register)
        self.registers[register] = bits if known is None else np.where(mask, bits, known)

    def address(self, operand: str) -> np.ndarray:
        base, _, offset = operand.strip("[]").partition("+")
        return self.read(base.strip(), "s64") + np.int64(int(offset or 0))

    # Memory ------------------------------------------------------------------
    def access(self, i: Instruction, mask: np.ndarray) -> None:
        kind = i.kind
        size = max(1, _width(kind) // 8)
        is_load = i.op == "ld"
        names, place = (i.operands[0], i.operands[1]) if is_load else (i.operands[1], i.operands[0])
        if "param" in i.words:
            name, _, offset = place.strip("[]").partition("+")
            assert not offset
            self.write(names, np.full(self.count, self.values[name], np.uint64), mask, "b64")
            return
        registers = [name.strip() for name in names.strip("{}").split(",")]
        is_shared = "shared" in i.words
        at = self.address(place)[mask]
        if is_shared:
            at = self.place(at, self.rank[mask])
        whole = size * len(registers)
        assert (at % whole == 0).all(), f"not aligned: {i.text}"
        if is_shared:
            inside = (at >= 0) & (at + whole <= len(self.shared))
            assert inside.all(), f"beyond shared memory: {i.text}"
        else:
            at = at - _BASE
        words = (self.shared_of if is_shared else _MEMORY_OF)[size]
        at //= size
        for j, register in enumerate(registers):
            if is_load:
                part = words[at + j]
                wide = f"b{8 * size}"
                if kind[0] == "s" and size < 8:  # registers are wider; they get its sign
                    part, wide = part.view(_type(kind)).astype(np.int64).view(np.uint64), "b64"
                if mask is not self.every:
                    full = np.zeros(self.count, part.dtype)
                    full[mask] = part
                    part = full
                self.write(register, part, mask, wide)
            else:
                words[at + j] = self.read(register, f"b{size * 8}")[mask]

    def place(self, at: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Where addresses of shared memory are, for threads of the blocks ``own``."""
        block, near = np.where(at >= _FAR, at // _FAR - 1, own), at % _FAR
        assert (near < self.size).all(), "beyond the shared memory of a block"
        return block * self.stride + near

    def copy(self, i: Instruction, mask: np.ndarray) -> None:
        """cp.async: as late as a thread's wait for its group."""
        if "wait_group" in i.words:
            pending, left = int(i.operands[0]), []
            for threads, group, to, start, size, there in self.copies:
                now = mask[threads] & (group < self.groups[threads] - pending)
                pieces = np.arange(size)
                self.shared[to[now][:, None] + pieces] = 0
                full = now & there
                self.shared[to[full][:, None] + pieces] = _MEMORY[start[full][:, None] + pieces]
                rest = [part[~now] for part in (threads, group, to, start)]
                left.append((*rest, size, there[~now]))
            self.copies = [copy for copy in left if len(copy[0])]
        elif "commit_group" in i.words:
            self.groups[mask] += 1
        else:
            size = int(i.operands[2])
            to, start = (self.address(place)[mask] for place in i.operands[:2])
            given = self.read(i.operands[-1], "u32")[mask]
            assert np.isin(given, (0, size)).all(), i.text
            to = self.place(to, self.rank[mask])
            assert (to % size == 0).all(), f"not aligned: {i.text}"
            assert (start % size == 0).all(), f"not aligned: {i.text}"
            assert ((to >= 0) & (to + size <= len(self.shared))).all(), i.text
            threads = np.flatnonzero(mask)
            group = self.groups[threads].copy()
            self.copies.append((threads, group, to, start - _BASE, size, given > 0))

    # Instructions ------------------------------------------------------------
    def execute(self, i: Instruction, mask: np.ndarray) -> None:
        op, words, kind = i.op, i.words, i.kind
        if op in ("ld", "st"):
            self.access(i, mask)
        elif op == "createpolicy":
            self.write(i.operands[0], np.zeros(self.count, np.uint64), mask, "b64")
        elif op == "cp" and "prefetch" in words:
            start, size = self.address(i.operands[0])[mask], self.read(i.operands[1], "u32")[mask]
            assert (start % 16 == 0).all() and (size % 16 == 0).all(), f"not aligned: {i.text}"
        elif op == "cp":
            self.copy(i, mask)
        elif op == "bra":
            self.pc[mask] = self.kernel.labels[i.operands[0]]
        elif op in ("ret", "exit"):
            self.done |= mask
        elif op in ("bar", "barrier"):
            # A warp's own needs nothing: what it has stored is there.
            if "warp" not in words and "arrive" not in words:
                self.waits |= mask
        elif op == "mapa":
            near = self.read(i.operands[1], "u32").astype(np.int64) % _FAR
            block = self.read(i.operands[2], "u32").astype(np.int64)
            assert (block[mask] < self.kernel.cluster).all(), i.text
            self.write(i.operands[0], near + (block + 1) * _FAR, mask, "b32")
        elif op in ("fence", "membar", "griddepcontrol", "prefetch", "nanosleep"):
            pass
        elif op == "atom":
            assert words[-2] == "inc", i.text
            old = np.zeros(self.count, np.uint32)
            limits = self.read(i.operands[2], "b32")
            for t, place in zip(np.flatnonzero(mask), self.address(i.operands[1])[mask],
                                strict=True):  # fmt: skip
                word = _MEMORY[place - _BASE : place - _BASE + 4].view(np.uint32)
                old[t] = word[0]
                word[0] = 0 if word[0] >= limits[t] else word[0] + 1
            self.write(i.operands[0], old, mask, "b32")
        elif op == "mma":
            self.multiply(i, mask)
        elif op == "shfl":
            target = i.operands[0].split("|")[0]
            values = self.read(i.operands[1], "b32")
            lanes = np.arange(self.count)
            other = self.read(i.operands[2], "s32")
            source = lanes ^ other if "bfly" in words else (lanes & ~31) + (other & 31)
            self.write(target, values[source], mask, "b32")
        elif op == "setp":
            self.compare(i, mask)
        elif op == "selp":
            yes, no = (self.read(name, kind) for name in i.operands[1:3])
            self.write(
                i.operands[0], np.where(self.read(i.operands[3], "pred"), yes, no), mask, kind
            )
        elif op == "cvt":
            self.convert(i, mask)
        elif op in ("mov", "cvta"):
            self.move(i, mask, kind)
        else:
            self.compute(i, mask, kind)

    def multiply(self, i: Instruction, mask: np.ndarray) -> None:
        """mma.sync, by the fragments of the PTX ISA; f32 sums are rounded once an instruction."""
        assert mask.reshape(-1, 32).all(1).sum() * 32 == mask.sum(), f"not a whole warp: {i.text}"
        shape = next(word for word in i.words if re.match(r"m\d+n\d+k\d+$", word))
        rows, columns, sums = (int(n) for n in re.findall(r"\d+", shape))
        to, left, right, added = i.words[-4:]
        names = [[name.strip() for name in group.strip("{}").split(",")] for group in i.operands]
        warps = self.count // 32
        a = np.zeros((warps, rows, sums), np.float64)
        b = np.zeros((warps, sums, columns), np.float64)
        c = np.zeros((warps, rows, columns), np.float64)
        lane = np.arange(self.count) % 32
        warp, group, member = np.arange(self.count) // 32, lane // 4, lane % 4
        # Registers go along rows first; each has neighbouring sums.
        each = max(1, 32 // _width(left))
        for j, name in enumerate(names[1]):
            high, along = j % (rows // 8), j // (rows // 8)
            for e, values in enumerate(self.elements(name, left)):
                a[warp, group + 8 * high, each * (member + 4 * along) + e] = values
        for j, name in enumerate(names[2]):
            for e, values in enumerate(self.elements(name, right)):
                b[warp, each * (member + 4 * j) + e, group] = values
        for j, name in enumerate(names[3]):
            c[warp, group + 8 * (j // 2), 2 * member + j % 2] = self.read(name, added)
        made = c + a @ b
        for j, name in enumerate(names[0]):
            values = made[warp, group + 8 * (j // 2), 2 * member + j % 2]
            if to == "s32":
                values = values.astype(np.int64)
            self.write(name, values, mask, to)

    def elements(self, name: str, kind: str) -> list[np.ndarray]:
        """The numbers that a register holds, the low one first."""
        if kind == "f64":
            return [self.read(name, kind)]
        bits = _width(kind)
        word = self.read(name, "b32")
        result = []
        for j in range(32 // bits):
            part = (word >> np.uint32(j * bits)).astype(_BITS[bits])
            if kind == "bf16":
                result.append(_wide(part))
            elif kind == "s8":
                result.append(part.view(np.int8))
            elif kind in ("e4m3", "e5m2"):
                small = ml_dtypes.float8_e4m3fn if kind == "e4m3" else ml_dtypes.float8_e5m2
                result.append(part.view(small))
            else:
                result.append(part.view(_FLOATS[kind]) if kind in _FLOATS else part)
        return [values.astype(np.float64) for values in result]

    def move(self, i: Instruction, mask: np.ndarray, kind: str) -> None:
        target, source = i.operands[:2]
        if target.startswith("{"):  # apart
            parts = [name.strip() for name in target.strip("{}").split(",")]
            size = _width(kind) // len(parts)
            bits = self.read(source, f"b{_width(kind)}").astype(np.uint64)
            for j, part in enumerate(parts):
                self.write(part, bits >> np.uint64(j * size), mask, f"b{size}")
        elif source.startswith("{"):  # together
            parts = [name.strip() for name in source.strip("{}").split(",")]
            size = _width(kind) // len(parts)
            bits = np.zeros(self.count, np.uint64)
            for j, part in enumerate(parts):
                bits |= self.read(part, f"b{size}").astype(np.uint64) << np.uint64(j * size)
            self.write(target, bits, mask, kind)
        else:
            self.write(target, self.read(source, kind), mask, kind)

    def compare(self, i: Instruction, mask: np.ndarray) -> None:
        kind, relation = i.words[-1], i.words[0]
        a, b = (self.read(name, kind) for name in i.operands[1:3])
        unordered = np.zeros(self.count, bool)
        if kind in _FLOATS or kind == "bf16":
            unordered = np.isnan(a) | np.isnan(b)
        name = (
            relation.rstrip("u")
            if relation in ("equ", "neu", "ltu", "leu", "gtu", "geu")
            else relation
        )
        table: dict[str, Callable] = {
            "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
            "gt": np.greater, "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal,
            "hi": np.greater, "hs": np.greater_equal,
        }  # fmt: skip
        if relation in ("num", "nan"):
            result = ~unordered if relation == "num" else unordered
        else:
            result = table[name](a, b)
            result = result | unordered if name != relation else result & ~unordered
        if len(i.words) > 2 and i.words[1] in ("and", "or"):
            other = self.read(i.operands[3].lstrip("!"), "pred")
            other = ~other if i.operands[3].startswith("!") else other
            result = result & other if i.words[1] == "and" else result | other
        self.write(i.operands[0], result, mask, "pred")

    def convert(self, i: Instruction, mask: np.ndarray) -> None:
        if i.words[-2] in ("bf16x2", "f16x2"):
            high, low = (self.read(name, "f32") for name in i.operands[1:3])
            half = (_brief if i.words[-2] == "bf16x2" else
                    lambda v: v.astype(np.float16).view(np.uint16))  # fmt: skip
            bits = (half(high).astype(np.uint32) << 16) | half(low).astype(np.uint32)
            self.write(i.operands[0], bits, mask, "b32")
            return
        to, source = i.words[-2], i.words[-1]
        values = self.read(i.operands[1], source)
        is_float = source in _FLOATS or source == "bf16"
        to_float = to in _FLOATS or to == "bf16"
        if is_float and not to_float:
            rounding = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
            values = rounding[next(word for word in i.words if word in rounding)](values)
            limits = np.iinfo(f"{'i' if to[0] == 's' else 'u'}{_width(to) // 8}")
            values = np.where(np.isnan(values), 0, np.clip(values.astype(np.float64), limits.min,
                                                           limits.max))  # fmt: skip
            values = values.astype(np.int64)
        elif is_float:
            rounding = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
            for word in i.words:
                values = rounding[word](values) if word in rounding else values
            if "sat" in i.words:
                values = np.where(np.isnan(values), 0, np.clip(values, 0, 1))
        if to == "s8":  # wider registers get its sign
            values, to = values.astype(np.int8).astype(np.int64), "s64"
        self.write(i.operands[0], values.astype(np.float32) if to == "bf16" else
                   values.astype(_FLOATS[to]) if to_float else values, mask, to)  # fmt: skip

    def compute(self, i: Instruction, mask: np.ndarray, kind: str) -> None:
        op, words = i.op, i.words
        if op == "mad" or (op == "mul" and "wide" in words):
            wide = {"u32": "u64", "s32": "s64", "u16": "u32", "s16": "s32"}
            out = wide.get(kind, kind) if "wide" in words else kind
            sources = [self.read(name, kind).astype(_BITS[_width(out)].__name__ if out[0] != "s"
                                                    else f"i{_width(out) // 8}")
                       for name in i.operands[1:3]]  # fmt: skip
            result = sources[0] * sources[1]
            if op == "mad":
                result = result + self.read(i.operands[3], out)
            self.write(i.operands[0], result, mask, out)
            return
        if op in ("and", "or", "xor", "not") and kind == "pred":
            sources = [self.read(name, "pred") for name in i.operands[1:]]
        elif op in ("shl", "shr"):
            sources = [self.read(i.operands[1], kind), self.read(i.operands[2], "u32")]
        else:
            sources = [self.read(name, kind) for name in i.operands[1:]]
        self.write(i.operands[0], _COMPUTE[op](words, kind, *sources), mask, kind)


def _extreme(pick: Callable, quiet: Callable) -> Callable:
    return lambda words, kind, *v: (
        (pick if "NaN" in words else quiet)(*v) if kind in _FLOATS else pick(*v)
    )


def _high(words: list[str], kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if "hi" not in words:
        return a * b
    size = _width(kind)
    wide = [int(x) * int(y) >> size for x, y in zip(a, b, strict=True)]
    return np.array([w & (2**size - 1) for w in wide], _BITS[size])


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
    """Bytes of a pair of words, by the digits of ``c``; the top bit of one asks for the sign."""
    pool = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
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
    if kind in _FLOATS:
        return a / b
    safe = np.where(b == 0, 1, b)
    if kind[0] == "u":
        return a // safe
    return (np.abs(a) // np.abs(safe)) * np.sign(a) * np.sign(safe)


def _power(values: np.ndarray) -> np.ndarray:
    return np.where(values < 2.0**-126, 0, values)


# What else goes on with the next instruction.
_PLAIN = {
    "createpolicy",
    "cvt",
    "cvta",
    "fence",
    "ld",
    "mad",
    "membar",
    "mov",
    "selp",
    "setp",
    "st",
}
_COMPUTE: dict[str, Callable] = {
    "add": lambda w, k, a, b: a + b,
    "sub": lambda w, k, a, b: a - b,
    "mul": _high,
    "fma": _fma,
    "div": _divide,
    "rem": lambda w, k, a, b: a - _divide(w, k, a, b) * b,
    "neg": lambda w, k, a: -a if k in _FLOATS else (0 - a.astype(np.int64)),
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
    "bfe": _field,
    "copysign": lambda w, k, a, b: np.copysign(b, a),
}  # fmt: skip
