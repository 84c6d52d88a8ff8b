"""Random cascades.

A program has stages, each a reduction over one set of dims of something made from data and from
what earlier stages gave; families of stages make sure that what the derivation knows comes up
often, and a random one that nothing else is taken for granted. All choices come from a
:class:`Choices`, so that hypothesis, a seed or a list of numbers can drive it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from draws import DTYPES
from program import DIMS, FLOATS, Node, Program
from steps import COMBINERS, RECURRENCES, RUNNING, STEPS

T = TypeVar("T")

EXTENTS = (2, 3, 5, 7, 13, 17, 31, 37, 64, 67)
SMALL = (1, 2, 3, 5)


class Choices:
    """Where choices come from: ``number(low, high)`` is one, both included."""

    def __init__(self, number: Callable[[int, int], int]) -> None:
        self.number = number

    def pick(self, values: Sequence[T]) -> T:
        """One of the values; the first is the simplest."""
        return values[self.number(0, len(values) - 1)]

    def chance(self, percent: int) -> bool:
        """True in some of the cases; False is simpler."""
        return self.number(0, 99) >= 100 - percent


class Recorded(Choices):
    """Choices that are read from a list and, when that ends, made by a seed, or 0 without one.
    ``made`` is the list that leads to the same program."""

    def __init__(self, given: Sequence[int] = (), seed: int | None = None) -> None:
        self.made: list[int] = []
        source = iter(given)
        rng = random.Random(seed)

        def number(low: int, high: int) -> int:
            value = next(source, None)
            if value is None:
                value = 0 if seed is None else rng.randint(0, high - low)
            value = min(max(value, 0), high - low)
            self.made.append(value)
            return low + value

        super().__init__(number)


class Generator:
    """Builds one program."""

    def __init__(self, choices: Choices) -> None:
        self.choose = choices
        self.float = self.choose.pick(["f32"] * 8 + ["f64"])
        self.over = self.choose.pick(["j", "j", "j", "i", "jk", "b", "ik"])
        left = [c for c in "bijk" if c not in self.over]
        self.free = "".join(c for c in left if self.choose.chance(45))
        self.wide = self.choose.chance(35)  # a dim of values that only some data has
        extents = {c: self.choose.pick(SMALL) for c in DIMS}
        for c in self.over:
            several = len(self.over) > 1
            extents[c] = self.choose.pick((3, 1, 2, 7, 11) if several else EXTENTS)
        if self.choose.chance(8):
            extents[self.choose.pick(self.over)] = self.choose.pick((1, 0))
        dynamic = ""
        if self.choose.chance(30):
            dynamic = self.over + "".join(c for c in self.free if self.choose.chance(50))
        self.program = Program(extents, dynamic)
        self.space = "".join(c for c in DIMS if c in self.over + self.free)
        self.data = [self.argument(self.space)]
        self.masks: list[Node] = []
        self.done: list[Node] = []
        self.maps: list[Node] = []
        self.whole: list[Node] = []  # integers over the data

    # ---- leaves

    def argument(self, space: str, dtype: str | None = None) -> Node:
        kind = dtype or self.choose.pick([self.float] * 6 + ["bf16", "f16", "f32"])
        node = self.program.add("arg", space=space, dtype=kind)
        return node if kind == self.float or kind not in FLOATS else self.cast(node, self.float)

    def cast(self, node: Node, dtype: str) -> Node:
        if node.dtype == dtype:
            return node
        if node.dtype in FLOATS and dtype in FLOATS and {node.dtype, dtype} == {"f16", "bf16"}:
            node = self.cast(node, "f32")
        return self.map("cast", node, dtype=dtype)

    def constant(self, value: float, dtype: str | None = None) -> Node:
        kind = dtype or self.float
        exact = float(np.asarray(value, DTYPES[kind])) if kind in FLOATS else value
        return self.program.add("const", space="", dtype=kind, value=exact)

    def map(self, op: str, *operands: Node, **fields: Any) -> Node:
        return self.program.add(op, *operands, inline=self.choose.chance(50), **fields)

    def more(self) -> Node:
        """Data: old or new, over all dims or some."""
        kind = self.choose.number(0, 5)
        if kind <= 2:
            return self.choose.pick(self.data)
        if kind == 3:
            space = self.over
        elif kind == 4:
            space = self.space
        else:
            space = "".join(c for c in self.space if c in self.over or self.choose.chance(50))
        node = self.argument("".join(c for c in DIMS if c in space))
        self.data.append(node)
        return node

    def values(self) -> Node:
        """Data to be contracted with, with the wide dim if there is one."""
        if not self.wide:
            return self.more()
        space = "".join(c for c in DIMS if c in self.over + "d")
        if self.choose.chance(30):
            space = "".join(c for c in DIMS if c in self.space + "d")
        return self.argument(space)

    # ---- operations

    def unary(self, op: str, a: Node) -> Node:
        return self.map(op, a)

    def binary(self, op: str, a: Node, b: Node) -> Node:
        return self.map(op, a, b)

    def reduce(self, reducer: str, node: Node) -> Node:
        over = "".join(c for c in self.over if c in node.space)
        return self.program.reduce(reducer, node, over, keepdim=self.choose.chance(40))

    def count(self) -> Node:
        return self.program.add("extent", space="", dtype=self.float, value=self.over)

    def mean(self, node: Node) -> Node:
        return self.binary("divf", self.reduce("add", self.spread(node)), self.count())

    def spread(self, node: Node) -> Node:
        """Over all reduced dims: a mean of what lacks one would count wrongly."""
        missing = set(self.over) - set(node.space)
        return self.binary("addf", node, self.binary("mulf", self.data[0], self.constant(0.0))) \
            if missing else node  # fmt: skip

    def mask(self) -> Node:
        """An i1 from positions, from other data, or an argument."""
        kind = self.choose.number(0, 4)
        if kind == 0 and self.free:
            a = self.program.add("index", space=self.over[0], dtype="i64", value=self.over[0])
            b = self.program.add("index", space=self.free[0], dtype="i64", value=self.free[0])
            return self.map("cmpi", a, b, dtype="i1", value=self.choose.pick(["sle", "sgt", "ne"]))
        if kind <= 2:
            a = self.program.add("index", space=self.over[0], dtype="i64", value=self.over[0])
            if kind == 1:
                bound = self.constant(self.choose.number(0, 12), "i64")
            else:
                bound = self.program.add("arg", space=self.free[:1], dtype="i64")
            return self.map("cmpi", a, bound, dtype="i1", value=self.choose.pick(["slt", "sge"]))
        if kind == 3:
            predicate = self.choose.pick(["ogt", "olt", "oeq", "une"])
            return self.map("cmpf", self.more(), self.constant(0.0), dtype="i1", value=predicate)
        return self.program.add("arg", space=self.space, dtype="i1")

    def masked(self, node: Node, value: float) -> Node:
        where = self.mask()
        other = self.constant(value)
        if not set(where.space) <= set(node.space):
            return node
        a, b = (node, other) if self.choose.chance(50) else (other, node)
        return self.map("select", where, a, b, dtype=node.dtype)

    def data_value(self) -> Node:
        node = self.more()
        kind = self.choose.number(0, 9)
        if kind == 4:
            return self.binary("mulf", node, self.more())
        if kind == 5:
            return self.unary("absf", node)
        if kind == 6:
            return self.masked(node, self.choose.pick([0.0, 1.0, -3.0]))
        if kind == 7:
            return self.binary(self.choose.pick(["addf", "subf"]), node, self.more())
        if kind == 8:
            return self.unary(self.choose.pick(["tanh", "negf", "exp"]), node)
        if kind == 9:
            position = self.program.add(
                "index", space=self.over[0], dtype="i64", value=self.over[0]
            )
            return self.binary("mulf", node, self.cast(position, self.float))
        return node

    def done_value(self) -> Node:
        """What a stage gave, or something made of it."""
        node = self.choose.pick(self.done)
        kind = self.choose.number(0, 9)
        if kind == 5:
            return self.unary(self.choose.pick(["absf", "negf", "exp", "tanh"]), node)
        if kind == 6:
            eps = self.constant(self.choose.pick([1e-5, 1.0]))
            square = self.binary("mulf", node, node)
            return self.unary(self.choose.pick(["sqrt", "rsqrt"]), self.binary("addf", square, eps))
        if kind == 7:
            return self.binary("divf", node, self.count())
        if kind == 8:
            return self.binary(
                self.choose.pick(["addf", "mulf", "divf"]), node, self.choose.pick(self.done)
            )
        if kind == 9:
            zero = self.constant(0.0)
            isnt = self.map("cmpf", node, zero, dtype="i1", value=self.choose.pick(["oeq", "ogt"]))
            return self.map("select", isnt, self.constant(1.0), node, dtype=node.dtype)
        return node

    # ---- stages: each appends to done and maps

    def exponential(self) -> None:
        x = self.data_value()
        if self.choose.chance(25):
            x = self.masked(x, self.choose.pick([-math.inf, -math.inf, -1e9]))
        if self.choose.chance(20):
            x = self.binary("mulf", x, self.constant(self.choose.pick([0.25, 1.4426950216293335])))
        top = self.reduce("max", x)
        shifted = self.binary("subf", x, top)
        raised = self.unary(self.choose.pick(["exp", "exp", "exp2"]), shifted)
        if self.choose.chance(20):
            raised = self.masked(raised, 0.0)
        total = self.reduce("add", raised)
        self.done += [top, total]
        weights = self.binary("divf", raised, total)
        kind = self.choose.number(0, 7)
        if kind <= 2:
            self.done.append(
                self.reduce("add", self.binary("mulf", self.rounded(weights), self.values()))
            )
        elif kind == 3:
            self.done.append(self.reduce("add", self.binary("mulf", raised, shifted)))
        elif kind == 4:
            lse = self.binary("addf", top, self.unary("log", total))
            again = self.unary("exp", self.binary("subf", x, lse))
            self.done.append(self.reduce("add", self.binary("mulf", again, self.values())))
        elif kind == 5:
            self.maps.append(weights)
        elif kind == 6:
            self.done.append(self.binary("addf", top, self.unary("log", total)))

    def rounded(self, node: Node) -> Node:
        if self.float != "f32" or not self.choose.chance(15):
            return node
        return self.cast(self.cast(node, self.choose.pick(["bf16", "f16"])), "f32")

    def moments(self) -> None:
        x = self.more() if self.choose.chance(70) else self.data_value()
        centre = self.mean(x)
        if self.choose.chance(20):
            w = self.unary("exp", self.more())
            total = self.reduce("add", w)
            centre = self.binary("divf", self.reduce("add", self.binary("mulf", w, x)), total)
        self.done.append(centre)
        away = self.binary("subf", x, centre)
        power = away
        for _ in range(self.choose.number(1, 3)):
            power = self.binary("mulf", power, away)
        kind = self.choose.number(0, 5)
        if kind == 1:
            power = self.binary("mulf", power, self.more())
        elif kind == 2:
            y = self.more()
            power = self.binary("mulf", away, self.binary("subf", y, self.mean(y)))
        spread = self.mean(power)
        self.done.append(spread)
        if kind >= 4:
            eps = self.constant(self.choose.pick([1e-5, 1e-3]))
            scale = self.unary("rsqrt", self.binary("addf", spread, eps))
            normal = self.binary("mulf", away, scale)
            if kind == 4:
                self.maps.append(normal)
            else:
                self.done.append(self.reduce("add", self.binary("mulf", normal, self.values())))

    def scaled(self) -> None:
        product = self.binary("mulf", self.data_value(), self.values())
        op = self.choose.pick(["mulf", "divf", "addf", "subf"])
        if self.done:
            product = self.binary(op, product, self.done_value())
        self.done.append(self.reduce("add", product))

    def extreme(self) -> None:
        x = self.data_value()
        if self.done:
            if self.choose.chance(50):
                x = self.unary("absf", x)
            op = self.choose.pick(["mulf", "addf", "subf", "divf", "maximumf"])
            a, b = x, self.done_value()
            x = (
                self.binary(op, b, a)
                if op == "subf" and self.choose.chance(50)
                else self.binary(op, a, b)
            )
        self.done.append(
            self.reduce(self.choose.pick(["max", "min", "max", "min", "maxnum", "minnum"]), x)
        )

    def product(self) -> None:
        """A product of numbers near 1."""
        small = self.binary("mulf", self.unary("tanh", self.data_value()), self.constant(0.25))
        factor = self.binary("addf", small, self.constant(1.0))
        if self.done and self.choose.chance(50):
            factor = self.binary("mulf", factor, self.unary("tanh", self.done_value()))
        self.done.append(self.reduce("mul", factor))

    def logical(self) -> None:
        """and, or, counts: of masks."""
        where = self.mask()
        if self.done and self.choose.chance(30):
            where = self.map("cmpf", self.more(), self.done_value(), dtype="i1",
                             value=self.choose.pick(["ogt", "ole"]))  # fmt: skip
        if not set(self.over) & set(where.space):
            return self.scaled()
        kind = self.choose.pick(["and", "or", "count"])
        if kind == "count":
            self.whole.append(self.reduce("add", self.cast(where, "i64")))
            self.done.append(self.cast(self.whole[-1], self.float))
            return None
        found = self.reduce(kind, where)
        self.whole.append(found)
        if self.done and self.choose.chance(50):
            node = self.choose.pick(self.done)
            self.done.append(self.map("select", found, self.constant(0.0), node, dtype=node.dtype))
        return None

    def integers(self) -> None:
        x = self.argument(self.space, self.choose.pick(["i32", "i64", "i8"]))
        if self.choose.chance(40):
            x = self.cast(x, "i32") if x.dtype == "i8" else x
            x = self.binary(self.choose.pick(["muli", "addi", "maxsi"]), x, x)
        reduced = self.reduce(self.choose.pick(
            ["add", "max", "min", "and", "or", "mul", "xor", "maxu", "minu"]), x)  # fmt: skip
        self.whole.append(reduced)
        if reduced.dtype != "i1":
            self.done.append(self.cast(reduced, self.float))

    def selection(self) -> None:
        """argmax and the like over the last of the reduced dims."""
        x = self.data_value() if not self.done or self.choose.chance(60) else self.mixed()
        dim = self.over[-1]
        if dim not in x.space:
            return self.scaled()
        left = x.space.replace(dim, "")
        kind = self.choose.number(0, 3)
        if kind == 3 and x.space[-1] == dim and dim in "ij" and self.program.extents[dim] > 3 \
                and "k" not in self.over + self.free and "d" not in x.space \
                and dim not in self.program.dynamic and not self.has_rank():  # fmt: skip
            count = self.choose.number(1, min(4, self.program.extents[dim]))
            self.program.extents["k"] = count
            for op, dtype in (("rank", x.dtype), ("rankindex", "i64")):
                node = self.program.add(op, x, space=left + "k", dtype=dtype, value=count, over=dim)
                (self.maps if op == "rank" else self.whole).append(node)
            return None
        op = self.choose.pick(["argmax", "argmin"])
        self.whole.append(self.program.add(op, x, space=left, dtype="i64", over=dim))
        return None

    # ---- recurrences, scans and declared combiners, along the last of the reduced dims

    def decay(self) -> Node:
        """Factors between -1 and 1."""
        x = self.more()
        kind = self.choose.number(0, 3)
        if kind == 0:
            return self.unary("exp", self.unary("negf", self.unary("absf", x)))
        if kind == 1:
            return self.masked(self.unary("tanh", x), self.choose.pick([0.0, 1.0]))
        if kind == 2:
            return self.unary("tanh", self.binary("mulf", x, self.constant(0.25)))
        return self.unary("tanh", x)

    def near_one(self) -> Node:
        small = self.binary("mulf", self.unary("tanh", self.more()), self.constant(0.25))
        return self.binary("addf", small, self.constant(1.0))

    def small(self) -> Node:
        return self.binary("mulf", self.unary("tanh", self.more()), self.constant(0.5))

    def stepped(self, name: str, elements: list[Node], initial: tuple[float, ...]) -> None:
        """What a step comes to, or all it was on the way; that may be reduced."""
        dim = self.over[-1]
        letters = {c for element in elements for c in element.space}
        if dim not in letters:
            return self.scaled()
        space = "".join(c for c in DIMS if c in letters)
        part = self.choose.number(0, len(initial) - 1)
        value = (name, part, initial)
        if not self.choose.chance(45):
            left = space.replace(dim, "")
            made = [self.program.add("steps", *elements, space=left, value=value, over=dim)]
            if len(initial) > 1 and self.choose.chance(50):
                value = (name, (part + 1) % len(initial), initial)
                made.append(self.program.add("steps", *elements, space=left, value=value, over=dim))
            (self.maps if set(self.over) & set(left) else self.done).extend(made)
            return None
        all_ = self.program.add("prefixes", *elements, space=space, value=value, over=dim)
        kind = self.choose.number(0, 3)
        others = [c for c in space if c not in self.over]
        if kind == 1 and others:  # as a gated linear attention
            over = self.choose.pick(others)
            self.maps.append(
                self.program.reduce("add", self.binary("mulf", all_, self.data[0]), over)
            )
        elif kind == 2:
            self.done.append(self.reduce("add", self.binary("mulf", all_, self.more())))
        else:
            self.maps.append(self.unary("absf", all_) if kind == 3 else all_)
        return None

    def recurrence(self) -> None:
        b = self.mixed() if self.done and self.choose.chance(30) else self.data_value()
        initial = self.choose.pick([0.0, 0.0, 1.5, -2.0])
        self.stepped(self.choose.pick(list(RECURRENCES)), [self.decay(), b], (initial,))

    def running(self) -> None:
        name = self.choose.pick(list(RUNNING))
        x = self.near_one() if name == "product" else self.data_value()
        initial = self.choose.pick([{"product": 1.0}.get(name, 0.0), 1.5])
        self.stepped(name, [x], (initial,))

    def declared(self) -> None:
        name = self.choose.pick(list(COMBINERS))
        x = self.mixed() if self.done and self.choose.chance(15) else self.data_value()
        if name == "logsumexp":
            elements = [x, self.unary("exp", self.unary("tanh", self.more()))]
        elif name == "affine":
            elements = [self.decay(), x]
        elif name == "complex":
            elements = [self.near_one(), self.small()]
        elif name == "last":
            elements = [x, self.cast(self.mask(), self.float)]
        elif name == "two largest":
            y = self.more()
            elements = [self.binary("maximumf", x, y), self.binary("minimumf", x, y)]
        elif name == "matrix":
            elements = [self.small() for _ in range(4)]
        else:
            elements = [x]
        initial = STEPS[name].identity
        if self.choose.chance(25):
            initial = (0.5,) * len(initial)
        self.stepped(name, elements, initial)

    def has_rank(self) -> bool:
        return any(node.op.startswith("rank") for node in self.program.nodes)

    def mixed(self) -> Node:
        """Data and reduced values, at random."""
        value = self.data_value()
        if not self.done:
            return value
        for _ in range(self.choose.number(1, 3)):
            kind = self.choose.number(0, 7)
            if kind <= 1:
                op = self.choose.pick(["addf", "subf", "mulf", "mulf", "divf"])
                value = self.binary(op, value, self.done_value())
            elif kind == 2:
                value = self.binary(
                    "mulf", value, self.binary("subf", self.more(), self.done_value())
                )
            elif kind == 3:
                value = self.binary("mulf", value, self.data_value())
            elif kind == 4:
                value = self.binary("divf", self.done_value(), value)
            elif kind == 5:
                value = self.unary("negf", value)
            elif kind == 6:
                value = self.binary("mulf", value, value)
            else:
                value = self.masked(value, 0.0)
        return value

    def random(self) -> None:
        reducer = self.choose.pick(["add", "add", "add", "max", "min"])
        self.done.append(self.reduce(reducer, self.mixed()))

    def barrier(self) -> None:
        """What no merge exists for, mostly."""
        x = self.data_value()
        if not self.done:
            return self.scaled()
        d = self.done_value()
        kind = self.choose.number(0, 5)
        if kind == 0:
            x = self.unary("exp", self.binary("mulf", x, d))
        elif kind == 1:
            x = self.unary("roundeven", self.binary("divf", x, d))
        elif kind == 2:
            above = self.map("cmpf", x, d, dtype="i1", value="ogt")
            x = self.map("select", above, x, self.constant(0.0), dtype=x.dtype)
        elif kind == 3:
            x = self.unary("tanh", self.binary("addf", x, d))
        elif kind == 4:
            x = self.unary("log", self.binary("mulf", self.unary("absf", x), self.unary("absf", d)))
        else:
            x = self.binary("maximumf", x, d)
        self.done.append(self.reduce(self.choose.pick(["add", "max"]), x))
        return None

    def build(self) -> Program:
        """The program."""
        families = [
            self.scaled, self.exponential, self.moments, self.random, self.exponential,
            self.moments, self.random, self.extreme, self.product, self.logical, self.integers,
            self.selection, self.barrier, self.scaled, self.recurrence, self.running,
            self.declared, self.selection,
        ]  # fmt: skip
        for _ in range(self.choose.number(1, 3)):
            self.choose.pick(families)()
        results = [*self.done[-2:], *self.maps[-2:], *self.whole[-2:]]
        if self.done and self.choose.chance(30):
            results.append(self.done_value())
        if self.done and self.choose.chance(20):
            last = self.binary(self.choose.pick(["mulf", "subf"]), self.data[0], self.done[-1])
            results.append(last)
        chosen = list(
            dict.fromkeys(n.number for n in results if n.op not in ("arg", "const", "extent"))
        )
        self.program.results = chosen
        return self.program


def generate(choices: Choices) -> Program:
    """A random program."""
    return Generator(choices).build()
