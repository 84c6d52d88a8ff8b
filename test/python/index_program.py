"""An interpreter of index programs in NumPy: what cascade, fold, merge and finalize mean.

The oracle of the tests: it shares nothing with the compiler, nor with `redfuse.verify`, which both are
tested against it.

A value of a body is an array with one axis for each iteration dim, of extent 1 where the value
does not depend on the dim. Floats are computed in their own types, or all in f64 (`precise`), so
that the same program gives both a result and what it should have been.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from mlir import ir

Array = np.ndarray
Range = tuple[int, int]  # begin, end of an iteration dim

REDUCERS = [
    "add",
    "mul",
    "maximumf",
    "minimumf",
    "maxnumf",
    "minnumf",
    "maxsi",
    "minsi",
    "maxui",
    "minui",
    "and",
    "or",
    "xor",
    "argmax",
    "argmin",
    "topk",
]

FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
INTEGERS = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}

UNARY: dict[str, Callable[..., Array]] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.log": np.log,
    "math.sqrt": np.sqrt,
    "math.rsqrt": lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    "math.tanh": np.tanh,
    "math.roundeven": np.rint,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
}

TERNARY: dict[str, Callable[..., Array]] = {"math.fma": lambda x, y, z: x * y + z}

BINARY: dict[str, Callable[..., Array]] = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.subf": np.subtract,
    "arith.subi": np.subtract,
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "math.fpowi": lambda x, n: np.power(x, n.astype(x.dtype)),
    "math.powf": np.power,
}

FOLDS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


# What arith.cmpf holds for, by predicate: equal, greater, less, unordered.
_CASES = ("", "e", "g", "ge", "l", "le", "gl", "gle",
          "eu", "gu", "geu", "lu", "leu", "glu", "u", "gleu")  # fmt: skip


def _compare_float(predicate: int, x: Array, y: Array) -> Array:
    """arith.cmpf."""
    holds = np.zeros(np.broadcast_shapes(x.shape, y.shape), bool)
    parts = {"e": x == y, "g": x > y, "l": x < y, "u": np.isnan(x) | np.isnan(y)}
    for case in _CASES[predicate]:
        holds = holds | parts[case]
    return holds


def _compare_int(predicate: int, x: Array, y: Array) -> Array:
    """arith.cmpi, signed and unsigned (on values that fit both)."""
    ops = [np.equal, np.not_equal] + [np.less, np.less_equal, np.greater, np.greater_equal] * 2
    return ops[predicate](x, y)


@dataclass
class State:
    """The components of a fold's state, as tensors."""

    components: list[Array]


