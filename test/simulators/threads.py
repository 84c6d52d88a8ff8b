"""The threads of a block, or of all blocks of a cluster, side by side in arrays.

Threads with the lowest program counter go first, so that those that took different branches meet again
behind them. Shuffles and matrix instructions wait for all of a warp or warpgroup. Threads that all wait
are a fault.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import arithmetic, barriers, copies, matrices, transfers
from .arithmetic import COMPUTE
from .memory import BITS, Memory, Shared
from .program import Instruction, Kernel, is_type, width
from .races import Races
from .registers import Registers

# Bytes of the widest access of a thread.
WIDEST = 16
# A register of this name keeps the carry of sums in parts.
_CARRY = "%carry"
# Who must have come before an instruction starts.
_OF_WARPS = ("shfl", "vote", "redux", "mma", "ldmatrix", "stmatrix")
# After which a thread is not always at the next one, whatever the others do.
_NOT_PLAIN = {"bra", "ret", "exit", "bar", "barrier", "mbarrier", "wgmma", "cp", "atom", *_OF_WARPS}


class Threads(Registers):
    """Blocks from ``block`` on, as many as a cluster of the kernel has."""

    def __init__(
        self,
        kernel: Kernel,
        block: int,
        blocks: int,
        threads: int,
        shared: int,
        parameters: dict[str, int],
        memory: Memory,
    ):
        self.kernel, self.threads, self.parameters = kernel, threads, parameters
        count = threads * kernel.cluster
        self.first, self.rank = block, np.arange(count) // threads
        index, zero = np.arange(count, dtype=np.uint64), np.zeros(count, np.uint64)
        symbols = {
            "%tid.x": index % np.uint64(threads), "%laneid": index % 32,
            "%ctaid.x": self.rank.astype(np.uint64) + np.uint64(block),
            "%ntid.x": zero + np.uint64(threads), "%nctaid.x": zero + np.uint64(blocks),
            "%nctaid.y": zero + np.uint64(1),
        }  # fmt: skip
        known = {**kernel.module.variables, **{n: parameters[n] for n in kernel.arrays}}
        symbols |= {name: zero + np.uint64(value) for name, value in known.items()}
        super().__init__(count, symbols)
        for name in kernel.undefined:
            self.write(name, zero, self.every, "pred" if name.startswith("%p") else "b64")
            self.undefined[name] = ~zero
        self.memory, self.shared = memory, Shared(kernel.cluster, shared)
        warps = (count + 31) // 32
        self.races = Races(warps, len(self.shared.bytes))
        self.ends = plain_ends(kernel)
        self.pc = np.zeros(count, np.int64)
        self.done = np.zeros(count, bool)
        # Those that wait: at a barrier, for a phase of one, for others of the warp.
        self.waits, self.held, self.apart = (np.zeros(count, bool) for _ in range(3))
        self.numbered: dict[tuple[int, int], barriers.Numbered] = {}
        self.barriers: dict[tuple[int, int], barriers.Phased] = {}
        # The cluster's barrier: who has come in this phase, each thread's last one, who waits.
        self.came, self.together = np.zeros(count, bool), np.zeros(count, bool)
        self.phases, self.phase_of = 0, np.zeros(count, np.int64)
        self.cluster_known, self.cluster_told = (np.zeros(warps, np.int32) for _ in range(2))
        self.copies: list[copies.Pending] = []
        self.groups = np.zeros(count, np.int64)  # how many of copies a thread has made

    # Scheduling ----------------------------------------------------------------
    def run(self) -> None:
        """All threads to their end."""
        with np.errstate(all="ignore"):
            while not self.done.all():
                barriers.settle_cluster(self)
                ready = ~(self.done | self.waits | self.apart | self.held)
                if ready.any():
                    self.step(ready)
                elif not barriers.let_go_of_those_left(self):
                    self.stuck()

    def step(self, ready: np.ndarray) -> None:
        at = self.pc[ready].min()
        mask = ready & (self.pc == at)
        instruction = self.kernel.code[at]
        group = 32 if instruction.op in _OF_WARPS else 0
        if instruction.op == "wgmma":
            group = 128
        if group:
            here = (self.pc == at) & ~(self.done | self.held | self.waits)
            complete = here | self.done
            if self.count % group:
                complete = complete & False
            else:
                complete = complete.reshape(-1, group).all(1).repeat(group)
            mask = complete & here
            self.apart = (self.apart & ~mask) | (here & ~mask)
        self.advance(at, mask)

    def advance(self, at: int, mask: np.ndarray) -> None:
        """The threads of ``mask`` by the instruction at ``at``, and the plain ones behind it."""
        if not mask.any():
            return
        code, end = self.kernel.code, max(self.ends[at], at + 1)
        self.pc[mask] = end
        if mask.all():
            mask = self.every
        for instruction in code[at:end]:
            self.instruction, self.active, holds = instruction, mask, mask
            if instruction.guard:
                self.check_defined(instruction.guard, mask)
                holds = self.read(instruction.guard, "pred")
                holds = mask & (~holds if instruction.negated else holds)
                if not holds.any():
                    continue
                self.active = holds
            handler = HANDLERS[instruction.op]
            if self.undefined and not instruction.sources.isdisjoint(self.undefined):
                self.execute_undefined(handler, instruction, holds)
            else:
                handler(self, instruction, holds)

    def stuck(self) -> None:
        """Nobody can go on."""
        at = sorted(set(self.pc[~self.done].tolist()))
        places = [self.kernel.code[p - 1 if self.waits[self.pc == p].all() else p] for p in at]
        what = "; ".join(f"line {i.line}: {i.text}" for i in places)
        raise places[0].fault(f"all threads wait: {what}")

    # Memory --------------------------------------------------------------------
    def address(self, operand: str, mask: np.ndarray | None = None) -> np.ndarray:
        base, _, offset = operand.strip("[]").partition("+")
        return self.read(base.strip(), "s64", mask) + np.int64(int(offset or 0))

    def check_memory(
        self,
        i: Instruction,
        at: np.ndarray,
        threads: np.ndarray,
        size: int | np.ndarray,
        piece: int = 1,
    ) -> None:
        """``threads``: those who touch ``size`` bytes from ``at`` on; a mask or numbers. A piece of an
        array may be touched whole."""
        outside = self.memory.outside(at, size, piece)
        if outside.any():
            raise self.fault_at(i, threads, outside, at, "is in no array")

    def fault_at(
        self, i: Instruction, threads: np.ndarray, bad: np.ndarray, at: np.ndarray, what: str
    ) -> Exception:
        which = int(np.argmax(bad))
        threads = np.flatnonzero(threads) if threads.dtype == bool else threads
        thread = int(threads[which])
        where = f"thread {thread % self.threads} of block {self.first + self.rank[thread]}"
        return i.fault(f"{where}: address {int(at[which]):#x} {what}")

    def global_places(
        self, i: Instruction, at: np.ndarray, mask: np.ndarray, size: int, is_read: bool = False
    ) -> np.ndarray:
        """Addresses in arrays, aligned to ``size``. The widest reads are of pieces that have some bytes
        of an array: memory is there in whole ones."""
        if (at % size).any():
            raise self.fault_at(i, mask, at % size != 0, at, f"is not aligned to {size} bytes")
        self.check_memory(i, at, mask, size, WIDEST if is_read and size == WIDEST else 1)
        return at

    def shared_places(
        self,
        i: Instruction,
        at: np.ndarray,
        mask: np.ndarray,
        size: int,
        is_read: bool | None = False,
    ) -> np.ndarray:
        """Places in shared memory, aligned to ``size``, for reads or writes of as many bytes; None: for
        writes that come later."""
        if (at % size).any():
            raise self.fault_at(i, mask, at % size != 0, at, f"is not aligned to {size} bytes")
        threads = np.flatnonzero(mask)
        places, beyond = self.shared.place(at, self.rank[threads], size)
        if beyond.any():
            raise self.fault_at(i, mask, beyond, at, "is beyond shared memory")
        if is_read:
            self.check_written(i, places, size, threads)
        elif is_read is None:
            cells = (places // 2)[:, None] + np.arange(size // 2)
            self.no_race(i, self.races.overwrite(threads // 32, cells))
        else:
            self.touch(i, places, size, threads)
            self.mark(places, size, True)
        return places

    def mark(self, places: np.ndarray, size: int, is_written: bool) -> None:
        word = min(size, 8)
        for offset in range(0, size, word):
            self.shared.mark(places + offset, word, is_written)

    def check_written(
        self, i: Instruction, places: np.ndarray, size: int, threads: np.ndarray
    ) -> None:
        """Reads of bytes that were written, and by whom they may be read."""
        word = min(size, 8)
        missing = self.shared.unwritten(places, word, size // word)
        if missing.any():
            near = places % self.shared.stride
            raise self.fault_at(i, threads, missing, near, "of shared memory was never written")
        if size > 1:
            cells = (places // 2)[:, None] + np.arange(size // 2)
            self.no_race(i, self.races.read(threads // 32, cells))

    def touch(self, i: Instruction, places: np.ndarray, size: int, threads: np.ndarray) -> None:
        """Writes by threads."""
        if size > 1:
            cells = (places // 2)[:, None] + np.arange(size // 2)
            self.no_race(i, self.races.write(threads // 32, cells))

    def no_race(self, i: Instruction, other: int | None) -> None:
        if other is not None:
            raise i.fault(
                f"a race in shared memory: not ordered after what warp {other} does there"
            )

    def read_asynchronously(
        self, i: Instruction, places: np.ndarray, kind: str, warps: range
    ) -> None:
        """Reads of words of 2 bytes that end when these warps wait for them."""
        missing = self.shared.unwritten(places, 2)
        if missing.any():
            near, first = places % self.shared.stride, np.full(len(places), 32 * warps[0])
            raise self.fault_at(i, first, missing, near, "of shared memory was never written")
        for warp in warps:
            self.no_race(i, self.races.start(kind, warp, places // 2))

    # Barriers in shared memory -------------------------------------------------
    def barrier_key(
        self, i: Instruction, at: int, thread: int, block: int | None = None
    ) -> tuple[int, int]:
        owner = np.array([self.rank[thread] if block is None else block])
        places, beyond = self.shared.place(np.array([at]), owner, 8)
        if beyond.any():
            raise i.fault("a barrier beyond shared memory")
        return divmod(int(places[0]), self.shared.stride)

    def barrier_of(
        self, i: Instruction, at: int, thread: int, block: int | None = None
    ) -> barriers.Phased:
        """Of the thread's own block, unless another one of the cluster is named."""
        key = self.barrier_key(i, at, thread, block)
        if key not in self.barriers:
            raise i.fault(f"no barrier was made at {key[1]:#x} of shared memory")
        return self.barriers[key]

    def new_barrier(self, i: Instruction, at: int, thread: int, count: int) -> None:
        self.barriers[self.barrier_key(i, at, thread)] = barriers.Phased(self, count)


