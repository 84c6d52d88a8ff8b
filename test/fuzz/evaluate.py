"""Exact values of a program, and how far rounding may move them.

Every node is evaluated in 80-bit floats as an array over all of :data:`program.DIMS` (extent 1
where the node lacks a dim), beside a bound of the error of the program in its own types, to first
order:

- an operation moves its operands' bounds by its derivative and adds the roundoff of its type times
  the magnitude of its result;
- a sum of n terms adds the roundoff of its type times sqrt(n) times the sum of the magnitudes of its
  terms: rounding errors of a long sum partly cancel, in any order;
- what falls below the smallest normal number may be lost;
- a comparison that the bounds do not decide moves a choice by the difference of its branches.

Where an intermediate leaves the range of its type the bound is infinite: nothing can be said.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from program import DIMS, FLOATS, LARGEST, Node, Program
from redfuse.check import ROUNDOFF
from steps import STEPS, Line

SMALLEST = {"f64": 2.3e-308, "f32": 1.2e-38, "f16": 6.2e-5, "bf16": 1.2e-38}
# Roundoffs of a function of the mathematical library.
LIBRARY = 4.0


class Measured(NamedTuple):
    """A value and the bound of its error, of one shape; integers have the bound 0 where they are
    certain, else infinity."""

    value: np.ndarray
    bound: np.ndarray


class Evaluation:
    """All nodes of a program for given arguments."""

    def __init__(self, program: Program, arguments: list[np.ndarray], extents: dict[str, int]):
        self.program, self.extents = program, extents
        self.nodes: dict[int, Measured] = {}
        self.stepped: dict[tuple, list[Measured]] = {}
        given = iter(arguments)
        with np.errstate(all="ignore"):
            for node in program.live():
                if node.op == "arg":
                    value = self.spread(next(given), node)
                    self.nodes[node.number] = Measured(value, np.zeros(value.shape))
                else:
                    self.nodes[node.number] = self.node(node)

    def spread(self, array: np.ndarray, node: Node) -> np.ndarray:
        """With an axis for every dim."""
        shape = [self.extents[c] if c in node.space else 1 for c in DIMS]
        array = array.reshape(shape)
        return array.astype(np.longdouble) if node.dtype in FLOATS else array

    def result(self, number: int) -> Measured:
        """A node in the shape that the compiled program returns it in."""
        node = self.program.nodes[number]
        value, bound = self.nodes[number]
        if node.keepdim:
            operand = self.program.nodes[node.operands[0]].space
            layout = [(c, c not in node.over) for c in operand]
        else:
            layout = [(c, True) for c in node.space]
        shape = [self.extents[c] if whole else 1 for c, whole in layout]
        full = [self.extents[c] if c in node.space else 1 for c in DIMS]
        return Measured(
            np.broadcast_to(value, full).reshape(shape),
            np.broadcast_to(bound, full).reshape(shape),
        )

    def node(self, node: Node) -> Measured:
        operands = [self.nodes[n] for n in node.operands]
        if node.op == "const":
            kind = np.longdouble if node.dtype in FLOATS else np.int64
            value = np.full((1,) * len(DIMS), node.value, kind)
            return Measured(
                value.astype(bool) if node.dtype == "i1" else value, np.zeros(value.shape)
            )
        if node.op == "extent":
            count = float(np.prod([self.extents[c] for c in node.value]))
            value = np.full((1,) * len(DIMS), count, np.longdouble)
            return Measured(value, np.zeros(value.shape))
        if node.op == "index":
            shape = [-1 if c == node.value else 1 for c in DIMS]
            value = np.arange(self.extents[node.value]).reshape(shape)
            return Measured(value, np.zeros(value.shape))
        if node.op in ("steps", "prefixes"):
            return self.steps(node)
        if node.op in ("reduce", "argmax", "argmin", "rank", "rankindex"):
            full = [self.extents[c] if c in self.program.nodes[node.operands[0]].space else 1
                    for c in DIMS]  # fmt: skip
            wide = Measured(*(np.broadcast_to(a, full) for a in operands[0]))
            return self.over(node, wide)
        if node.dtype not in FLOATS or node.op == "select":
            return self.discrete(node, operands)
        return self.floats(node, operands)

    def over(self, node: Node, operand: Measured) -> Measured:
        """Reductions and selections."""
        axes = tuple(DIMS.index(c) for c in node.over)
        x, b = operand
        if node.op.startswith("rank"):
            return self.ranked(node, operand)
        if node.op != "reduce":
            return self.selected(node, operand, axes[0])
        n = max(1, int(np.prod([x.shape[a] for a in axes])))
        if node.dtype not in FLOATS:
            kind = np.bool_ if node.dtype == "i1" else np.int64
            ufunc = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
                     "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
                     "maxu": np.maximum, "minu": np.minimum}[node.value]  # fmt: skip
            bits = 1 if node.dtype == "i1" else int(node.dtype[1:])
            least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
            start = {"max": least, "min": most, "and": -1, "add": 0, "mul": 1, "or": 0, "xor": 0,
                     "maxu": least, "minu": most}[node.value]  # fmt: skip
            # Unsigned numbers have the order of signed ones with the other first bit.
            flip = least if node.value in ("maxu", "minu") else 0
            x = x ^ flip if flip else x
            initial = bool(start) if node.dtype == "i1" else start
            value = ufunc.reduce(x, axis=axes, keepdims=True, dtype=kind, initial=initial)
            if bits < 64 and node.dtype != "i1":
                value = value.astype(f"int{bits}").astype(np.int64)
            value = value ^ flip if flip else value
            return Measured(value, b.max(axis=axes, keepdims=True, initial=0))
        u = ROUNDOFF[node.dtype]
        if node.value == "add":
            value = x.sum(axis=axes, keepdims=True)
            total = np.abs(x).sum(axis=axes, keepdims=True)
            added = b.sum(axis=axes, keepdims=True) + u * np.sqrt(n) * total
            return self.closed(node, value, added, [operand], largest=total, axes=axes)
        if node.value == "mul":
            value = x.prod(axis=axes, keepdims=True)
            moved = (b / np.abs(x)).sum(axis=axes, keepdims=True) + u * n
            # The running product must stay in range whatever the order.
            extent = np.exp(np.abs(np.log(np.abs(x))).sum(axis=axes, keepdims=True))
            return self.closed(node, value, moved * np.abs(value), [operand], extent, axes)
        reducer = {"max": np.maximum, "min": np.minimum, "maxnum": np.fmax,
                   "minnum": np.fmin}[node.value]  # fmt: skip
        start = -np.inf if node.value.startswith("max") else np.inf
        value = reducer.reduce(x, axis=axes, keepdims=True, initial=start)
        return self.closed(node, value, b.max(axis=axes, keepdims=True, initial=0), [operand],
                           axes=axes)  # fmt: skip

    def steps(self, node: Node) -> Measured:
        """A recurrence or a declared combiner, element after element."""
        name, part, initial = node.value
        key = (node.op, name, node.operands, node.over, initial)
        if key in self.stepped:
            return self.stepped[key][part]
        step, axis = STEPS[name], DIMS.index(node.over)
        elements = [self.nodes[n] for n in node.operands]
        shape = np.broadcast_shapes(*(e.value.shape for e in elements))
        count = self.extents[node.over]
        shape = tuple(count if a == axis else n for a, n in enumerate(shape))
        one = tuple(1 if a == axis else n for a, n in enumerate(shape))
        wide = [Measured(*(np.broadcast_to(a, shape) for a in e)) for e in elements]
        states = [Measured(np.full(one, value, np.longdouble), np.zeros(one)) for value in initial]
        every: list[list[Measured]] = [[] for _ in states]
        for at in range(count):
            values = {f"e{i}": Measured(*(np.take(a, [at], axis) for a in e))
                      for i, e in enumerate(wide)}  # fmt: skip
            values |= {f"h{i}": state for i, state in enumerate(states)}
            for line in step.lines:
                values[line.name] = self.line(line, node.dtype, values)
            states = [values[result] for result in step.results]
            for seen, state in zip(every, states, strict=True):
                seen.append(state)
        if node.op == "prefixes":
            nothing = tuple(0 if a == axis else n for a, n in enumerate(shape))
            states = [
                Measured(*(np.concatenate(a, axis) for a in zip(*seen, strict=True)))
                if seen else Measured(np.zeros(nothing, np.longdouble), np.zeros(nothing))
                for seen in every
            ]  # fmt: skip
        self.stepped[key] = states
        return states[part]

    def line(self, line: Line, dtype: str, values: dict[str, Measured]) -> Measured:
        """A scalar operation of a step."""
        operands = [
            values[o] if isinstance(o, str)
            else Measured(np.full((1,) * len(DIMS), o, np.longdouble), np.zeros((1,) * len(DIMS)))
            for o in line.operands
        ]  # fmt: skip
        kind = "i1" if line.op == "cmpf" else dtype
        node = Node(-1, line.op, (), "", kind, line.value)
        if line.op in ("cmpf", "select"):
            return self.discrete(node, operands)
        value, bound = self.floats(node, operands)
        if line.op in ("addf", "subf"):
            # As in a sum, what was added up counts: segments cancel elsewhere than prefixes.
            gone = np.abs(operands[0].value) + np.abs(operands[1].value) - np.abs(value)
            bound = bound + ROUNDOFF[dtype] * np.where(np.isfinite(gone), gone, 0)
        return Measured(value, bound)

    def selected(self, node: Node, operand: Measured, axis: int) -> Measured:
        """The first index of the best value; uncertain where another is as good to the bounds, or
        where one is no number."""
        x, b = operand
        if x.shape[axis] == 0:
            shape = [1 if a == axis else n for a, n in enumerate(x.shape)]
            return Measured(np.zeros(shape, np.int64), np.zeros(shape))
        sign = 1 if node.op == "argmax" else -1
        x = x * sign
        at = np.expand_dims(x.argmax(axis=axis), axis)
        best = np.take_along_axis(x, at, axis)
        room = b.max(axis=axis, keepdims=True) * 2
        others = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
        close = (x >= best - room) & (others != at) & (room > 0)
        unsure = close.any(axis=axis, keepdims=True) | np.isnan(x).any(axis=axis, keepdims=True)
        unsure |= ~np.isfinite(room)
        # Nothing is larger than -inf: the index stays what the fill made it.
        at = np.where(best == -np.inf, 0, at)
        return Measured(at, np.where(unsure, np.inf, 0.0))

    def ranked(self, node: Node, operand: Measured) -> Measured:
        x, b = operand
        axis = DIMS.index(node.over)
        order = np.argsort(-x, axis=axis, kind="stable")
        count = node.value
        chosen = np.take(order, range(count), axis=axis)
        values = np.take_along_axis(x, order, axis)
        room = 2 * b.max(axis=axis, keepdims=True, initial=0)
        unsure = np.isnan(x).any(axis=axis, keepdims=True) | ~np.isfinite(room)
        if x.shape[axis] > 1:
            near = np.diff(values, axis=axis) >= -room
            unsure = unsure | (near & (room > 0)).any(axis=axis, keepdims=True)
        picked = np.take(values, range(count), axis=axis)
        bound = np.broadcast_to(np.where(unsure, np.inf, 0.0), picked.shape)
        out = DIMS.index(node.space[-1])
        if node.op == "rankindex":
            return Measured(np.swapaxes(chosen, axis, out), np.swapaxes(bound, axis, out))
        wide = np.broadcast_to(room, picked.shape) + 0.0
        wide[np.isnan(x).any(axis=axis, keepdims=True) & np.ones(picked.shape, bool)] = np.inf
        return Measured(np.swapaxes(picked, axis, out), np.swapaxes(wide, axis, out))

    def discrete(self, node: Node, operands: list[Measured]) -> Measured:
        """Comparisons, choices, integers."""
        values = [o.value for o in operands]
        bounds = [o.bound for o in operands]
        if node.op == "select":
            where, a, c = operands
            value = np.where(where.value, a.value, c.value)
            bound = np.where(where.value, a.bound, c.bound)
            unsure = (where.bound > 0) & ~(a.value == c.value)
            gap = np.abs(a.value - c.value) + np.maximum(a.bound, c.bound)
            return Measured(value, np.where(unsure, np.where(np.isnan(gap), np.inf, gap), bound))
        if node.op == "cmpf":
            x, y = values
            ops = {"ogt": x > y, "oge": x >= y, "olt": x < y, "ole": x <= y, "oeq": x == y,
                   "une": x != y}  # fmt: skip
            room = bounds[0] + bounds[1]
            near = (room > 0) & ~(np.abs(x - y) > room)
            return Measured(ops[node.value], np.where(near, np.inf, 0.0))
        sure = sum(bounds, np.zeros(1))
        if node.op == "cmpi":
            x, y = values
            ops = {"slt": x < y, "sle": x <= y, "sgt": x > y, "sge": x >= y, "eq": x == y,
                   "ne": x != y}  # fmt: skip
            return Measured(ops[node.value], sure + np.zeros(np.broadcast_shapes(x.shape, y.shape)))
        if node.op == "cast":
            return Measured(values[0].astype(np.int64), sure + np.zeros(values[0].shape))
        ufunc = {"addi": np.add, "subi": np.subtract, "muli": np.multiply, "maxsi": np.maximum,
                 "minsi": np.minimum, "andi": np.bitwise_and, "ori": np.bitwise_or}[node.op]  # fmt: skip
        value = ufunc(*values)
        if node.dtype in ("i8", "i32"):
            value = value.astype(f"int{node.dtype[1:]}").astype(np.int64)
        return Measured(value, sure + np.zeros(value.shape))

    def floats(self, node: Node, operands: list[Measured]) -> Measured:
        """Scalar operations on floats."""
        (x, b), *rest = operands
        u = ROUNDOFF[node.dtype]
        if rest:
            y, c = rest[0]
        if node.op in ("addf", "subf"):
            value = x + y if node.op == "addf" else x - y
            bound = b + c + u * np.abs(value)
        elif node.op == "mulf":
            value = x * y
            bound = np.abs(x) * c + np.abs(y) * b + b * c + u * np.abs(value)
        elif node.op == "divf":
            value = x / y
            bound = (b + np.abs(value) * c) / np.maximum(np.abs(y) - c, 0) + u * np.abs(value)
            bound = np.where((b == 0) & (c == 0), u * np.abs(value), bound)
        elif node.op in ("maximumf", "minimumf"):
            value = (np.maximum if node.op == "maximumf" else np.minimum)(x, y)
            bound = np.maximum(b, c)
        elif node.op in ("exp", "exp2"):
            rate = 1.0 if node.op == "exp" else np.log(2.0)
            value = np.exp(x) if node.op == "exp" else np.exp2(x)
            # The library rounds the argument times log2(e).
            moved = rate * (b + u * np.minimum(np.abs(x), 1e4))
            bound = np.abs(value) * (np.expm1(moved) + LIBRARY * u)
        elif node.op == "log":
            value = np.log(x)
            bound = -np.log1p(-np.minimum(b / np.abs(x), 1)) + LIBRARY * u * np.abs(value)
        elif node.op == "sqrt":
            value = np.sqrt(x)
            bound = np.minimum(b / value, np.sqrt(b)) + LIBRARY * u * value
            bound = np.where(b > np.abs(x), np.inf, bound)
        elif node.op == "rsqrt":
            value = 1 / np.sqrt(x)
            bound = 1 / np.sqrt(np.maximum(x - b, 0)) - value + LIBRARY * u * np.abs(value)
            bound = np.where(b == 0, LIBRARY * u * np.abs(value), bound)
        elif node.op == "tanh":
            value = np.tanh(x)
            bound = b * np.minimum(1, 1 - value**2 + 2 * b) + LIBRARY * u * np.abs(value)
        elif node.op == "absf":
            value, bound = np.abs(x), b
        elif node.op == "negf":
            value, bound = -x, b
        elif node.op == "roundeven":
            value = np.rint(x)
            bound = np.where((b > 0) & (np.rint(x - b) != np.rint(x + b)), b + 1, 0)
        else:
            assert node.op == "cast", node.op
            value = np.asarray(x, np.longdouble)
            bound = b + (u * np.abs(value) if self.narrows(node) else 0)
        return self.closed(node, value, bound, operands)

    def narrows(self, node: Node) -> bool:
        before = self.program.nodes[node.operands[0]].dtype
        return before not in FLOATS or ROUNDOFF[before] < ROUNDOFF[node.dtype]

    def closed(
        self, node: Node, value: np.ndarray, bound: np.ndarray, operands: list[Measured],
        largest: np.ndarray | None = None, axes: tuple[int, ...] = (),
    ) -> Measured:  # fmt: skip
        """With what holds for every operation: infinities and NaNs of the data are exact, the
        small is lost, the large leaves the range."""
        unsure = np.zeros(value.shape, bool)
        infinite = np.zeros(value.shape, bool)
        for x, b in operands:
            lost, open_ = ~np.isfinite(b), ~np.isfinite(x)
            if axes:
                lost, open_ = (a.any(axis=axes, keepdims=True) for a in (lost, open_))
            unsure = unsure | lost
            infinite = infinite | open_
        top = np.abs(value) if largest is None else largest
        overflow = (top + np.where(np.isnan(bound), 0, bound) > LARGEST[node.dtype]) & ~infinite
        exact = infinite & (~np.isfinite(value) | ~np.isfinite(bound))
        bound = np.where(exact, 0.0, bound)
        if node.op not in ("maximumf", "minimumf", "absf", "negf", "roundeven"):
            # Zero is exact: of a difference, or times zero.
            small = np.where(np.isfinite(value), SMALLEST[node.dtype] * (value != 0), 0.0)
            bound = bound + small
        bound = np.where(unsure | overflow | np.isnan(bound), np.inf, bound)
        return Measured(np.asarray(value), np.asarray(bound + np.zeros(value.shape), np.float64))


def evaluate(program: Program, arguments: list[Any], extents: dict[str, int]) -> list[Measured]:
    """The results of a program, exact, with bounds."""
    evaluation = Evaluation(program, arguments, extents)
    return [evaluation.result(number) for number in program.results]