class Interpreter:
    """Runs the tensor-level ops of the dialect.

    precise: compute every float in f64, whatever its type.
    """

    def __init__(self, precise: bool = False) -> None:
        self.precise = precise

    # ---- types ------------------------------------------------------------------

    def dtype(self, type_: ir.Type) -> type:
        name = str(type_)
        if name in FLOATS:
            return np.float64 if self.precise else FLOATS[name]
        return np.int64 if name == "index" else INTEGERS[name]

    # ---- tensor level -------------------------------------------------------------

    def cascade(self, op: ir.Operation, inputs: Sequence[Array]) -> list[Array]:
        """The results of a redfuse.cascade (or finalize) for the arrays of its inputs."""
        maps, count = maps_of(op)
        extents = extents_of(op, maps[:count], inputs)
        ranges = [(0, n) for n in extents]
        arguments = [
            self.read(a, m, ranges, op.operands[i].type)
            for i, (a, m) in enumerate(zip(inputs, maps[:count], strict=True))
        ]
        values = self.block(op.regions[0].blocks[0], arguments, ranges)
        results = [write(v, m, extents) for v, m in zip(values, maps[count:], strict=True)]
        return [_from_the_start(result) for result in results]

    finalize = cascade

    def identity(self, op: ir.Operation, inputs: Sequence[Array]) -> State:
        """The state of an empty segment of a redfuse.fold."""
        maps, count = maps_of(op)
        extents = extents_of(op, maps[:count], inputs)
        components = []
        for m, attribute in zip(maps[count:], op.attributes["identities"], strict=True):
            shape = [extents[ir.AffineDimExpr(e).position] for e in m.results]
            components.append(np.full(shape, _constant(attribute), self.dtype(attribute.type)))
        return State(components)

    def step(
        self, op: ir.Operation, inputs: Sequence[Array], segment: Sequence[Range], state: State
    ) -> State:
        """`state` with one segment of the `over` dims included."""
        maps, count = maps_of(op)
        extents = extents_of(op, maps[:count], inputs)
        ranges = [(0, n) for n in extents]
        for dim, part in zip(op.attributes["over"], segment, strict=True):
            ranges[dim] = part
        arrays = [*inputs, *state.components]
        arguments = [
            self.read(a, m, ranges, op.operands[i].type)
            for i, (a, m) in enumerate(zip(arrays, maps, strict=True))
        ]
        values = self.block(op.regions[0].blocks[0], arguments, ranges)
        return State([write(v, m, extents) for v, m in zip(values, maps[count:], strict=True)])

    def merge(self, op: ir.Operation, inputs: Sequence[Array], a: State, b: State) -> State:
        """Two states of one fold as one; `a` is that of the earlier segment."""
        maps, count = maps_of(op)
        extents = extents_of(op, maps[:count], inputs)
        ranges = [(0, n) for n in extents]
        arguments = [
            self.read(array, m, ranges, op.operands[count + i].type)
            for side in (a, b)
            for i, (array, m) in enumerate(zip(side.components, maps[count:], strict=True))
        ]
        values = self.block(op.regions[1].blocks[0], arguments, ranges)
        return State([write(v, m, extents) for v, m in zip(values, maps[count:], strict=True)])

    # ---- bodies --------------------------------------------------------------------

    def read(self, array: Array, m: ir.AffineMap, ranges: Sequence[Range], type_: ir.Type) -> Array:
        """A tensor at every point of `ranges`, through its map."""
        element = ir.RankedTensorType(type_).element_type
        grids = []
        for dim, (begin, end) in enumerate(ranges):
            shape = [1] * len(ranges)
            shape[dim] = -1
            grids.append(np.arange(begin, end).reshape(shape))
        one = np.zeros([1] * len(ranges), int)
        index = tuple(affine(e, grids) + one for e in m.results)
        for i, size in zip(index, array.shape, strict=True):
            assert i.size == 0 or (i.min() >= 0 and i.max() < size), "read outside a tensor"
        value = array[index] if index else array.reshape([1] * len(ranges))
        return value.astype(self.dtype(element))

    def block(
        self,
        block: ir.Block,
        arguments: Sequence[Array],
        ranges: Sequence[Range],
        outside: Mapping[ir.Value, Array] | None = None,
    ) -> list[Array]:
        """What a body yields; ``outside``: values from around it, of which constants are known."""
        values: dict[ir.Value, Array] = dict(zip(block.arguments, arguments, strict=True))
        for op in block.operations:
            operation = op.operation
            operands = [self._operand(v, values, outside or {}) for v in operation.operands]
            if operation.name == "redfuse.yield":
                return operands
            results = self.op(operation, operands, ranges)
            values.update(zip(operation.results, results, strict=True))
        raise AssertionError("a body without redfuse.yield")

    def _operand(
        self, value: ir.Value, values: dict[ir.Value, Array], outside: Mapping[ir.Value, Array]
    ) -> Array:
        if value in values:
            return values[value]
        if value in outside:
            return np.asarray(outside[value])
        owner = value.owner
        assert owner.name == "arith.constant", owner.name
        return np.asarray(_constant(owner.attributes["value"]), self.dtype(value.type))

    def op(self, op: ir.Operation, operands: list[Array], ranges: Sequence[Range]) -> list[Array]:
        name = op.name
        if name == "redfuse.reduce":
            return self._reduce(op, operands, ranges)
        out = self.dtype(op.results[0].type)
        if name == "redfuse.index":
            dim = ir.IntegerAttr(op.attributes["dim"]).value
            shape = [1] * len(ranges)
            shape[dim] = -1
            return [np.arange(*ranges[dim]).reshape(shape)]
        if name == "arith.constant":
            value = np.asarray(_constant(op.attributes["value"]), out)
            return [value.reshape([1] * len(ranges))]
        if name in UNARY:
            return [UNARY[name](operands[0]).astype(out)]
        for table in (BINARY, TERNARY):
            if name in table:
                return [table[name](*operands).astype(out)]
        if name == "arith.select":
            return [np.where(*operands).astype(out)]
        if name in ("arith.cmpf", "arith.cmpi"):
            compare = _compare_float if name == "arith.cmpf" else _compare_int
            return [compare(ir.IntegerAttr(op.attributes["predicate"]).value, *operands)]
        if name in (
            "arith.extf",
            "arith.truncf",
            "arith.sitofp",
            "arith.uitofp",
            "arith.extsi",
            "arith.extui",
            "arith.trunci",
            "arith.index_cast",
            "arith.fptosi",
            "arith.index_castui",
        ):
            return [operands[0].astype(out)]
        raise NotImplementedError(f"the interpreter has no {name}")

    def _reduce(
        self, op: ir.Operation, operands: list[Array], ranges: Sequence[Range]
    ) -> list[Array]:
        reducer = REDUCERS[ir.IntegerAttr(op.attributes["reducer"]).value]
        axes = tuple(op.attributes["over"])
        shape = list(np.broadcast_shapes(*(v.shape for v in operands)))
        for dim in axes:
            shape[dim] = ranges[dim][1] - ranges[dim][0]
        full = [np.broadcast_to(v, shape) for v in operands]
        types = [self.dtype(v.type) for v in op.operands]
        if reducer in ("argmax", "argmin"):
            return _select(full, axes, reducer == "argmax", types)
        fold = FOLDS[reducer]
        initial = {}
        if reducer.startswith(("max", "min")):
            kind = np.iinfo(types[0]) if np.issubdtype(types[0], np.integer) else None
            low, high = (kind.min, kind.max) if kind else (-np.inf, np.inf)
            initial = {"initial": low if reducer.startswith("max") else high}
        elif types[0] is np.bool_ and reducer == "and":
            initial = {"initial": True}
        value = fold.reduce(full[0], axis=axes, keepdims=True, dtype=types[0], **initial)
        return [value.astype(types[0])]