def plain_ends(kernel: Kernel) -> list[int]:
    """For each instruction where the plain ones from it on end, of which none is jumped to."""
    if kernel.ends:
        return kernel.ends
    ends, met = list(range(len(kernel.code))), set(kernel.labels.values())
    for at in reversed(range(len(kernel.code))):
        i = kernel.code[at]
        words = {word for word in i.words if not is_type(word)}
        if i.op not in HANDLERS or words - arithmetic.WORDS.get(i.op, words):
            raise i.fault("unknown instruction")
        if i.op not in _NOT_PLAIN and not i.is_async_store:
            goes_on = at + 1 < len(kernel.code) and at + 1 not in met
            ends[at] = max(ends[at + 1] if goes_on else at + 1, at + 1)
    kernel.ends = ends
    return ends


# Instructions ---------------------------------------------------------------------------------
def compute(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    sources = i.operands[1:]
    if i.op in ("neg", "abs") and i.kind in ("bf16x2", "f16x2"):
        bits = t.read(sources[0], "b32")
        signs = np.uint32(0x80008000)
        return t.write(i.operands[0], bits ^ signs if i.op == "neg" else bits & ~signs, mask, "b32")
    if i.op in ("add", "sub", "mul", "fma") and i.kind in ("bf16x2", "f16x2"):
        return compute_halves(t, i, mask)
    if i.op in ("shl", "shr"):
        values = [t.read(sources[0], i.kind), t.read(sources[1], "u32")]
    elif i.op == "shf":
        values = [t.read(name, "u32") for name in sources]
    elif i.op == "bfe":
        values = [t.read(sources[0], i.kind), *(t.read(s, "u32") for s in sources[1:])]
    else:
        values = [t.read(name, i.kind) for name in sources]
    t.write(i.operands[0], arithmetic.compute(i, *values), mask, i.kind)
    return None


def compute_halves(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """Of pairs of 16-bit floats. f32 has digits enough for rounding twice to be rounding once; of a
    fused sum it has not always, but in those that stand for a sum or a product."""
    sources = [t.read(name, "b32") for name in i.operands[1:]]
    made = np.zeros(t.count, np.uint32)
    for shift in (np.uint32(0), np.uint32(16)):
        halves = [(bits >> shift).astype(np.uint16) for bits in sources]
        if i.kind == "bf16x2":
            bits = arithmetic.narrow(arithmetic.compute(i, *map(arithmetic.widen, halves)))
        else:
            numbers = [half.view(np.float16).astype(np.float32) for half in halves]
            bits = arithmetic.compute(i, *numbers).astype(np.float16).view(np.uint16)
        made |= bits.astype(np.uint32) << shift
    t.write(i.operands[0], made, mask, "b32")


def multiply(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """mul, mad and madc."""
    if i.op == "mul" and "wide" not in i.words:
        return compute(t, i, mask)
    if i.op == "madc" or ({"hi", "cc"} & set(i.words) and i.op == "mad"):
        return multiply_in_parts(t, i, mask)
    kind = arithmetic.wide_kind(i)
    wide = np.dtype(f"i{width(kind) // 8}") if kind[0] == "s" else np.dtype(BITS[width(kind)])
    sources = [t.read(name, i.kind).astype(wide) for name in i.operands[1:3]]
    sources += [t.read(name, kind) for name in i.operands[3:]]
    t.write(i.operands[0], arithmetic.multiply_add(i, *sources), mask, kind)
    return None


def multiply_in_parts(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """mad and madc of half of a product of u32, with the carry that goes from one to the next."""
    if i.kind != "u32" or ("lo" in i.words) == ("hi" in i.words):
        raise i.fault("unknown instruction")
    a, b, c = (t.read(name, "u32").astype(np.uint64) for name in i.operands[1:4])
    half = (a * b) >> np.uint64(32) if "hi" in i.words else (a * b) & np.uint64(2**32 - 1)
    total = half + c
    if i.op == "madc":
        total = total + t.read(_CARRY, "u64")
    t.write(i.operands[0], total & np.uint64(2**32 - 1), mask, "u32")
    if "cc" in i.words:
        t.write(_CARRY, total >> np.uint64(32), mask, "u64")


def select(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    yes, no = (t.read(name, i.kind) for name in i.operands[1:3])
    chosen = np.where(t.read(i.operands[3], "pred"), yes, no)
    t.write(i.operands[0], chosen, mask, i.kind)


def compare(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    result = arithmetic.compare(i, *(t.read(name, i.kind) for name in i.operands[1:3]))
    if len(i.operands) > 3:
        other = t.read(i.operands[3].lstrip("!"), "pred")
        other = ~other if i.operands[3].startswith("!") else other
        if i.words[1] not in ("and", "or"):
            raise i.fault("unknown instruction")
        result = result & other if i.words[1] == "and" else result | other
    t.write(i.operands[0], result, mask, "pred")


def convert(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    if i.words[-1].removesuffix("x2") in arithmetic.SMALL:  # two floats of 8 bits
        pair = t.read(i.operands[1], "b16").astype(np.uint16)
        small = arithmetic.SMALL[i.words[-1].removesuffix("x2")]
        bits = [
            part.astype(np.uint8).view(small).astype(np.float16).view(np.uint16)
            for part in (pair >> 8, pair & 0xFF)
        ]
        t.write(i.operands[0], (bits[0].astype(np.uint32) << 16) | bits[1], mask, "b32")
        return
    if i.words[-2].removesuffix("x2") in arithmetic.SMALL:
        codes = [
            arithmetic.saturate(t.read(name, "f32"), i.words[-2].removesuffix("x2"))
            for name in i.operands[1:3]
        ]
        t.write(i.operands[0], (codes[0].astype(np.uint16) << 8) | codes[1], mask, "b16")
        return
    if i.words[-2] in ("bf16x2", "f16x2"):
        high, low = (t.read(name, "f32") for name in i.operands[1:3])
        halves = [
            arithmetic.narrow(v)
            if i.words[-2] == "bf16x2"
            else v.astype(np.float16).view(np.uint16)
            for v in (high, low)
        ]
        t.write(i.operands[0], (halves[0].astype(np.uint32) << 16) | halves[1], mask, "b32")
        return
    values, kind = arithmetic.convert(i, t.read(i.operands[1], i.kind))
    t.write(i.operands[0], values, mask, kind)


def branch(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    t.pc[mask] = t.kernel.labels[i.operands[0]]


def end(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    t.done |= mask


def vote(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    given = t.read(i.operands[1], "pred") & mask
    if "any" in i.words:
        result = given.reshape(-1, 32).any(1)
    elif "all" in i.words:
        result = (given | ~mask).reshape(-1, 32).all(1)
    else:
        raise i.fault("unknown instruction")
    t.write(i.operands[0], result.repeat(32), mask, "pred")


_REDUCTIONS = {"min": (np.minimum, 2**31 - 1), "max": (np.maximum, -(2**31))}


def redux(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """The smallest or largest signed word of a warp."""
    kind = next((word for word in i.words if word in _REDUCTIONS), None)
    if kind is None or "s32" not in i.words:
        raise i.fault("unknown instruction")
    reduce, identity = _REDUCTIONS[kind]
    given = np.where(mask, t.read(i.operands[1], "s32"), np.int32(identity))
    t.write(i.operands[0], reduce.reduce(given.reshape(-1, 32), axis=1).repeat(32), mask, "s32")


def store(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """st, and st.async: there as soon as it is sent, to blocks that have not ended."""
    transfers.load_store(t, i, mask)
    if not i.is_async_store:
        return
    places = t.address(i.operands[2])
    for thread in np.flatnonzero(mask):
        block, _ = t.barrier_key(i, int(places[thread]), thread)
        if t.done[t.rank == block].all():
            raise i.fault("to a block that has ended")
        bar = t.barrier_of(i, int(places[thread]), thread)
        bar.expect(-(width(i.kind) // 8) * len(i.names(1)), thread)
        bar.settle()


def policy(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    t.write(i.operands[0], np.zeros(t.count, np.uint64), mask, "b64")


def nothing(t: Threads, i: Instruction, mask: np.ndarray) -> None:
    """What only says how fast."""


_OF_ORDER = (
    "fence", "membar", "griddepcontrol", "prefetch", "nanosleep", "setmaxnreg",
)  # fmt: skip
Handler = Callable[[Threads, Instruction, np.ndarray], None]
HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(COMPUTE, compute), **dict.fromkeys(_OF_ORDER, nothing),
    **transfers.HANDLERS, **copies.HANDLERS, **barriers.HANDLERS, **matrices.HANDLERS,
    "mul": multiply, "mad": multiply, "madc": multiply, "selp": select, "setp": compare,
    "cvt": convert,
    "bra": branch, "ret": end, "exit": end, "vote": vote, "redux": redux, "st": store, "createpolicy": policy,
}  # fmt: skip
