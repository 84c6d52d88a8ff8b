"""How the host fuzzer makes loops: over elements, and of the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from host_bodies import MOST, STEPS, Bodies
from host_program import Region, Value

NUMBERS = ("f32", "i32", "i64", "f64", "index", "i8")


class Loops(Bodies):
    """Steps that have regions with whole programs in them."""

    def reading(self, dims: dict[int, int]) -> tuple[list[Value], list[list[int]]]:
        """Tensors whose extents are those of some dims of a loop nest, and which."""
        found, maps = [], []
        for _ in range(self.choose.number(0, 2)):
            for source in self.tensors()[::-1]:
                shape = self.value(source).shape
                free = dict(dims)
                at = []
                for n in shape:
                    match = [d for d, m in free.items() if m == n]
                    if not match:
                        break
                    at.append(self.choose.pick(match))
                    del free[at[-1]]
                if len(at) == len(shape) and self.choose.chance(60):
                    found.append(source)
                    maps.append(at)
                    break
        return found, maps

    def step_generic(self) -> None:
        """Element-wise work with reads at computed places, or a reduction."""
        choose = self.choose
        base = self.tensor(lambda t: t.type.rank > 0)
        shape = self.value(base).shape if base else self.shape()
        if np.prod(shape) > MOST:
            return
        dims = dict(enumerate(shape))
        ins, maps = self.reading(dims)
        if base and base not in ins:
            ins, maps = [base, *ins], [list(dims), *maps]
        reduced = [d for d in dims if choose.chance(25) and ins]
        kept = [d for d in dims if d not in reduced]
        covered = {d for at in maps for d in at}
        if not set(reduced) <= covered:
            return
        dtype = choose.pick(NUMBERS)
        start = self.filled([shape[d] for d in kept], dtype)
        region = self.generic_region([*ins, start], len(shape), bool(reduced))
        iterators = ["reduction" if d in reduced else "parallel" for d in dims]
        self.emit("generic", [*ins, start], [start.type], [region], maps=[*maps, kept],
                  iterators=iterators, inputs=len(ins))  # fmt: skip

    def generic_region(self, operands: Sequence[Value], rank: int, reduces: bool) -> Region:
        """The body of a loop over elements, made at the first of them."""
        elements = [Value(self.name(), v.type.dtype) for v in operands]
        self.run.point = (0,) * rank
        first = [self.value(v).flat[0] if self.value(v).size else 0 for v in operands]
        with self.inside(elements, first) as region:
            for d in range(rank):
                if self.choose.chance(40):
                    self.emit("linalg.index", [], ["index"], dim=d)
            self.scalar_steps()
            total = elements[-1]
            result = self.last(total.type)
            if reduces:
                ways = ("addf", "maximumf", "minimumf") if total.type[0] == "f" else (
                    "addi", "maxsi", "minsi", "xori")  # fmt: skip
                result = self.binary(self.choose.pick(ways), total, result)
            region.yields = [result]
        return region

    def step_gather(self) -> None:
        """Elements at places that are data: the places of some dims come from a tensor."""
        table = self.tensor(lambda t: t.type.rank > 0)
        places = self.tensor(lambda t: t.type.dtype in ("i32", "i64", "index") and t.type.rank > 0)
        if not table or not places or not self.known(places):
            return
        shape = self.value(places).shape
        start = self.empty(shape, table.type.dtype)
        elements = [Value(self.name(), places.type.dtype), Value(self.name(), table.type.dtype)]
        found = [self.value(places).flat[0] if 0 not in shape else 0, 0]
        self.run.point = (0,) * len(shape)
        with self.inside(elements, found) as region:
            at = self.converted(elements[0], "index")
            if self.choose.chance(30):
                at = self.clamped(at, 0, max(0, self.value(table).shape[0] - 1))
            rest = [self.index(0, n - 1) for n in self.value(table).shape[1:]]
            read = self.emit("extract", [table, at, *rest], [table.type.dtype])[0]
            region.yields = [read]
        dims = list(range(len(shape)))
        self.emit("generic", [places, start], [start.type], [region], maps=[dims, dims],
                  iterators=["parallel"] * len(dims), inputs=1)  # fmt: skip

    def step_transpose(self) -> None:
        if source := self.tensor(lambda t: t.type.rank == 2):
            into = self.like(self.value(source).shape[::-1], source.type.shape[::-1], source)
            self.emit("transpose", [source, into], [into.type], order=[1, 0],
                      attributes="permutation = [1, 0]")  # fmt: skip

    def like(self, shape: Sequence[int], fixed: Sequence[int | None], source: Value) -> Value:
        """An empty tensor that is open where ``fixed`` is."""
        sizes = [
            n if m is not None else self.index(n, n) for n, m in zip(shape, fixed, strict=True)
        ]
        return self.emit("empty", [], [self.of(sizes, source.type.dtype)], shape=sizes)[0]

    def compatible(self, shape: Sequence[int | None], other: Sequence[int | None]) -> bool:
        """Fixed extents that disagree are no valid program."""
        return all(n is None or m is None or n == m for n, m in zip(shape, other, strict=True))

    def step_broadcast(self) -> None:
        if source := self.tensor(lambda t: t.type.rank == 1):
            shape = (self.choose.pick((3, 2, 1)), *self.value(source).shape)
            into = self.like(shape, (0, *source.type.shape), source)
            self.emit("broadcast", [source, into], [into.type], dims=[0],
                      attributes="dimensions = [0]")  # fmt: skip

    def step_matmul(self) -> None:
        left = self.tensor(lambda t: t.type.rank == 2 and t.type.dtype in ("f32", "f64", "i32"))
        if not left:
            return
        rows, inner = self.value(left).shape
        right = self.tensor(
            lambda t: t.type.rank == 2 and t.type.dtype == left.type.dtype
            and self.value(t).shape[0] == inner
            and self.compatible(t.type.shape[:1], left.type.shape[1:])
        )  # fmt: skip
        if right is None:
            right = self.filled((inner, 2), left.type.dtype)
        if not self.compatible(left.type.shape[1:], right.type.shape[:1]):
            return
        into = self.filled((rows, self.value(right).shape[1]), left.type.dtype)
        if self.compatible(left.type.shape[:1], into.type.shape[:1]) and self.compatible(
            right.type.shape[1:], into.type.shape[1:]
        ):
            self.emit("matmul", [left, right, into], [into.type])

    def step_pack(self) -> None:
        source = self.tensor(lambda t: 0 < t.type.rank < 3)
        if not source:
            return
        shape, dtype = self.value(source).shape, source.type.dtype
        dims = [d for d in range(len(shape)) if self.choose.chance(60)] or [0]
        tiles = [self.choose.pick((2, 1, 3)) for _ in dims]
        outer = list(shape)
        pads = any(n is None for n in source.type.shape) or self.choose.chance(50)
        for dim, tile in zip(dims, tiles, strict=True):
            pads |= bool(shape[dim] % tile)
            outer[dim] = -(-shape[dim] // tile)
        if self.choose.chance(8) and source.type.shape[dims[0]] is None:
            outer[dims[0]] += self.choose.pick((-1, 1))
        sizes: list[Any] = [
            n if fixed is not None else self.index(n, n)
            for n, fixed in zip(outer, source.type.shape, strict=True)
        ]
        sizes += tiles
        padding = [self.scalar(dtype)] if pads else []
        into = self.emit("empty", [], [self.of(sizes, dtype)], shape=sizes)[0]
        self.emit("pack", [source, into, *padding], [into.type], dims=dims, tiles=tiles)

    def step_unpack(self) -> None:
        """Of what was packed: dims and tiles are its last ones."""
        source = self.tensor(lambda t: t.type.rank > 1 and t.type.shape[-1] is not None)
        if not source:
            return
        shape, dtype = self.value(source).shape, source.type.dtype
        dim, tile = self.choose.number(0, len(shape) - 2), shape[-1]
        if tile == 0:
            return
        flat = list(shape[:-1])
        fixed = source.type.shape[dim] is not None
        flat[dim] = max(0, flat[dim] * tile - (0 if fixed else self.choose.number(0, tile - 1)))
        if self.choose.chance(8) and not fixed:
            flat[dim] += self.choose.pick((1, 100))
        sizes: list[Any] = [
            n if known is not None else self.index(n, n)
            for n, known in zip(flat, source.type.shape[:-1], strict=True)
        ]
        into = self.emit("empty", [], [self.of(sizes, dtype)], shape=sizes)[0]
        self.emit("unpack", [source, into], [into.type], dims=[dim], tiles=[tile])

    # Control flow -------------------------------------------------------------------------------

    def steps_inside(self) -> None:
        for _ in range(self.choose.number(1, 3)):
            self.choose.pick(INSIDE)(self)

    def again(self, of: Any, otherwise: Value) -> Value:
        """The newest value of a type that the region has made."""
        made = [v for op in self.region.ops for v in op.results if v.type == of]
        return made[-1] if made else otherwise

    def carried(self) -> list[Value]:
        found = [self.tensor(lambda t: self.known(t))]
        if self.choose.chance(40):
            found.append(self.scalar(self.choose.pick(("index", "i32", "f32"))))
        return [v for v in found if v is not None]

    def step_for(self) -> None:
        if self.depth > 1:
            return
        initial = self.carried()
        low, step = self.index(0, 1), self.constant(self.choose.pick((1, 1, 2)), "index")
        high = self.index(0, 4)
        arguments = [Value(self.name(), "index"), *(Value(self.name(), v.type) for v in initial)]
        found = [self.value(low), *(self.value(v) for v in initial)]
        with self.inside(arguments, found) as region:
            self.steps_inside()
            region.yields = [self.again(v.type, v) for v in arguments[1:]]
        self.emit("for", [low, high, step, *initial], [v.type for v in initial], [region])

    def step_if(self) -> None:
        if self.depth > 1:
            return
        test = self.compared(self.scalar(self.choose.pick(("index", "i32", "f32"))))
        like = self.carried()
        branches = []
        for _ in range(2):
            with self.inside([], []) as region:
                self.steps_inside()
                region.yields = [self.again(v.type, v) for v in like]
            branches.append(region)
        if like:
            self.emit("if", [test], [v.type for v in like], branches)

    def step_while(self) -> None:
        """While a counter is below a limit, and perhaps something else is so."""
        if self.depth > 0:
            return
        limit = self.index(0, 4)
        initial = [self.constant(0, "index"), *self.carried()]
        found = [self.value(v) for v in initial]
        before = [Value(self.name(), v.type) for v in initial]
        with self.inside(before, found) as first:
            test = self.emit("scalar", [before[0], limit], ["i1"], name="cmpi", predicate="slt")[0]
            if self.choose.chance(40):
                other = self.compared(self.scalar("index"))
                test = self.binary("andi", test, other)
            first.yields = [test, *before]
        after = [Value(self.name(), v.type) for v in initial]
        with self.inside(after, found) as second:
            self.steps_inside()
            next_ = self.binary("addi", after[0], self.constant(1, "index"))
            second.yields = [next_, *(self.again(v.type, v) for v in after[1:])]
        self.emit("while", initial, [v.type for v in initial], [first, second])


MORE = (
    Loops.step_generic, Loops.step_gather, Loops.step_generic, Loops.step_transpose,
    Loops.step_broadcast, Loops.step_matmul, Loops.step_pack, Loops.step_unpack,
)  # fmt: skip
INSIDE = (
    Bodies.step_insert, Bodies.step_scalar, Bodies.step_insert_slice, Bodies.step_extract,
    Bodies.step_slice, Loops.step_generic, Bodies.step_insert, Loops.step_if, Loops.step_for,
    Bodies.step_pad, Loops.step_gather, Bodies.step_dim,
)  # fmt: skip
ALL = (
    *STEPS, *MORE, Loops.step_for, Loops.step_if, Loops.step_while, Loops.step_for,
    Bodies.step_insert, Bodies.step_slice, Bodies.step_insert_slice,
)  # fmt: skip
