"""Writes linalg programs the way torch-mlir spells PyTorch's: one operation a line of the model,
nothing fused.

Values are :class:`Value` (an SSA name, a shape, an element type); methods of :class:`Program` are
named after the PyTorch operations that torch-mlir lowers to these lines.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

NEGATIVE_INFINITY = {
    "f32": "0xFF800000",
    "f16": "0xFC00",
    "bf16": "0xFF80",
    "f64": "0xFFF0000000000000",
}


class Value(NamedTuple):
    """An SSA value."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def type(self) -> str:
        """Its tensor type."""
        return tensor_type(self.shape, self.dtype)


def tensor_type(shape: Sequence[int], dtype: str) -> str:
    """``tensor<2x3xf32>``."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{dtype}>"


def number(value: float) -> str:
    """A float literal that reads back as exactly this f64."""
    if math.isinf(value) or math.isnan(value):
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    text = repr(float(value))
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return mantissa + (f"E{int(exponent):+d}" if exponent else "")


class Program:
    """A function ``@main`` under construction; :meth:`text` gives the module."""

    def __init__(self) -> None:
        self.arguments: list[Value] = []
        self.lines: list[str] = []
        self.constants: dict[tuple[str, str], str] = {}
        self.results: list[Value] = []
        self.count = 0

    def argument(self, *shape: int, dtype: str = "f32") -> Value:
        """The next argument."""
        value = Value(f"%arg{len(self.arguments)}", tuple(shape), dtype)
        self.arguments.append(value)
        return value

    def text(self, *results: Value) -> str:
        """The module; ``results`` is what the function returns."""
        head = ", ".join(f"{a.name}: {a.type}" for a in self.arguments)
        types = ", ".join(r.type for r in results)
        body = [f"    {name} = arith.constant {literal}" + (f" : {kind}" if kind != "i1" else "")
                for (literal, kind), name in self.constants.items()]  # fmt: skip
        names = ", ".join(r.name for r in results)
        return "\n".join([
            "module {", f"  func.func @main({head}) -> ({types}) {{", *body, *self.lines,
            f"    return {names} : {types}", "  }", "}", "",
        ])  # fmt: skip

    def constant(self, value: float | int | str, kind: str) -> str:
        """The name of a scalar (or ``dense<...>``) constant."""
        if isinstance(value, bool):
            literal = "true" if value else "false"
        elif isinstance(value, float):
            literal = NEGATIVE_INFINITY[kind] if value == -math.inf else number(value)
        else:
            literal = str(value)
        key = (literal, kind)
        if key not in self.constants:
            self.constants[key] = f"%cst_{len(self.constants)}"
        return self.constants[key]

    def emit(self, line: str) -> str:
        """Appends ``%n = line`` and returns ``%n``."""
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"    {name} = {line}")
        return name

    def empty(self, shape: Sequence[int], dtype: str) -> Value:
        """tensor.empty."""
        return Value(
            self.emit(f"tensor.empty() : {tensor_type(shape, dtype)}"), tuple(shape), dtype
        )

    def full(self, shape: Sequence[int], value: float | int, dtype: str) -> Value:
        """linalg.fill of a fresh tensor."""
        scalar = self.constant(value, dtype)
        out = self.empty(shape, dtype)
        name = self.emit(
            f"linalg.fill ins({scalar} : {dtype}) outs({out.name} : {out.type}) -> {out.type}"
        )
        return Value(name, out.shape, dtype)

    # ---- element-wise
    # ---------------------------------------------------------------------------------------

    def generic(
        self,
        inputs: Sequence[Value],
        maps: Sequence[str],
        out: Value,
        kinds: Sequence[str],
        body: Sequence[str],
        result: str,
    ) -> Value:
        """A linalg.generic with one result. Body lines name inputs ``%in0``.. and the output
        ``%out``."""
        dims = ", ".join(f"d{i}" for i in range(len(kinds)))
        written = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
        iterators = ", ".join(f'"{kind}"' for kind in kinds)
        ins = ""
        if inputs:
            ins = f"ins({', '.join(v.name for v in inputs)} : {', '.join(v.type for v in inputs)}) "
        arguments = [f"%in{i}: {v.dtype}" for i, v in enumerate(inputs)] + [f"%out: {out.dtype}"]
        name = self.emit(
            f"linalg.generic {{indexing_maps = [{written}], iterator_types = [{iterators}]}} {ins}"
            f"outs({out.name} : {out.type}) {{"
        )
        self.lines.append(f"    ^bb0({', '.join(arguments)}):")
        self.lines += [f"      {line}" for line in body]
        self.lines.append(f"      linalg.yield {result} : {out.dtype}")
        self.lines.append(f"    }} -> {out.type}")
        return Value(name, out.shape, out.dtype)

    def pointwise(
        self, inputs: Sequence[Value], body: Sequence[str], result: str, dtype: str | None = None
    ) -> Value:
        """An element-wise operation with PyTorch's broadcasting: missing leading dims, and dims
        of extent 1."""
        rank = max(len(v.shape) for v in inputs)
        shape = [1] * rank
        for value in inputs:
            for i, extent in enumerate(value.shape):
                at = rank - len(value.shape) + i
                shape[at] = max(shape[at], extent)
        maps = []
        for value in inputs:
            offset = rank - len(value.shape)
            maps.append(", ".join(
                "0" if extent == 1 and shape[offset + i] != 1 else f"d{offset + i}"
                for i, extent in enumerate(value.shape)
            ))  # fmt: skip
        out = self.empty(shape, dtype or inputs[0].dtype)
        maps.append(", ".join(f"d{i}" for i in range(rank)))
        return self.generic(inputs, maps, out, ["parallel"] * rank, body, result)

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """arith op of two tensors: addf, subf, mulf, divf."""
        return self.pointwise([a, b], [f"%r = arith.{op} %in0, %in1 : {a.dtype}"], "%r")

    def unary(self, op: str, a: Value) -> Value:
        """A math or arith op of one tensor, with its dialect: "math.exp"."""
        return self.pointwise([a], [f"%r = {op} %in0 : {a.dtype}"], "%r")

    def with_scalar(self, op: str, a: Value, value: float, f64: bool = True) -> Value:
        """arith op with a scalar of the model: an f64 constant, truncated in the body as
        torch-mlir does."""
        if not f64 or a.dtype == "f64":
            scalar = self.constant(float(value), a.dtype)
            return self.pointwise([a], [f"%r = arith.{op} %in0, {scalar} : {a.dtype}"], "%r")
        wide = self.constant(float(value), "f64")
        return self.pointwise(
            [a],
            [
                f"%s = arith.truncf {wide} : f64 to {a.dtype}",
                f"%r = arith.{op} %in0, %s : {a.dtype}",
            ],
            "%r",
        )

    def cast(self, a: Value, dtype: str) -> Value:
        """Between floats, or from an integer to a float."""
        if a.dtype == dtype:
            return a
        bits = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
        if a.dtype in bits:
            op = "arith.extf" if bits[dtype] > bits[a.dtype] else "arith.truncf"
        else:
            op = "arith.sitofp"
        return self.pointwise([a], [f"%r = {op} %in0 : {a.dtype} to {dtype}"], "%r", dtype)

    def relu(self, a: Value) -> Value:
        """max(a, 0) as compare and select."""
        zero = self.constant(0.0, a.dtype)
        return self.pointwise(
            [a],
            [
                f"%c = arith.cmpf ugt, %in0, {zero} : {a.dtype}",
                f"%r = arith.select %c, %in0, {zero} : {a.dtype}",
            ],
            "%r",
        )

    def silu(self, a: Value) -> Value:
        """a * sigmoid(a), the sigmoid an operation of its own."""
        one = self.constant(1.0, a.dtype)
        sigmoid = self.pointwise(
            [a],
            [f"%n = arith.negf %in0 : {a.dtype}", f"%e = math.exp %n : {a.dtype}",
             f"%d = arith.addf %e, {one} : {a.dtype}", f"%r = arith.divf {one}, %d : {a.dtype}"],
            "%r",
        )  # fmt: skip
        return self.binary("mulf", a, sigmoid)

    def square(self, a: Value) -> Value:
        """a ** 2 by math.fpowi."""
        two = self.constant(2, "i64")
        return self.pointwise([a], [f"%r = math.fpowi %in0, {two} : {a.dtype}, i64"], "%r")

    # ---- shapes
    # ---------------------------------------------------------------------------------------------

    def transpose(self, a: Value, permutation: Sequence[int]) -> Value:
        """linalg.transpose."""
        out = self.empty([a.shape[i] for i in permutation], a.dtype)
        name = self.emit(
            f"linalg.transpose ins({a.name} : {a.type}) outs({out.name} : {out.type}) "
            f"permutation = [{', '.join(map(str, permutation))}]"
        )
        return Value(name, out.shape, a.dtype)

    def collapse(self, a: Value, groups: Sequence[Sequence[int]]) -> Value:
        """tensor.collapse_shape."""
        shape = tuple(math.prod(a.shape[i] for i in group) for group in groups)
        kind = tensor_type(shape, a.dtype)
        name = self.emit(f"tensor.collapse_shape {a.name} {_groups(groups)} : {a.type} into {kind}")
        return Value(name, shape, a.dtype)

    def expand(self, a: Value, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> Value:
        """tensor.expand_shape."""
        kind = tensor_type(shape, a.dtype)
        extents = ", ".join(map(str, shape))
        name = self.emit(
            f"tensor.expand_shape {a.name} {_groups(groups)} output_shape [{extents}] : "
            f"{a.type} into {kind}"
        )
        return Value(name, tuple(shape), a.dtype)

    def unsqueeze(self, a: Value, dim: int) -> Value:
        """A new dim of extent 1."""
        shape = [*a.shape[:dim], 1, *a.shape[dim:]]
        if dim == 0:
            groups = [[0, 1], *([i + 1] for i in range(1, len(a.shape)))]
        else:
            groups = [
                *([i] for i in range(dim - 1)),
                [dim - 1, dim],
                *([i + 1] for i in range(dim, len(a.shape))),
            ]
        return self.expand(a, groups, shape)

    def slice(self, a: Value, sizes: Sequence[int]) -> Value:
        """The leading ``sizes`` of every dim."""
        kind = tensor_type(sizes, a.dtype)
        zeros, ones = ", ".join("0" * len(sizes)), ", ".join("1" * len(sizes))
        name = self.emit(
            f"tensor.extract_slice {a.name}[{zeros}] [{', '.join(map(str, sizes))}] [{ones}] : "
            f"{a.type} to {kind}"
        )
        return Value(name, tuple(sizes), a.dtype)

    # ---- reductions
    # -----------------------------------------------------------------------------------------

    def sum(self, a: Value, dims: Sequence[int], keepdim: bool = False) -> Value:
        """addf over ``dims``."""
        kinds = ["reduction" if i in dims else "parallel" for i in range(len(a.shape))]
        if keepdim:
            shape = [1 if i in dims else n for i, n in enumerate(a.shape)]
            out_map = ", ".join("0" if i in dims else f"d{i}" for i in range(len(a.shape)))
        else:
            shape = [n for i, n in enumerate(a.shape) if i not in dims]
            out_map = ", ".join(f"d{i}" for i in range(len(a.shape)) if i not in dims)
        start = self.full(shape, 0.0, a.dtype)
        source = ", ".join(f"d{i}" for i in range(len(a.shape)))
        return self.generic(
            [a], [source, out_map], start, kinds, [f"%r = arith.addf %in0, %out : {a.dtype}"], "%r"
        )

    def mean(self, a: Value, dims: Sequence[int], keepdim: bool = False) -> Value:
        """The sum over the count."""
        count = math.prod(a.shape[i] for i in dims)
        return self.with_scalar("divf", self.sum(a, dims, keepdim), float(count), f64=False)

    def max_last(self, a: Value) -> Value:
        """Maximum over the last dim, kept, beside the argmax that torch-mlir always computes."""
        rank = len(a.shape)
        shape = a.shape[:-1]
        indices = self.full(shape, 0, "i64")
        start = self.full(shape, -math.inf, a.dtype)
        dims = ", ".join(f"d{i}" for i in range(rank))
        outer = ", ".join(f"d{i}" for i in range(rank - 1))
        iterators = ", ".join(['"parallel"'] * (rank - 1) + ['"reduction"'])
        maps = f"affine_map<({dims}) -> ({dims})>, " + ", ".join(
            [f"affine_map<({dims}) -> ({outer})>"] * 2
        )
        name = f"%{self.count}"
        self.count += 1
        kind = a.dtype
        self.lines += [
            f"    {name}:2 = linalg.generic "
            f"{{indexing_maps = [{maps}], iterator_types = [{iterators}]}} "
            f"ins({a.name} : {a.type}) outs({start.name}, {indices.name} : {start.type}, "
            f"{indices.type}) {{",
            f"    ^bb0(%in: {kind}, %out: {kind}, %out_i: i64):",
            f"      %i = linalg.index {rank - 1} : index",
            "      %j = arith.index_cast %i : index to i64",
            f"      %m = arith.maximumf %in, %out : {kind}",
            f"      %c = arith.cmpf ogt, %in, %out : {kind}",
            "      %k = arith.select %c, %j, %out_i : i64",
            f"      linalg.yield %m, %k : {kind}, i64",
            f"    }} -> ({start.type}, {indices.type})",
        ]
        return self.unsqueeze(Value(f"{name}#0", shape, kind), rank - 1)

    def softmax_last(self, a: Value) -> Value:
        """Softmax over the last dim, in torch-mlir's five operations."""
        shifted = self.binary("subf", a, self.max_last(a))
        raised = self.unary("math.exp", shifted)
        return self.binary("divf", raised, self.sum(raised, [len(a.shape) - 1], keepdim=True))

    # ---- contractions
    # ---------------------------------------------------------------------------------------

    def topk_last(self, a: Value, count: int) -> tuple[Value, Value]:
        """The largest elements of each row of a matrix in order, and their i64 columns."""
        body = ["%i = linalg.index 1 : index", "%j = arith.index_cast %i : index to i64"]
        out = self.empty(a.shape, "i64")
        numbers = self.generic([], ["d0, d1"], out, ["parallel"] * 2, body, "%j")
        name = f"%{self.count}"
        self.count += 1
        self.lines += [
            f"    {name}:2 = tm_tensor.sort dimension(1) outs({a.name}, {numbers.name} : "
            f"{a.type}, {numbers.type}) {{",
            f"    ^bb0(%a: {a.dtype}, %b: {a.dtype}, %i: i64, %j: i64):",
            f"      %c = arith.cmpf oge, %a, %b : {a.dtype}",
            "      tm_tensor.yield %c : i1",
            f"    }} -> {a.type}, {numbers.type}",
        ]
        sorted_ = (Value(f"{name}#0", a.shape, a.dtype), Value(f"{name}#1", a.shape, "i64"))
        values, indices = (self.slice(v, [a.shape[0], count]) for v in sorted_)
        return values, indices

    def matmul(self, a: Value, b: Value) -> Value:
        """2-d matmul with an f32 accumulator that is cast back, as torch-mlir does for 16-bit
        floats."""
        return self._contract("matmul", a, b, (a.shape[0], b.shape[1]))

    def batch_matmul(self, a: Value, b: Value) -> Value:
        """3-d batch_matmul, accumulated like :meth:`matmul`."""
        return self._contract("batch_matmul", a, b, (a.shape[0], a.shape[1], b.shape[2]))

    def _contract(self, op: str, a: Value, b: Value, shape: Sequence[int]) -> Value:
        wide = "f32" if a.dtype in ("f16", "bf16") else a.dtype
        start = self.full(shape, 0.0, wide)
        name = self.emit(
            f"linalg.{op} ins({a.name}, {b.name} : {a.type}, {b.type}) outs({start.name} : "
            f"{start.type}) "
            f"-> {start.type}"
        )
        return self.cast(Value(name, tuple(shape), wide), a.dtype)

    def bmm4(self, a: Value, b: Value) -> Value:
        """4-d matmul: batch dims collapsed to one and expanded again."""
        groups = [[0, 1], [2], [3]]
        product = self.batch_matmul(self.collapse(a, groups), self.collapse(b, groups))
        return self.expand(product, groups, (*a.shape[:2], *product.shape[1:]))

    def arange(self, count: int) -> Value:
        """0, 1, ... as i64."""
        out = self.empty([count], "i64")
        body = ["%i = linalg.index 0 : index", "%j = arith.index_cast %i : index to i64"]
        return self.generic([], ["d0"], out, ["parallel"], body, "%j")


def _groups(groups: Sequence[Sequence[int]]) -> str:
    return "[" + ", ".join("[" + ", ".join(map(str, g)) + "]" for g in groups) + "]"