def _select(
    full: list[Array], axes: tuple[int, ...], largest: bool, types: list[type]
) -> list[Array]:
    """argmax or argmin: among equals the lowest index wins, and a NaN is as good as nothing."""
    key, index = full
    nothing = -np.inf if largest else np.inf
    is_number = ~np.isnan(key)
    key = np.where(is_number, key, nothing)
    best = (np.max if largest else np.min)(key, axis=axes, keepdims=True, initial=nothing)
    is_best = (key == best) & is_number
    last = np.iinfo(index.dtype).max
    first = np.where(is_best, index, last).min(axis=axes, keepdims=True, initial=last)
    return [best.astype(types[0]), first.astype(types[1])]


def _from_the_start(result: Array) -> Array:
    """An index over nothing, which is the highest in a state, is 0 in a result."""
    if not np.issubdtype(result.dtype, np.signedinteger):
        return result
    return np.where(result == np.iinfo(result.dtype).max, 0, result).astype(result.dtype)


def _constant(attribute: ir.Attribute) -> float | int | bool:
    for kind in (ir.FloatAttr, ir.IntegerAttr, ir.BoolAttr):
        try:
            return kind(attribute).value
        except ValueError:
            continue
    raise NotImplementedError(f"a constant {attribute}")


def maps_of(op: ir.Operation) -> tuple[list[ir.AffineMap], int]:
    """The indexing maps and the number of those that belong to inputs."""
    maps = [ir.AffineMapAttr(a).value for a in op.attributes["indexing_maps"]]
    return maps, len(maps) - len(op.results)


def extents_of(
    op: ir.Operation, maps: Sequence[ir.AffineMap], inputs: Sequence[Array]
) -> list[int]:
    """The extents of the iteration dims: of the inputs, else of the static inits."""
    extents = [1] * maps_of(op)[0][0].n_dims
    inits = maps_of(op)[0][len(maps) :]
    shapes = [ir.RankedTensorType(r.type).shape for r in op.results] if inits else []
    pairs = [*zip(inits, shapes, strict=True), *zip(maps, (a.shape for a in inputs), strict=True)]
    for m, shape in pairs:
        for expr, size in zip(m.results, shape, strict=True):
            if isinstance(expr, ir.AffineDimExpr) and size >= 0:
                extents[ir.AffineDimExpr(expr).position] = size
    return extents


def affine(expr: ir.AffineExpr, dims: Sequence, symbols: Sequence = ()):
    """An affine expression over integers or arrays of integers."""
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    a, b = (affine(e, dims, symbols) for e in (expr.lhs, expr.rhs))
    if isinstance(expr, ir.AffineAddExpr):
        return a + b
    if isinstance(expr, ir.AffineMulExpr):
        return a * b
    if isinstance(expr, ir.AffineModExpr):
        return a % b
    return a // b if isinstance(expr, ir.AffineFloorDivExpr) else -(-a // b)


def write(value: Array, m: ir.AffineMap, extents: Sequence[int]) -> Array:
    """A value as a tensor, through the map of its init (a projected permutation)."""
    dims = [ir.AffineDimExpr(e).position for e in m.results]
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    shape = [extents[dims[i]] for i in order]
    kept = set(dims)
    squeezed = value.reshape([n for d, n in enumerate(value.shape) if d in kept])
    full = np.broadcast_to(squeezed, shape)
    return np.array(np.transpose(full, np.argsort(order)), order="C")
