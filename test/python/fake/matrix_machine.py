"""The machine of ptx_machine.py for kernels on matrix units: of sm_90a (barriers in shared memory, copies
by tensor maps, products of warpgroups) and of others (operands by ldmatrix).

A copy is done when it is started, and so is a product; a barrier whose phase is not over holds its
threads. Threads that all wait are an error that says where they are.
"""

from __future__ import annotations

import ctypes
import functools
import re

import numpy as np
from ptx_machine import _BASE, _MEMORY_OF, Instruction, Kernel, _Block, _brief, _wide

_LOCAL = {"p": "%p900001", "q": "%p900002", "da": "%rd900001", "db": "%rd900002",
          "t": "%r900001"}  # fmt: skip


def _plain(match: re.Match) -> str:
    """Inline assembly without scopes: a wait is one instruction, registers have names of their own."""
    text = match[1]
    if wait := re.search(r"try_wait\.parity\S* p, (\[\S+\]), (\S+);", text):
        return f"\n\tmbarrier.hold {wait[1]}, {wait[2]};\n"
    text = re.sub(r"^\s*[{}]\s*$", "", text, flags=re.M)
    text = re.sub(r"\.reg [^;]*;", "", text)
    for name, register in _LOCAL.items():
        text = re.sub(rf"(?<![\w.%]){name}(?![\w.])", register, text)
    return text


class MatrixKernel(Kernel):
    """A kernel of a module's PTX.

    most_blocks: where blocks take tiles from a queue, how many there are at most.
    """

    most_blocks = 1 << 30

    def __init__(self, ptx: str, name: str, globals: dict[str, int] | None = None):
        ptx = re.sub(r"// begin inline asm\n(.*?)// end inline asm", _plain, ptx, flags=re.S)
        head = re.search(rf"\.entry {re.escape(name)}\((.*?)\)", ptx, re.S)
        assert head, f"no kernel {name}"
        self.arrays = {
            field[1]: int(field[2])
            for field in re.findall(r"\.param \.align (\d+) \.b8 (\w+)\[(\d+)\]", head[1])
        }
        ptx = re.sub(r"\.param \.align \d+ \.b8 (\w+)\[\d+\]", r".param .u64 \1", ptx)
        super().__init__(ptx, name, globals)

    def launch(self, blocks, threads, shared, arguments, order=()):
        pointers = (ctypes.c_void_p * len(self.parameters)).from_address(arguments)
        values = {}
        for (name, size), pointer in zip(self.parameters, pointers, strict=True):
            data = ctypes.string_at(pointer, self.arrays.get(name, size))
            values[name] = data if name in self.arrays else int.from_bytes(data, "little")
        blocks = min(blocks, self.most_blocks)
        assert blocks % self.cluster == 0, "parts of a cluster"
        firsts = [b for b in order or range(blocks) if b < blocks and b % self.cluster == 0]
        for block in firsts:
            _MatrixBlock(self, block, blocks, threads, shared, values).run()


@functools.cache
def _indices(box: tuple[int, ...]) -> np.ndarray:
    """The places of a box, the last extent outermost."""
    return np.stack(np.meshgrid(*(np.arange(b) for b in box[::-1]), indexing="ij"), -1)[
        ..., ::-1
    ].reshape(-1, len(box))


@functools.cache
def _offsets(free: int, is_sum_contiguous: bool, leading: int, stride: int) -> np.ndarray:
    """Bytes of an operand [free, 16] from its start, before they are swizzled."""
    n, k = np.arange(free)[:, None], np.arange(16)[None]
    if is_sum_contiguous:
        return n // 8 * stride + n % 8 * 128 + k * 2
    return n // 64 * leading + k // 8 * stride + k % 8 * 128 + n % 64 * 2


class _Barrier:
    def __init__(self, count: int):
        self.count, self.left, self.bytes, self.phase = count, count, 0, 0

    def settle(self) -> bool:
        if self.left or self.bytes:
            return False
        self.left, self.phase = self.count, self.phase + 1
        return True


