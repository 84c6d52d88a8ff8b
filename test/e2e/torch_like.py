"""More of PyTorch's operations in torch-mlir's spelling, on top of the benchmark's builder."""

from __future__ import annotations

import math
from collections.abc import Sequence

from redfuse.bench.builder import Program, Value


class Torch(Program):
    """A program under construction; methods are named after PyTorch's operations."""

    def full(self, shape: Sequence[int], value: float | int, dtype: str) -> Value:
        """linalg.fill of a fresh tensor."""
        return super().full(
            shape, int(value) if dtype[0] == "i" and dtype != "i1" else value, dtype
        )

    def exp(self, a: Value) -> Value:
        """e ** a."""
        return self.unary("math.exp", a)

    def log(self, a: Value) -> Value:
        """The natural logarithm."""
        return self.unary("math.log", a)

    def add(self, a: Value, b: Value | float) -> Value:
        """a + b, b a tensor or a number."""
        return self._either("addf", a, b)

    def sub(self, a: Value, b: Value | float) -> Value:
        """a - b."""
        return self._either("subf", a, b)

    def mul(self, a: Value, b: Value | float) -> Value:
        """a * b."""
        return self._either("mulf", a, b)

    def div(self, a: Value, b: Value | float) -> Value:
        """a / b."""
        return self._either("divf", a, b)

    def _either(self, op: str, a: Value, b: Value | float) -> Value:
        return self.binary(op, a, b) if isinstance(b, Value) else self.with_scalar(op, a, b)

    def centred(self, a: Value, dims: Sequence[int]) -> Value:
        """a minus its mean over ``dims``."""
        return self.sub(a, self.mean(a, dims, keepdim=True))

    def power(self, a: Value, n: int) -> Value:
        """a ** n, n a positive integer."""
        exponent = self.constant(n, "i64")
        return self.pointwise([a], [f"%r = math.fpowi %in0, {exponent} : {a.dtype}, i64"], "%r")

    def min_last(self, a: Value) -> Value:
        """Minimum over the last dim, kept."""
        return self.unary("arith.negf", self.max_last(self.unary("arith.negf", a)))

    def reduce(self, op: str, a: Value, start: float, dims: Sequence[int]) -> Value:
        """A reduction by an arith op, over ``dims``, which are dropped."""
        kinds = ["reduction" if i in dims else "parallel" for i in range(len(a.shape))]
        shape = [n for i, n in enumerate(a.shape) if i not in dims]
        source = ", ".join(f"d{i}" for i in range(len(a.shape)))
        kept = ", ".join(f"d{i}" for i in range(len(a.shape)) if i not in dims)
        body = [f"%r = arith.{op} %in0, %out : {a.dtype}"]
        return self.generic(
            [a], [source, kept], self.full(shape, start, a.dtype), kinds, body, "%r"
        )

    def squeeze(self, a: Value, dim: int) -> Value:
        """Drops a dim of extent 1."""
        groups: list[list[int]] = []
        for i in range(len(a.shape)):
            if groups and i == max(dim, 1):
                groups[-1].append(i)
            else:
                groups.append([i])
        return self.collapse(a, groups)

    def logsumexp(self, a: Value) -> Value:
        """log(sum(exp(a))) over the last dim, kept; an infinite maximum is taken for 0."""
        top = self.max_last(a)
        zero, limit = self.constant(0.0, a.dtype), self.constant("0x7F800000", a.dtype)
        guarded = self.pointwise(
            [top],
            [f"%a = math.absf %in0 : {a.dtype}", f"%c = arith.cmpf oeq, %a, {limit} : {a.dtype}",
             f"%r = arith.select %c, {zero}, %in0 : {a.dtype}"],
            "%r",
        )  # fmt: skip
        raised = self.exp(self.sub(a, guarded))
        return self.add(self.log(self.sum(raised, [len(a.shape) - 1], keepdim=True)), guarded)

    def log_softmax(self, a: Value) -> Value:
        """Over the last dim."""
        shifted = self.sub(a, self.max_last(a))
        total = self.sum(self.exp(shifted), [len(a.shape) - 1], keepdim=True)
        return self.sub(shifted, self.log(total))

    def sigmoid(self, a: Value) -> Value:
        """1 / (1 + exp(-a))."""
        one = self.constant(1.0, a.dtype)
        return self.pointwise(
            [a],
            [f"%n = arith.negf %in0 : {a.dtype}", f"%e = math.exp %n : {a.dtype}",
             f"%d = arith.addf %e, {one} : {a.dtype}", f"%r = arith.divf {one}, %d : {a.dtype}"],
            "%r",
        )  # fmt: skip

    def clamp_min(self, a: Value, least: float) -> Value:
        """max(a, least), as a comparison and a select."""
        bound = self.constant(least, a.dtype)
        return self.pointwise(
            [a],
            [f"%c = arith.cmpf ult, %in0, {bound} : {a.dtype}",
             f"%r = arith.select %c, {bound}, %in0 : {a.dtype}"],
            "%r",
        )  # fmt: skip

    def where(self, condition: Value, a: Value, b: Value) -> Value:
        """condition ? a : b, elementwise with broadcasting."""
        body = [f"%r = arith.select %in0, %in1, %in2 : {a.dtype}"]
        return self.pointwise([condition, a, b], body, "%r", a.dtype)

    def scalar(self, value: float, dtype: str = "f32") -> Value:
        """A rank-0 tensor constant."""
        literal = "0xFF800000" if value == -math.inf else repr(value)
        return Value(self.constant(f"dense<{literal}>", f"tensor<{dtype}>"), (), dtype)

    def masked(self, scores: Value, mask: Value, value: float = -math.inf) -> Value:
        """``value`` where the mask (i1, broadcast) is set."""
        return self.where(mask, self.scalar(value, scores.dtype), scores)

    def positions(self, rows: int, columns: int) -> tuple[Value, Value]:
        """Row and column numbers, i64, of shapes rows x 1 and 1 x columns; the last row is at the
        last column."""
        up = self.arange(rows)
        if rows != columns:
            shift = self.constant(columns - rows, "i64")
            up = self.pointwise([up], [f"%r = arith.addi %in0, {shift} : i64"], "%r")
        return self.unsqueeze(up, 1), self.unsqueeze(self.arange(columns), 0)

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """An i1 tensor; "ogt" for floats, "slt" for integers."""
        op = "cmpf" if a.dtype[0] in "fb" else "cmpi"
        body = [f"%r = arith.{op} {predicate}, %in0, %in1 : {a.dtype}"]
        return self.pointwise([a, b], body, "%r", "i1")

    def transposed(self, a: Value) -> Value:
        """The last two dims exchanged."""
        rank = len(a.shape)
        return self.transpose(a, [*range(rank - 2), rank - 1, rank - 2])

    def scores(self, q: Value, k: Value, scale: float) -> Value:
        """q k^T times a scale, of 3-d arguments, in f32."""
        product = self.cast(self.batch_matmul(q, self.transposed(k)), "f32")
        return self.mul(product, scale)

    def argmax_last(self, a: Value) -> tuple[Value, Value]:
        """Maximum and its index (i64) over the last dim, dropped."""
        kept = self.max_last(a)
        name = self.lines[-1].split("tensor.expand_shape ")[1].split("#")[0]
        del self.lines[-1]
        self.count -= 1
        shape = kept.shape[:-1]
        return Value(f"{name}#0", shape, a.dtype), Value(f"{name}#1", shape, "i64")

    def gelu(self, a: Value) -> Value:
        """a (1 + erf(a / sqrt 2)) / 2, in one operation."""
        root, one, half = (self.constant(v, a.dtype) for v in (math.sqrt(2), 1.0, 0.5))
        return self.pointwise(
            [a],
            [f"%d = arith.divf %in0, {root} : {a.dtype}", f"%e = math.erf %d : {a.dtype}",
             f"%s = arith.addf %e, {one} : {a.dtype}", f"%h = arith.mulf %s, {half} : {a.dtype}",
             f"%r = arith.mulf %in0, %h : {a.dtype}"],
            "%r",
        )  # fmt: skip

    def part(self, a: Value, offsets: Sequence[int], sizes: Sequence[int]) -> Value:
        """tensor.extract_slice with unit strides."""
        kind = self.empty(sizes, a.dtype).type
        name = self.emit(
            f"tensor.extract_slice {a.name}[{_list(offsets)}] [{_list(sizes)}] "
            f"[{_list([1] * len(sizes))}] : {a.type} to {kind}"
        )
        return Value(name, tuple(sizes), a.dtype)

    def concat(self, parts: Sequence[Value], dim: int) -> Value:
        """torch.cat, as slices inserted into an empty tensor."""
        shape = list(parts[0].shape)
        shape[dim] = sum(a.shape[dim] for a in parts)
        out = self.empty(shape, parts[0].dtype)
        at = [0] * len(shape)
        for a in parts:
            name = self.emit(
                f"tensor.insert_slice {a.name} into {out.name}[{_list(at)}] [{_list(a.shape)}] "
                f"[{_list([1] * len(shape))}] : {a.type} into {out.type}"
            )
            out = out._replace(name=name)
            at[dim] += a.shape[dim]
        return out

    def pad(self, a: Value, by: int) -> Value:
        """Zeros around the last two dims."""
        edge = f"[0, 0, {by}, {by}]"
        shape = (*a.shape[:2], a.shape[2] + 2 * by, a.shape[3] + 2 * by)
        kind = Value("", shape, a.dtype).type
        name = self.emit(f"tensor.pad {a.name} low{edge} high{edge} {{")
        self.lines += [
            "    ^bb0(%a: index, %b: index, %c: index, %d: index):",
            f"      tensor.yield {self.constant(0.0, a.dtype)} : {a.dtype}",
            f"    }} : {a.type} to {kind}",
        ]
        return Value(name, shape, a.dtype)

    def convolve(self, x: Value, w: Value) -> Value:
        """conv2d without padding, NCHW."""
        shape = (x.shape[0], w.shape[0], x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1)
        start = self.full(shape, 0.0, x.dtype)
        name = self.emit(
            "linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : "
            f"vector<2xi64>}} ins({x.name}, {w.name} : {x.type}, {w.type}) "
            f"outs({start.name} : {start.type}) -> {start.type}"
        )
        return Value(name, shape, x.dtype)

    def widened(self, a: Value) -> Value:
        """i8 to i32."""
        return self.pointwise([a], ["%r = arith.extsi %in0 : i8 to i32"], "%r", "i32")


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
