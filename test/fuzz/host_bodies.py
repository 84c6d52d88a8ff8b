"""How the host fuzzer makes single operations, from what is in scope."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from generate import Choices
from host_ops import evaluate
from host_program import Op, Region, Run, Tensor, Value
from host_scalars import ANY, BAD, FLOAT_BINARY, FLOAT_UNARY, INTEGER_BINARY, is_float, width

SIZES = (3, 2, 4, 1, 5)
MOST = 200  # elements of a tensor
FAR = (1, 2, 100, 1 << 20, 1 << 40)


class Scalars:
    """Names, scopes, constants and scalars."""

    def __init__(self, choices: Choices) -> None:
        self.choose = choices
        self.run = Run()
        self.region = Region()
        self.scope: list[Value] = []
        self.count = 0
        self.depth = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def emit(
        self, kind: str, operands: Sequence[Value], types: Sequence[Any],
        regions: Sequence[Region] = (), **more: Any,
    ) -> list[Value]:  # fmt: skip
        """An op at the end of the region, and what it gives here."""
        results = [Value(self.name(), t) for t in types]
        op = Op(kind, list(operands), results, more, list(regions))
        self.region.ops.append(op)
        evaluate(op, self.run)
        self.scope.extend(results)
        return results

    def value(self, value: Value) -> Any:
        return self.run.values[value]

    @contextlib.contextmanager
    def inside(self, arguments: Sequence[Value], found: Sequence[Any]) -> Iterator[Region]:
        """A region; what it makes is out of scope afterwards."""
        outer, seen = self.region, len(self.scope)
        self.region = Region(list(arguments))
        self.run.values.update(zip(arguments, found, strict=True))
        self.scope.extend(arguments)
        self.depth += 1
        try:
            yield self.region
        finally:
            self.depth -= 1
            self.region = outer
            del self.scope[seen:]

    def datum(self, kind: str) -> Any:
        """A scalar of an argument or a constant."""
        if kind == "i1":
            return self.choose.number(0, 1)
        if is_float(kind):
            return self.choose.pick((1.0, 0.0, 2.0, -1.0, 0.5, -2.5, 3.0))
        return self.choose.pick((1, 2, 0, 3, 4, -1, 7))

    def data(self, shape: tuple[int, ...], kind: str) -> np.ndarray:
        made = np.empty(shape, dtype=object)
        for place in np.ndindex(shape):
            made[place] = self.datum(kind)
        return made

    def opened(self, shape: Sequence[int], dtype: str, percent: int = 50) -> Tensor:
        """The type of a shape with some extents open."""
        return Tensor(tuple(None if self.choose.chance(percent) else n for n in shape), dtype)

    def constant(self, value: Any, kind: str) -> Value:
        return self.emit("constant", [], [kind], value=value)[0]

    def scalars(self, kind: str) -> list[Value]:
        return [v for v in self.scope if v.type == kind]

    def scalar(self, kind: str) -> Value:
        """Any of a type."""
        known = self.scalars(kind)
        if known and self.choose.chance(75):
            return self.choose.pick(known[::-1])
        return self.constant(self.datum(kind), kind)

    def binary(self, name: str, a: Value, b: Value) -> Value:
        return self.emit("scalar", [a, b], [a.type], name=name)[0]

    def converted(self, value: Value, kind: str) -> Value:
        """A scalar as another type."""
        source = value.type
        if source == kind:
            return value
        if is_float(source) and is_float(kind):
            name = "extf" if kind == "f64" else "truncf"
        elif is_float(source):
            middle = self.emit("scalar", [value], ["i64"], name="fptosi")[0]
            return self.converted(middle, kind)
        elif is_float(kind):
            if source == "index":
                value = self.converted(value, "i64")
            name = self.choose.pick(("sitofp", "uitofp")) if source == "i1" else "sitofp"
        elif "index" in (source, kind):
            name = self.choose.pick(("index_cast", "index_castui"))
        else:
            wider = self.choose.pick(("extsi", "extui"))
            name = wider if width(kind) > width(source) else "trunci"
        return self.emit("scalar", [value], [kind], name=name)[0]

    def index(self, low: int, high: int) -> Value:
        """An index that is in [low, high] here, but for a few; elsewhere perhaps not."""
        choose = self.choose
        target = choose.number(low, high) if low <= high else high + 1
        if choose.chance(4):
            far = choose.pick(FAR)
            return self.offset(choose.pick((high + far, low - far)))
        known = [v for v in self.scalars("index") if self.value(v) == target]
        way = choose.pick(("constant", "known", "clamped", "offset", "data"))
        if way == "known" and known:
            return choose.pick(known[::-1])
        if way == "clamped" and low <= high:
            return self.clamped(self.scalar("index"), low, high)
        if way == "offset":
            return self.offset(target)
        if way == "data" and low <= high and (found := self.element()):
            return self.clamped(self.converted(found, "index"), low, high)
        return self.constant(target, "index")

    def offset(self, target: int) -> Value:
        """A sum with an index of the arguments that is the target here."""
        bases = [v for v in self.scalars("index") if self.value(v) not in (ANY, BAD)]
        if not bases:
            return self.constant(target, "index")
        base = self.choose.pick(bases)
        return self.binary("addi", base, self.constant(target - self.value(base), "index"))

    def clamped(self, value: Value, low: int, high: int) -> Value:
        above = self.binary("maxsi", value, self.constant(low, "index"))
        return self.binary("minsi", above, self.constant(high, "index"))

    def element(self) -> Value | None:
        """Some integer of a tensor, read at a place that exists."""
        sources = [t for t in self.tensors() if not is_float(t.type.dtype) and self.value(t).size]
        if not sources:
            return None
        source = self.choose.pick(sources[::-1])
        return self.extracted(source)

    def tensors(self, test: Callable[[Value], bool] = lambda v: True) -> list[Value]:
        return [v for v in self.scope if isinstance(v.type, Tensor) and test(v)]

    def tensor(self, test: Callable[[Value], bool] = lambda v: True) -> Value | None:
        known = self.tensors(test)
        return self.choose.pick(known[::-1]) if known else None

    def extracted(self, source: Value) -> Value:
        places = [self.index(0, n - 1) for n in self.value(source).shape]
        return self.emit("extract", [source, *places], [source.type.dtype])[0]

    def step_scalar(self) -> None:
        """Arithmetic on whatever there is."""
        known = [v for v in self.scope if isinstance(v.type, str)]
        if not known:
            return
        self.arithmetic(self.choose.pick(known[::-1]))

    def arithmetic(self, a: Value) -> Value:
        """A result made of ``a``, of any type."""
        choose, kind = self.choose, a.type
        way = choose.pick(("binary", "binary", "compare", "convert", "unary"))
        if way == "compare":
            return self.chosen(a)
        if way == "convert":
            return self.converted(a, choose.pick(("index", "i32", "i64", "f32", "i8", "i1", "f64")))
        if is_float(kind):
            if way == "unary":
                return self.emit("scalar", [a], [kind], name=choose.pick(tuple(FLOAT_UNARY)))[0]
            return self.binary(choose.pick(tuple(FLOAT_BINARY)), a, self.scalar(kind))
        name = choose.pick(tuple(INTEGER_BINARY))
        if name.startswith(("div", "rem", "floor", "ceil")) and kind != "i1":
            return self.binary(name, a, self.constant(choose.pick((2, 3, 1, 5)), kind))
        if name.startswith("sh"):
            return self.binary(name, a, self.constant(choose.number(0, width(kind) - 1), kind))
        if kind == "i1":
            name = choose.pick(("andi", "ori", "xori"))
        return self.binary(name, a, self.scalar(kind))

    def compared(self, a: Value) -> Value:
        order = self.choose.pick(("lt", "le", "gt", "ge", "eq", "ne"))
        name = "cmpf" if is_float(a.type) else "cmpi"
        if name == "cmpf":
            order = f"o{order}"
        elif order not in ("eq", "ne"):
            order = self.choose.pick("su") + order
        return self.emit(
            "scalar", [a, self.scalar(a.type)], ["i1"], name=name, predicate=order
        )[0]  # fmt: skip

    def chosen(self, a: Value) -> Value:
        """A select by a comparison."""
        test = self.compared(a)
        other = self.scalar(a.type)
        return self.emit("scalar", [test, a, other], [a.type], name="select")[0]


class Shapes(Scalars):
    """Sizes, and tensors of them."""

    def size(self, n: int) -> int | Value:
        """An extent that is n here."""
        if self.choose.chance(50):
            return n
        if self.choose.chance(3):
            return self.offset(self.choose.pick((-1, n + 1, max(0, n - 1))))
        known = [v for v in self.scalars("index") if self.value(v) == n]
        if known and self.choose.chance(60):
            return self.choose.pick(known[::-1])
        sources = [(t, axis) for t in self.tensors() for axis, m in enumerate(self.value(t).shape)
                   if m == n]  # fmt: skip
        if sources and self.choose.chance(70):
            source, axis = self.choose.pick(sources[::-1])
            return self.emit("dim", [source, self.constant(axis, "index")], ["index"])[0]
        return self.offset(n)

    def of(self, sizes: Sequence[int | Value], dtype: str) -> Tensor:
        """The type that such sizes have."""
        return Tensor(tuple(n if isinstance(n, int) else None for n in sizes), dtype)

    def sizes(self, shape: Sequence[int]) -> list[int | Value]:
        return [self.size(n) for n in shape]

    def shape(self) -> tuple[int, ...]:
        rank = self.choose.pick((1, 2, 2, 3))
        return tuple(self.choose.pick(SIZES) for _ in range(rank))

    def empty(self, shape: Sequence[int], dtype: str) -> Value:
        sizes = self.sizes(shape)
        return self.emit("empty", [], [self.of(sizes, dtype)], shape=sizes)[0]

    def filled(self, shape: Sequence[int], dtype: str) -> Value:
        """A tensor of one value."""
        if self.choose.chance(30):
            value, sizes = self.scalar(dtype), self.sizes(shape)
            return self.emit("splat", [value], [self.of(sizes, dtype)], shape=sizes)[0]
        empty = self.empty(shape, dtype)
        return self.emit("fill", [self.scalar(dtype), empty], [empty.type])[0]

    def known(self, value: Value) -> bool:
        """Small enough to go on with."""
        return self.value(value).size <= MOST


class Bodies(Shapes):
    """Steps: each adds an operation or a few."""

    def step_constant(self) -> None:
        shape, dtype = self.shape(), self.choose.pick(("i32", "index", "f32", "i64", "i8", "i1"))
        self.emit("constant", [], [Tensor(shape, dtype)], value=self.data(shape, dtype))

    def step_extract(self) -> None:
        if source := self.tensor():
            self.extracted(source)

    def step_insert(self) -> None:
        if into := self.tensor():
            places = [self.index(0, n - 1) for n in self.value(into).shape]
            value = self.scalar(into.type.dtype)
            self.emit("insert", [value, into, *places], [into.type])

    def step_dim(self) -> None:
        if source := self.tensor(lambda t: t.type.rank > 0):
            axis = self.constant(self.choose.number(0, source.type.rank - 1), "index")
            self.emit("dim", [source, axis], ["index"])

    def step_filled(self) -> None:
        self.filled(self.shape(), self.choose.pick(("f32", "i32", "i64", "index", "f64")))

    def step_elements(self) -> None:
        kind = self.choose.pick(("index", "f32", "i32"))
        count = self.choose.number(1, 4)
        self.emit("from_elements", [self.scalar(kind) for _ in range(count)],
                  [Tensor((count,), kind)])  # fmt: skip

    def step_cast(self) -> None:
        if not (source := self.tensor()):
            return
        shape = list(self.value(source).shape)
        if shape and self.choose.chance(10):
            at = self.choose.number(0, len(shape) - 1)
            if source.type.shape[at] is None:
                shape[at] += 1
        self.emit("cast", [source], [self.opened(shape, source.type.dtype)])

    def window(self, shape: Sequence[int]) -> dict[str, list[Any]]:
        """Offsets, sizes and strides inside a shape."""
        sizes, offsets, strides = [], [], []
        for n in shape:
            stride = self.choose.pick((1, 1, 1, 2))
            most = -(-n // stride)
            size = self.choose.number(min(1, most), most)
            room = n - (size - 1) * stride - 1 if size else n
            start: Value | int = self.index(0, room)
            # A constant that reaches outside is no valid program.
            if (
                self.region.ops
                and self.region.ops[-1].kind == "constant"
                and self.choose.chance(60)
            ):
                start = max(0, min(self.value(start), room))
            sizes.append(self.size(size))
            offsets.append(start)
            strides.append(stride)
        return {"offsets": offsets, "sizes": sizes, "strides": strides}

    def kept(self, sizes: Sequence[Value | int]) -> list[bool]:
        """Which dims of extent 1 a slice leaves out."""
        dropped = [n == 1 and isinstance(n, int) and self.choose.chance(40) for n in sizes]
        return [not drop for drop in dropped]

    def step_slice(self) -> None:
        if not (source := self.tensor(lambda t: t.type.rank > 0)):
            return
        more = self.window(self.value(source).shape)
        kept = self.kept(more["sizes"])
        sizes = [n for n, keep in zip(more["sizes"], kept, strict=True) if keep]
        self.emit("slice", [source], [self.of(sizes, source.type.dtype)], kept=kept, **more)

    def step_insert_slice(self) -> None:
        into = self.tensor(lambda t: t.type.rank > 0)
        if not into:
            return
        dtype = into.type.dtype
        sources = self.tensors(
            lambda t: t.type.dtype == dtype and t.type.rank == into.type.rank
            and all(n <= m for n, m in zip(self.value(t).shape, self.value(into).shape, strict=True))
        )  # fmt: skip
        if sources and self.choose.chance(70):
            source = self.choose.pick(sources[::-1])
            shape = self.value(source).shape
            room = [m - n for n, m in zip(shape, self.value(into).shape, strict=True)]
            offsets = [self.index(0, n) for n in room]
            sizes = [m if m is not None else self.extent(source, axis)
                     for axis, m in enumerate(source.type.shape)]  # fmt: skip
            more = {"offsets": offsets, "sizes": sizes, "strides": [1] * len(shape)}
        else:
            more = self.window(self.value(into).shape)
            sizes = more["sizes"]
            shape = [n if isinstance(n, int) else self.run.extent(n) for n in sizes]
            source = self.emit("splat", [self.scalar(dtype)], [self.of(sizes, dtype)],
                               shape=list(sizes))[0]  # fmt: skip
        self.emit("insert_slice", [source, into], [into.type], kept=[True] * len(shape), **more)

    def extent(self, source: Value, axis: int) -> Value:
        """The extent of an open dim, mostly that."""
        if self.choose.chance(5):
            return self.offset(self.value(source).shape[axis])
        return self.emit("dim", [source, self.constant(axis, "index")], ["index"])[0]

    def step_pad(self) -> None:
        source = self.tensor(lambda t: t.type.rank > 0 and self.value(t).size < 40)
        if not source:
            return
        low = [self.size(self.choose.number(0, 2)) for _ in source.type.shape]
        high = [self.size(self.choose.number(0, 2)) for _ in source.type.shape]
        shape = tuple(
            a + n + b if n is not None and isinstance(a, int) and isinstance(b, int) else None
            for a, n, b in zip(low, source.type.shape, high, strict=True)
        )
        region = self.element_region(source.type.dtype, [0] * source.type.rank)
        self.emit("pad", [source], [Tensor(shape, source.type.dtype)], [region], low=low, high=high)

    def element_region(self, dtype: str, place: Sequence[int]) -> Region:
        """Computes an element of its indices."""
        indices = [Value(self.name(), "index") for _ in place]
        with self.inside(indices, place) as region:
            self.scalar_steps()
            region.yields = [self.last(dtype)]
        return region

    def scalar_steps(self) -> None:
        for _ in range(self.choose.number(0, 3)):
            self.choose.pick((Bodies.step_scalar, Bodies.step_extract, Bodies.step_scalar))(self)

    def last(self, dtype: str) -> Value:
        """Some value of a type, the newest scalar converted if there is none."""
        made = [v for op in self.region.ops for v in op.results if isinstance(v.type, str)]
        if made and self.choose.chance(70):
            return self.converted(made[-1], dtype)
        return self.scalar(dtype)

    def step_generate(self) -> None:
        dtype, sizes = self.choose.pick(("f32", "i32", "index", "i64")), self.sizes(self.shape())
        region = self.element_region(dtype, [0] * len(sizes))
        self.emit("generate", [], [self.of(sizes, dtype)], [region], shape=sizes)

    def step_concat(self) -> None:
        first = self.tensor(lambda t: t.type.rank > 0)
        if not first:
            return
        dim = self.choose.number(0, first.type.rank - 1)
        shape = self.value(first).shape

        def agrees(t: Value) -> bool:
            same = t.type.dtype == first.type.dtype and t.type.rank == first.type.rank
            return same and all(
                n == m or axis == dim
                for axis, (n, m) in enumerate(zip(self.value(t).shape, shape, strict=True))
            )

        parts = [first, *(self.tensor(agrees) for _ in range(self.choose.number(1, 2)))]
        if sum(self.value(p).size for p in parts) > MOST:
            return
        found = []
        for axis in range(first.type.rank):
            known = [p.type.shape[axis] for p in parts]
            static = [n for n in known if n is not None]
            if axis == dim:
                found.append(sum(static) if len(static) == len(known) else None)
            else:
                if len(set(static)) > 1:
                    return
                found.append(static[0] if static else None)
        self.emit("concat", parts, [Tensor(tuple(found), first.type.dtype)], dim=dim)

    def factors(self, n: int) -> tuple[int, int]:
        pairs = [(a, n // a) for a in range(1, n + 1) if n % a == 0]
        return self.choose.pick(pairs) if pairs else (0, 3)

    def step_reshape(self) -> None:
        source = self.tensor()
        if not source:
            return
        size = self.value(source).size
        shape = [size] if self.choose.chance(40) else list(self.factors(size))
        if self.choose.chance(8):
            shape[0] += self.choose.pick((1, -1, 100))
        # Fixed extents that cannot hold are no valid program.
        made = [self.index(n, n) for n in shape]
        vector = self.emit("from_elements", made, [Tensor((len(shape),), "index")])[0]
        self.emit("reshape", [source, vector], [Tensor((None,) * len(shape), source.type.dtype)])

    def step_expand(self) -> None:
        source = self.tensor(lambda t: t.type.rank > 0)
        if not source:
            return
        at = self.choose.number(0, source.type.rank - 1)
        groups, shape = [], []
        for axis, n in enumerate(self.value(source).shape):
            fixed = source.type.shape[axis]
            parts: list[int | Value]
            if axis != at:
                parts = [n if fixed is not None else self.extent(source, axis)]
            elif fixed is not None:
                parts = list(self.factors(n))
            else:
                a, b = self.factors(n)
                parts = [a, self.index(b, b)] if self.choose.chance(50) else [self.index(a, a), b]
            groups.append(list(range(len(shape), len(shape) + len(parts))))
            shape += parts
        self.emit(
            "expand", [source], [self.of(shape, source.type.dtype)], groups=groups, shape=shape
        )

    def step_collapse(self) -> None:
        source = self.tensor(lambda t: t.type.rank > 1)
        if not source:
            return
        at = self.choose.number(0, source.type.rank - 2)
        groups = [[axis] for axis in range(source.type.rank)]
        groups[at : at + 2] = [[at, at + 1]]
        shape = []
        for group in groups:
            known = [source.type.shape[d] for d in group]
            shape.append(None if None in known else int(np.prod(known)))
        self.emit("collapse", [source], [Tensor(tuple(shape), source.type.dtype)], groups=groups)


STEPS = (
    Bodies.step_extract, Bodies.step_insert, Bodies.step_slice, Bodies.step_insert_slice,
    Bodies.step_scalar, Bodies.step_pad, Bodies.step_concat, Bodies.step_reshape,
    Bodies.step_expand, Bodies.step_collapse, Bodies.step_generate, Bodies.step_cast,
    Bodies.step_dim, Bodies.step_filled, Bodies.step_constant, Bodies.step_elements,
)  # fmt: skip