class _MatrixBlock(_Block):
    """The blocks of a cluster. Threads are ready, or wait: for a phase of a barrier in shared memory
    (``held``), for others of their warp or warpgroup (``apart``), at a numbered barrier
    (``named``), for all threads of the cluster that have not ended (``together``)."""

    def __init__(self, kernel, block, blocks, threads, shared, values):
        super().__init__(kernel, block, blocks, threads, (shared + 2047) // 1024 * 1024, values)
        self.barriers: dict[tuple[int, int], _Barrier] = {}
        self.held = np.zeros(self.count, bool)
        # Arrivals of this phase of the cluster's barrier, and the phase of each thread's last one.
        self.arrived = np.zeros(self.count, bool)
        self.phases, self.phase_of = 0, np.zeros(self.count, np.int64)
        self.together = np.zeros(self.count, bool)
        self.named: dict[tuple[int, str], tuple[np.ndarray, int]] = {}
        self.maps = {}
        for name, value in values.items():
            if isinstance(value, bytes):
                buffer = ctypes.create_string_buffer(value, 128)
                self.maps[name] = buffer

    def run(self) -> None:
        with np.errstate(all="ignore"):
            self.go()

    def go(self) -> None:
        while not self.done.all():
            if self.arrived.any() and (self.arrived | self.done).all():
                self.phases += 1
                self.arrived[:] = False
                self.waits &= ~self.together
                self.together[:] = False
            ready = ~self.done & ~self.waits & ~self.apart & ~self.held
            if not ready.any():
                at = {self.kernel.code[p].text for p in self.pc[~self.done]}
                raise AssertionError(f"all threads wait: {sorted(at)}")
            at = self.pc[ready].min()
            mask = ready & (self.pc == at)
            instruction = self.kernel.code[at]
            warps = ("shfl", "vote", "mma", "ldmatrix", "stmatrix")
            group = 32 if instruction.op in warps else 0
            if instruction.op == "wgmma" and "mma_async" in instruction.words:
                group = 128
            if group:
                mask = self.meet(at, group, self.held)
            self.advance(at, mask)

    def constant(self, operand: str) -> np.ndarray:
        if operand in self.maps:
            return np.full(self.count, ctypes.addressof(self.maps[operand]), np.uint64)
        return super().constant(operand)

    def execute(self, i: Instruction, mask: np.ndarray) -> None:
        op, words = i.op, i.words
        if op == "mbarrier":
            self.barrier(i, mask)
        elif op == "st" and "async" in words:
            self.send(i, mask)
        elif op == "cp" and "bulk" in words:
            self.bulk(i, mask)
        elif op == "wgmma":
            if "mma_async" in words:
                for group in np.flatnonzero(mask.reshape(-1, 128).any(1)):
                    self.product(i, slice(128 * group, 128 * group + 128))
        elif op in ("bar", "barrier"):
            self.numbered(i, mask)
        elif op in ("setmaxnreg", "nanosleep", "prefetch"):
            pass
        elif op == "vote":
            given = self.read(i.operands[1], "pred") & mask
            every = {
                "any": given.reshape(-1, 32).any(1),
                "all": (given | ~mask).reshape(-1, 32).all(1),
            }
            self.write(i.operands[0], every[words[1]].repeat(32), mask, "pred")
        elif op in ("ldmatrix", "stmatrix"):
            self.fragment(i, mask)
        else:
            super().execute(i, mask)

    # Barriers ----------------------------------------------------------------
    def numbered(self, i: Instruction, mask: np.ndarray) -> None:
        if "warp" in i.words:
            return
        if "cluster" in i.words:
            if "wait" in i.words:
                late = mask & (self.phase_of == self.phases)
                self.together |= late
                self.waits |= late
            else:
                assert not (self.arrived & mask).any(), f"an arrival too many: {i.text}"
                self.arrived |= mask
                self.phase_of[mask] = self.phases
            return
        given = np.full(self.count, int(i.operands[0]) if i.operands[0].isdigit() else 0)
        if not i.operands[0].isdigit():
            given = self.read(i.operands[0], "u32")
        for rank, number in np.unique(np.stack((self.rank, given))[:, mask], axis=1).T:
            own = mask & (self.rank == rank) & (given == number)
            key = (int(rank), int(number))
            need = int(i.operands[1]) if len(i.operands) > 1 else int((self.rank == rank).sum())
            waiting, arrived = self.named.get(key, (np.zeros(self.count, bool), 0))
            arrived += int(own.sum())
            if "arrive" not in i.words:
                waiting = waiting | own
                self.waits |= own
            assert arrived <= need, f"more threads than {need} at {i.text}"
            if arrived == need:
                self.waits &= ~waiting
                waiting, arrived = np.zeros(self.count, bool), 0
            self.named[key] = (waiting, arrived)

    def barrier_of(self, t: int, place: int) -> _Barrier:
        return self.barriers[int(self.rank[t]), int(place)]

    def barrier(self, i: Instruction, mask: np.ndarray) -> None:
        places = self.address(next(o for o in i.operands if o.startswith("[")))
        if "init" in i.words:
            for t in np.flatnonzero(mask):
                count = int(self.read(i.operands[1], "u32")[t])
                self.barriers[int(self.rank[t]), int(places[t])] = _Barrier(count)
        elif "hold" in i.words:
            parity = self.read(i.operands[1], "u32")
            for t in np.flatnonzero(mask):
                # A phase of the other parity is the one before.
                if self.barrier_of(t, places[t]).phase % 2 == parity[t]:
                    self.held[t] = True
                    self.pc[t] -= 1
        else:
            for t in np.flatnonzero(mask):
                bar = self.barrier_of(t, places[t])
                if "expect_tx" in i.words:
                    bar.bytes += int(self.read(i.operands[-1], "u32")[t])
                assert bar.left > 0, f"an arrival too many: {i.text}"
                bar.left -= 1
                self.settle(bar)

    def send(self, i: Instruction, mask: np.ndarray) -> None:
        """st.async: there as soon as it is sent, to blocks that have not ended."""
        self.access(i, mask)
        places = self.place(self.address(i.operands[2])[mask], self.rank[mask])
        for place in places:
            block, near = divmod(int(place), self.size)
            assert not self.done[self.rank == block].all(), f"to a block that has ended: {i.text}"
            bar = self.barriers[block, near]
            bar.bytes -= 4 * len(i.operands[1].split(","))
            self.settle(bar)

    def settle(self, bar: _Barrier) -> None:
        if bar.settle():
            self.held[:] = False

    # Copies ------------------------------------------------------------------
    def bulk(self, i: Instruction, mask: np.ndarray) -> None:
        if {"commit_group", "wait_group", "prefetch"} & set(i.words):
            return
        threads = np.flatnonzero(mask)
        to_shared = "mbarrier" in i.words
        inner = re.findall(r"\[([^\[\]]*?)\s*(?:,\s*\{([^}]*)\})?\]", i.text)
        (first, _), (second, _) = inner[0], inner[1]
        spots = next(spot for _, spot in inner if spot)
        place, table = (first, second) if to_shared else (second, first)
        for t in threads:
            at = int(self.address(f"[{place}]")[t])
            start = int(self.read(table.strip(), "u64")[t])
            raw = ctypes.string_at(start, 128)
            base, rank = (int(v) for v in np.frombuffer(raw[:16], np.uint64))
            sizes = np.frombuffer(raw[16:56], np.uint64).astype(np.int64)[:rank]
            strides = np.frombuffer(raw[56:88], np.uint64).astype(np.int64)[: rank - 1]
            box = np.frombuffer(raw[88:108], np.uint32).astype(np.int64)[:rank]
            corner = [int(self.read(s.strip(), "s32")[t]) for s in spots.split(",")]
            assert box[0] == 64 and at % 128 == 0, i.text
            index = _indices(tuple(box.tolist())) + np.array(corner)
            inside = ((index >= 0) & (index < sizes)).all(1)
            offset = base - _BASE + index[:, 0] * 2 + (index[:, 1:] * strides).sum(1)
            spot = at + np.arange(len(index)) * 2
            spot ^= ((spot >> 7) & 7) << 4
            assert spot.max() + 2 <= self.size, f"beyond shared memory: {i.text}"
            spot += self.rank[t] * self.size
            words, memory = self.shared_of[2], _MEMORY_OF[2]
            spot, offset = spot // 2, offset // 2
            if to_shared:
                words[spot] = 0
                words[spot[inside]] = memory[offset[inside]]
            else:
                memory[offset[inside]] = words[spot[inside]]
            if to_shared:
                bar = self.barrier_of(t, self.address(f"[{inner[2][0]}]")[t])
                bar.bytes -= 2 * len(index)
                self.settle(bar)

    # Matrices ----------------------------------------------------------------
    def fragment(self, i: Instruction, mask: np.ndarray) -> None:
        is_load = i.op == "ldmatrix"
        assert "x4" in i.words, i.text
        is_transposed = "trans" in i.words
        assert is_load or not is_transposed, i.text
        names, place = (i.operands[0], i.operands[1]) if is_load else (i.operands[1], i.operands[0])
        registers = [name.strip() for name in names.strip("{}").split(",")]
        addresses = (self.address(place) + self.rank * self.size).reshape(-1, 4, 8)
        for warp in np.flatnonzero(mask.reshape(-1, 32).any(1)):
            lanes = slice(32 * warp, 32 * warp + 32)
            for j, register in enumerate(registers):
                spots = addresses[warp, j][:, None] + np.arange(16)
                assert (addresses[warp, j] % 16 == 0).all(), i.text
                own = np.zeros(self.count, bool)
                own[lanes] = True
                if is_load:
                    rows = self.shared[spots].copy().view(np.uint16)  # 8 rows of 8 elements
                    rows = np.ascontiguousarray(rows.T if is_transposed else rows).view(np.uint32)
                    full = np.zeros(self.count, np.uint32)
                    full[lanes] = rows.reshape(-1)
                    self.write(register, full, own, "b32")
                else:
                    words = self.read(register, "b32")[lanes].reshape(8, 4)
                    self.shared[spots] = np.ascontiguousarray(words).view(np.uint8)

    def matrix(
        self, descriptor: int, free: int, is_sum_contiguous: bool, thread: int
    ) -> np.ndarray:
        """[free, 16] bits of 16-bit floats in the block of that thread."""
        start = (descriptor & 0x3FFF) << 4
        leading, stride = ((descriptor >> s & 0x3FFF) << 4 for s in (16, 32))
        assert descriptor >> 62 == 1
        at = start + _offsets(free, is_sum_contiguous, leading, stride)
        at = (at ^ (((at >> 7) & 7) << 4)) + self.rank[thread] * self.size
        return self.shared_of[2][at // 2]

    def product(self, i: Instruction, group: slice) -> None:
        columns = int(next(re.match(r"m64n(\d+)k16", w)[1] for w in i.words if w.startswith("m64")))
        is_brief = i.words[-1] == "bf16"

        def floats(bits: np.ndarray) -> np.ndarray:
            return _wide(bits) if is_brief else bits.view(np.float16).astype(np.float32)

        outs = [r.strip() for r in i.operands[0].strip("{}").split(",")]
        left, right = i.operands[1:3]
        keep = self.read(i.operands[3], "pred")[group]
        scales = [int(v) for v in i.operands[6:]]
        lane = np.arange(128)
        row = lane // 32 * 16 + lane % 32 // 4
        if left.startswith("{"):
            a = np.zeros((64, 16), np.uint16)
            for j, register in enumerate(left.strip("{}").split(",")):
                bits = self.read(register.strip(), "b32")[group]
                at = (row + j % 2 * 8, j // 2 * 8 + lane % 4 * 2)
                a[at] = (bits & 0xFFFF).astype(np.uint16)
                a[at[0], at[1] + 1] = (bits >> 16).astype(np.uint16)
            trans = scales[0]
        else:
            place = self.read(left, "u64")[group]
            assert (place == place[0]).all(), "descriptors differ between threads"
            a = self.matrix(int(place[0]), 64, scales[0] == 0, group.start)
            trans = scales[1]
        place = self.read(right, "u64")[group]
        assert (place == place[0]).all(), "descriptors differ between threads"
        c = self.matrix(int(place[0]), columns, trans == 0, group.start)
        made = floats(a).astype(np.float64) @ floats(c).astype(np.float64).T
        r = np.arange(len(outs))[:, None]
        value = made[row + r // 2 % 2 * 8, r // 4 * 8 + lane % 4 * 2 + r % 2]
        before = np.stack([self.read(register, "f32")[group] for register in outs])
        after = (np.where(keep, before, 0) + value).astype(np.float32).view(np.uint32)
        for register, bits in zip(outs, after, strict=True):
            full = self.read(register, "b32").copy()
            full[group] = bits
            self.registers[register] = full


__all__ = ["MatrixKernel", "_brief"]
