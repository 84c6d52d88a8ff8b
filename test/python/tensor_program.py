"""Runs functions on tensors in NumPy, op by op: what a tiled program computes, from its text alone.

Knows the redfuse ops with bodies, scf.for and scf.forall, slices, fills, affine maps and scalar
arith/math: what tiling makes. Everything is computed in f64, so that results of two programs that
differ in the order of their sums agree to about 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from mlir import ir

Value = "np.ndarray | float | int"

REDUCERS: list[Callable | None] = [
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.maximum, np.minimum,
    np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor, None, None, None,
]  # fmt: skip
BINARY = {
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide,
    "maximumf": np.maximum, "minimumf": np.minimum, "addi": np.add, "subi": np.subtract,
    "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
}  # fmt: skip
UNARY = {"absf": np.abs, "exp": np.exp, "log": np.log, "negf": np.negative, "sqrt": np.sqrt}
CASTS = {"index_cast", "sitofp", "extf", "truncf", "index_castui"}
# Predicates by their number in the attribute.
COMPARE_F = {1: np.equal, 2: np.greater, 3: np.greater_equal, 4: np.less, 5: np.less_equal}
COMPARE_I = {
    0: np.equal, 1: np.not_equal, 2: np.less, 3: np.less_equal, 4: np.greater,
    5: np.greater_equal, 6: np.less, 7: np.less_equal, 8: np.greater, 9: np.greater_equal,
}  # fmt: skip
DYNAMIC = -(2**63)


def dtype(kind: ir.Type) -> type:
    return np.float64 if isinstance(kind, ir.FloatType) else np.int64


def evaluate(expr: ir.AffineExpr, dims: Sequence, symbols: Sequence = ()):
    """An affine expression over integers or integer arrays."""
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    a, b = (evaluate(e, dims, symbols) for e in (expr.lhs, expr.rhs))
    if isinstance(expr, ir.AffineAddExpr):
        return a + b
    if isinstance(expr, ir.AffineMulExpr):
        return a * b
    if isinstance(expr, ir.AffineModExpr):
        return a % b
    return a // b if isinstance(expr, ir.AffineFloorDivExpr) else -(-a // b)


class Program:
    """The values of one function while it runs."""

    def __init__(self) -> None:
        self.values: dict = {}

    def __getitem__(self, value: ir.Value):
        return self.values[value]

    def get(self, values) -> list:
        return [self.values[v] for v in values]

    def bind(self, names, values) -> None:
        for name, value in zip(names, values, strict=True):
            self.values[name] = value

    def run(self, block: ir.Block) -> list:
        """Runs a block; the operands of its terminator."""
        for op in block.operations:
            name = op.operation.name
            if name in ("func.return", "scf.yield", "redfuse.yield"):
                return self.get(op.operation.operands)
            self.bind(op.operation.results, self.step(name, op.operation))
        return []

    def step(self, name: str, op: ir.Operation) -> list:
        a = op.attributes
        short = name.split(".")[1]
        if name == "arith.constant":
            value = a["value"].value
            return [np.float64(value) if isinstance(value, float) else int(value)]
        if name == "arith.select":
            return [np.where(*self.get(op.operands))]
        if name == "arith.cmpf":
            return [COMPARE_F[a["predicate"].value](*self.get(op.operands))]
        if name == "arith.cmpi":
            return [COMPARE_I[a["predicate"].value](*self.get(op.operands))]
        if short in BINARY:
            return [BINARY[short](*self.get(op.operands))]
        if short in UNARY:
            return [UNARY[short](self[op.operands[0]])]
        if short in CASTS:
            return [np.asarray(self[op.operands[0]]).astype(dtype(op.results[0].type))]
        if name in ("affine.apply", "affine.min", "affine.max"):
            m = a["map"].value
            operands = [int(v) for v in self.get(op.operands)]
            got = [evaluate(e, operands[: m.n_dims], operands[m.n_dims :]) for e in m.results]
            return [max(got) if short == "max" else min(got)]
        return getattr(self, name.replace(".", "_"))(op)

    # ---- tensors --------------------------------------------------------------------------

    def tensor_dim(self, op):
        return [self[op.operands[0]].shape[self[op.operands[1]]]]

    def tensor_cast(self, op):
        return [self[op.operands[0]]]

    def tensor_empty(self, op):
        kind = ir.RankedTensorType(op.results[0].type)
        sizes = iter(self.get(op.operands))
        dims = [next(sizes) if kind.is_dynamic_dim(i) else n for i, n in enumerate(kind.shape)]
        # Never read: nothing good may come of it.
        return [np.full(dims, 77, dtype(kind.element_type))]

    def linalg_fill(self, op):
        return [np.full_like(self[op.operands[1]], self[op.operands[0]])]

    def region(self, op, skip: int):
        """Slices and sizes that a slice op names; `skip` operands come first."""
        rest = iter(int(v) for v in self.get(list(op.operands)[skip:]))
        parts = [
            [next(rest) if n == DYNAMIC else n for n in op.attributes[f"static_{which}"]]
            for which in ("offsets", "sizes", "strides")
        ]
        return tuple(slice(o, o + n * s, s) for o, n, s in zip(*parts, strict=True)), parts[1]

    def tensor_extract_slice(self, op):
        source = self[op.operands[0]]
        where, sizes = self.region(op, 1)
        for s, n in zip(where, source.shape, strict=True):
            assert s.start >= 0 and s.stop <= n, f"slice {s} of {n}"
        rank = ir.RankedTensorType(op.results[0].type).rank
        # Dims that are dropped come last in what tiling makes.
        assert all(n == 1 for n in sizes[rank:])
        return [source[where].reshape(sizes[:rank]).copy()]

    def tensor_insert_slice(self, op):
        source, target = self.get(list(op.operands)[:2])
        where, sizes = self.region(op, 2)
        target = target.copy()
        target[where] = source.reshape(sizes)
        return [target]

    # ---- loops ----------------------------------------------------------------------------

    def scf_for(self, op):
        low, high, step, *carried = self.get(op.operands)
        block = op.regions[0].blocks[0]
        for i in range(low, high, step):
            self.bind(block.arguments, [i, *carried])
            carried = self.run(block)
        return carried

    def scf_forall(self, op):
        bounds = {}
        dynamic = iter(self.get(op.operands))
        for which in ("LowerBound", "UpperBound", "Step"):
            static = op.attributes[f"static{which}"]
            bounds[which] = [next(dynamic) if n == DYNAMIC else n for n in static]
        shared = list(dynamic)
        block = op.regions[0].blocks[0]
        ranges = [range(*b) for b in zip(*bounds.values(), strict=True)]
        count = len(ranges)
        # Every block starts from the same tensors; what they write must not overlap.
        written = [np.zeros(s.shape, int) for s in shared]
        results = [s.copy() for s in shared]
        for point in np.ndindex(*map(len, ranges)):
            self.bind(
                block.arguments, [*(r[i] for r, i in zip(ranges, point, strict=True)), *shared]
            )
            *body, last = block.operations
            for inner in body:
                inner = inner.operation
                self.bind(inner.results, self.step(inner.name, inner))
            for insert in last.operation.regions[0].blocks[0].operations:
                insert = insert.operation
                source = self[insert.operands[0]]
                slot = ir.BlockArgument(insert.operands[1]).arg_number - count
                where, sizes = self.region(insert, 2)
                results[slot][where] = source.reshape(sizes)
                written[slot][where] += 1
                assert written[slot].max() <= 1, "two blocks write one element"
        return results

    # ---- index notation ---------------------------------------------------------------------

    def program(self, op, block: ir.Block, maps, arguments, inits) -> list:
        count = maps[0].n_dims
        extents = [1] * count
        for m, value in zip(maps, self.get(op.operands), strict=True):
            for expr, size in zip(m.results, value.shape, strict=True):
                if isinstance(expr, ir.AffineDimExpr):
                    extents[expr.position] = size
        grid = np.ogrid[tuple(slice(0, e) for e in extents)]
        for name, (m, value) in zip(block.arguments, arguments, strict=True):
            index = tuple(evaluate(e, grid) + np.zeros([1] * count, int) for e in m.results)
            for i, size in zip(index, value.shape, strict=True):
                assert i.size == 0 or (i.min() >= 0 and i.max() < size), "read outside a tensor"
            self.values[name] = value[index] if index else value.reshape([1] * count)
        for inner in block.operations:
            inner = inner.operation
            if inner.name == "redfuse.yield":
                break
            if inner.name == "redfuse.index":
                made = [grid[inner.attributes["dim"].value]]
            elif inner.name == "redfuse.reduce":
                made = self.reduce(inner, extents)
            else:
                made = self.step(inner.name, inner)
            self.bind(inner.results, made)
        results = []
        for m, value, init in zip(inits, self.get(inner.operands), op.results, strict=True):
            order = [ir.AffineDimExpr(e).position for e in m.results]
            kept = [extents[d] if d in order else 1 for d in range(count)]
            whole = np.broadcast_to(value, kept)
            rest = [d for d in range(count) if d not in order]
            flat = whole.transpose([*order, *rest]).reshape([extents[d] for d in order])
            results.append(flat.astype(dtype(ir.RankedTensorType(init.type).element_type)))
        return results

    def reduce(self, op, extents) -> list:
        over = list(op.attributes["over"])
        operands = self.get(op.operands)
        count = len(extents)
        shape = list(np.broadcast_shapes(*(np.shape(v) for v in operands), [1] * count))
        for d in over:
            shape[d] = extents[d]
        operands = [np.broadcast_to(v, shape) for v in operands]
        reducer = op.attributes["reducer"].value
        if (combine := REDUCERS[reducer]) is not None:
            got = combine.reduce(
                operands[0], axis=tuple(over), keepdims=True,
                **({"initial": -np.inf} if combine is np.maximum else {}),
            )  # fmt: skip
            return [got]
        assert reducer == 13, "argmax only"
        value, place = (np.moveaxis(v, over, range(-len(over), 0)) for v in operands)
        lead = value.shape[: count - len(over)]
        value, place = (v.reshape(*lead, -1) for v in (value, place))
        first = np.argmax(value, axis=-1, keepdims=True)
        ends = [np.take_along_axis(v, first, -1) for v in (value, place)]
        return [np.expand_dims(v[..., 0], tuple(over)) for v in ends]

    def maps(self, op) -> list[ir.AffineMap]:
        return [ir.AffineMapAttr(m).value for m in op.attributes["indexing_maps"]]

    def redfuse_cascade(self, op):
        maps, values = self.maps(op), self.get(op.operands)
        n = len(values) - len(op.results)
        block = op.regions[0].blocks[0]
        return self.program(op, block, maps, list(zip(maps, values, strict=True))[:n], maps[n:])

    redfuse_finalize = redfuse_cascade

    def redfuse_fold(self, op):
        maps, values = self.maps(op), self.get(op.operands)
        n = len(values) - len(op.results)
        block = op.regions[0].blocks[0]
        return self.program(op, block, maps, list(zip(maps, values, strict=True)), maps[n:])

    def redfuse_merge(self, op):
        maps, values = self.maps(op), self.get(op.operands)
        n = len(op.results)
        pairs = list(zip(maps, values, strict=True))
        return self.program(op, op.regions[0].blocks[0], maps, [*pairs[n:], *pairs[:n]], maps[n:])


def run(module: ir.Module, *inputs: np.ndarray) -> list[np.ndarray]:
    """The results of the module's first function on `inputs` (f64 or i64 arrays)."""
    block = module.body.operations[0].regions[0].blocks[0]
    program = Program()
    program.bind(block.arguments, inputs)
    return program.run(block)
