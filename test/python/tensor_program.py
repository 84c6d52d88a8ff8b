"""Runs functions on tensors in NumPy, op by op: what a tiled program computes, from its text alone.

Knows scf.for and scf.forall, slices, fills, affine maps and the redfuse ops, whose bodies
index_program.py runs: what tiling makes. Everything is computed in f64, so that results of two programs
that differ in the order of their sums agree to about 1e-12.
"""

from __future__ import annotations

import numpy as np
from index_program import Interpreter, affine, extents_of, maps_of, write
from mlir import ir

DYNAMIC = -(2**63)


class Program:
    """The values of one function while it runs."""

    def __init__(self) -> None:
        self.values: dict = {}
        self.bodies = Interpreter(precise=True)

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
        if name in ("affine.apply", "affine.min", "affine.max"):
            m = a["map"].value
            operands = [int(v) for v in self.get(op.operands)]
            got = [affine(e, operands[: m.n_dims], operands[m.n_dims :]) for e in m.results]
            return [max(got) if short == "max" else min(got)]
        if handler := getattr(self, name.replace(".", "_"), None):
            return handler(op)
        return [value[()] for value in self.bodies.op(op, self.get(op.operands), [])]

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
        return [np.full(dims, 77, self.bodies.dtype(kind.element_type))]

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

    def program(self, op: ir.Operation, order: list[int], inits: int) -> list:
        """The results of an op whose body has arguments for these of its operands; the last ``inits`` of
        its maps are those of results."""
        maps, values = maps_of(op)[0], self.get(op.operands)
        extents = extents_of(op, maps, values)
        ranges = [(0, n) for n in extents]
        arguments = [
            self.bodies.read(values[i], maps[i], ranges, op.operands[i].type) for i in order
        ]
        made = self.bodies.block(op.regions[0].blocks[0], arguments, ranges, self.values)
        return [write(value, m, extents) for value, m in zip(made, maps[-inits:], strict=True)]

    def redfuse_cascade(self, op):
        count = len(op.results)
        return self.program(op, list(range(len(op.operands) - count)), count)

    redfuse_finalize = redfuse_cascade

    def redfuse_fold(self, op):
        return self.program(op, list(range(len(op.operands))), len(op.results))

    def redfuse_merge(self, op):
        count = len(op.results)
        order = [*range(count, len(op.operands)), *range(count)]
        return self.program(op, order, count)


def run(module: ir.Module, *inputs: np.ndarray) -> list[np.ndarray]:
    """The results of the module's first function on `inputs` (f64 or i64 arrays)."""
    block = module.body.operations[0].regions[0].blocks[0]
    program = Program()
    program.bind(block.arguments, inputs)
    return program.run(block)
