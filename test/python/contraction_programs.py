"""Contractions in index notation with what follows them: any dims as rows, columns, sums and batch, in any
order in memory. Programs, data, and results in fp64."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from judged import wrong_places

# Of tf32, f32 that the program rounds to 11 bits.
TYPES = {
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "tf32": np.float32, "f64": np.float64
}  # fmt: skip
# Half the distance to the next number, of numbers near 1.
ROUNDING = {"bf16": 2.0**-9, "f16": 2.0**-12, "f32": 2.0**-25, "f64": 2.0**-54}
EPILOGUES = ("none", "relu", "bias", "residual", "row", "scaled", "two")


def to_tf32(values: np.ndarray) -> np.ndarray:
    """Rounded to nearest even."""
    bits = values.view(np.uint32)
    up = np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    return ((bits + up) & np.uint32(0xFFFFE000)).view(np.float32)


@dataclass(frozen=True)
class Contraction:
    """`notation` as of einsum; what follows the sum; the type of operands and of the result. Sums are f32,
    and f64 of f64.

    Dims in `open` have extents that the program does not know."""

    notation: str
    extents: dict[str, int]
    epilogue: str = "none"
    dtype: str = "bf16"
    result: str = "bf16"
    open: frozenset[str] = field(default_factory=frozenset)

    @property
    def indices(self) -> tuple[str, str, str]:
        """Of the left operand, the right one and the result."""
        operands, result = self.notation.split("->")
        left, right = operands.split(",")
        return left, right, result

    @property
    def sum(self) -> str:
        """The type of sums."""
        return "f64" if self.dtype == "f64" else "f32"

    @property
    def extra(self) -> str | None:
        """The index of the operand that the epilogue has."""
        result = self.indices[2]
        if self.epilogue == "bias":  # of what the right operand alone has
            return "".join(d for d in result if d not in self.indices[0])
        if self.epilogue in ("residual", "two"):
            return result
        if self.epilogue == "row":
            return "".join(d for d in result if d not in self.indices[1])
        return None

    def shape(self, index: str) -> tuple[int, ...]:
        return tuple(self.extents[d] for d in index)

    def type(self, index: str, element: str) -> str:
        sizes = ["?" if d in self.open else str(self.extents[d]) for d in index]
        return f"tensor<{'x'.join([*sizes, element])}>"

    def program(self) -> str:
        """Plain linalg."""
        left, right, result = self.indices
        sums = "".join(d for d in self.extents if d not in result)
        dims = result + sums
        names = ", ".join(dims)

        def affine(index: str, over: str) -> str:
            return f"affine_map<({', '.join(over)}) -> ({', '.join(index)})>"

        element = "f32" if self.dtype == "tf32" else self.dtype
        wide = self.sum
        a, b = (self.type(x, element) for x in (left, right))
        total, out = self.type(result, wide), self.type(result, self.result)
        arguments = [f"%a: {a}", f"%b: {b}"]
        if self.extra is not None:
            arguments.append(f"%e: {self.type(self.extra, wide)}")
        results = [out, total] if self.epilogue == "two" else [out]
        lines = [f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{",
                 f"  %zero = arith.constant 0.0 : {wide}", f"  %half = arith.constant 0.5 : {wide}"]  # fmt: skip
        sizes = []
        for d in result:
            if d in self.open:
                name, index, kind = ("a", left, a) if d in left else ("b", right, b)
                lines.append(f"  %at{d} = arith.constant {index.index(d)} : index")
                lines.append(f"  %n{d} = tensor.dim %{name}, %at{d} : {kind}")
                sizes.append(f"%n{d}")
        kinds = ['"parallel"'] * len(result) + ['"reduction"'] * len(sums)
        lines += [
            f"  %t = tensor.empty({', '.join(sizes)}) : {total}",
            f"  %o = tensor.empty({', '.join(sizes)}) : {out}",
            f"  %z = linalg.fill ins(%zero : {wide}) outs(%t : {total}) -> {total}",
            f"  // over {names}",
            f"  %p = linalg.generic {{indexing_maps = [{affine(left, dims)}, {affine(right, dims)},",
            f"      {affine(result, dims)}], iterator_types = [{', '.join(kinds)}]}}",
            f"      ins(%a, %b : {a}, {b}) outs(%z : {total}) {{",
            f"  ^bb0(%x: {element}, %y: {element}, %s: {wide}):",
            *self.widened(),
            f"    %r = arith.addf %s, %w : {wide}",
            f"    linalg.yield %r : {wide}",
            f"  }} -> {total}",
        ]
        maps, given, kind_of, entry = [affine(result, result)], ["%p"], [total], [f"%x: {wide}"]
        if self.extra is not None:
            maps.append(affine(self.extra, result))
            given.append("%e")
            kind_of.append(self.type(self.extra, wide))
            entry.append(f"%y: {wide}")
        outs, made = ["%o"], [out]
        body = {
            "none": [f"%r = arith.addf %x, %zero : {wide}"],
            "relu": [f"%r = arith.maximumf %x, %zero : {wide}"],
            "scaled": [f"%h = arith.mulf %x, %half : {wide}", f"%r = math.absf %h : {wide}"],
            "row": [f"%r = arith.mulf %x, %y : {wide}"],
        }.get(self.epilogue, [f"%r = arith.addf %x, %y : {wide}"])
        value = "%r"
        if self.result != wide:
            body = [*body, f"%q = arith.truncf %r : {wide} to {self.result}"]
            value = "%q"
        yielded, types = [value], [self.result]
        if self.epilogue == "two":
            outs, made = ["%o", "%t"], [out, total]
            yielded, types = [value, "%r"], [self.result, wide]
        maps += [affine(result, result)] * len(outs)
        entry += [f"%i{n}: {t}" for n, t in enumerate(types)]
        count = f":{len(outs)}" if len(outs) > 1 else ""
        lines += [
            f"  %g{count} = linalg.generic {{indexing_maps = [{', '.join(maps)}],",
            f"      iterator_types = [{', '.join(kinds[: len(result)])}]}}",
            f"      ins({', '.join(given)} : {', '.join(kind_of)}) outs({', '.join(outs)} : {', '.join(made)}) {{",
            f"  ^bb0({', '.join(entry)}):",
            *(f"    {line}" for line in body),
            f"    linalg.yield {', '.join(yielded)} : {', '.join(types)}",
            f"  }} -> ({', '.join(made)})",
            f"  return {', '.join(['%g#0', '%g#1'] if len(outs) > 1 else ['%g'])} : {', '.join(made)}",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def widened(self) -> list[str]:
        """The product of a pair, in the type of sums."""
        if self.dtype == self.sum:
            return [f"    %w = arith.mulf %x, %y : {self.sum}"]
        if self.dtype == "tf32":
            return [
                "    %xr = arith.truncf %x : f32 to tf32",
                "    %yr = arith.truncf %y : f32 to tf32",
                "    %u = arith.extf %xr : tf32 to f32",
                "    %v = arith.extf %yr : tf32 to f32",
                "    %w = arith.mulf %u, %v : f32",
            ]
        return [
            f"    %u = arith.extf %x : {self.dtype} to f32",
            f"    %v = arith.extf %y : {self.dtype} to f32",
            "    %w = arith.mulf %u, %v : f32",
        ]

    def data(self, rng: np.random.Generator) -> list[np.ndarray]:
        left, right, _ = self.indices
        given = [
            rng.standard_normal(self.shape(x)).astype(TYPES[self.dtype]) for x in (left, right)
        ]
        if self.extra is not None:
            given.append(rng.standard_normal(self.shape(self.extra)).astype(TYPES[self.sum]))
        return given

    def exact(self, given: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Results in fp64, and how far each may be off: products are exact in f32, sums lose at most half
        a unit of f32 for each summand, in whatever order; results are rounded once. Of f64, results
        have more digits, and products are rounded, too."""
        if self.dtype == "tf32":
            given = [*map(to_tf32, given[:2]), *given[2:]]
        is_double = self.dtype == "f64"
        exact = np.longdouble if is_double else np.float64
        a, b, *more = (np.asarray(x, exact) for x in given)
        total = np.einsum(self.notation, a, b, optimize=True)
        result = self.indices[2]
        length = np.prod([n for d, n in self.extents.items() if d not in result])
        # The matrix unit cuts sums off where the processor rounds.
        each = (length + 1) * 2.0**-53 if is_double else length * 2.0**-22
        if self.dtype == "f32":
            # Of parts with 11 bits: what is left of a number is half a unit of 2^-10 at most, and
            # is cut to 2^-10 of that, of both factors; the product of what is left is left out.
            each += 2 * 2.0**-21 + 2.0**-22
        off = np.einsum(self.notation, abs(a), abs(b), optimize=True) * each
        extra = 0.0
        if more:
            axes = [result.index(d) for d in self.extra or ""]
            order = np.argsort(axes)
            extra = np.transpose(more[0], order)
            extra = np.expand_dims(extra, [i for i in range(len(result)) if i not in axes])
        if self.epilogue == "relu":
            total = np.maximum(total, 0)
        elif self.epilogue == "scaled":
            total, off = abs(total * 0.5), off * 0.5
        elif self.epilogue == "row":
            total, off = total * extra, off * abs(extra)
        else:
            total = total + extra
        off = off + 2.0 ** (-53 if is_double else -24) * abs(total)
        least = 0.0 if self.result == "f64" else 2.0**-25  # subnormal numbers
        rounded = off + 2 * ROUNDING[self.result] * (abs(total) + off) + least
        return ([total, total], [rounded, off]) if self.epilogue == "two" else ([total], [rounded])

    def judge(self, given: list[np.ndarray], got: list[np.ndarray]) -> str:
        """What is wrong; empty where nothing is."""
        for number, (value, want, off) in enumerate(zip(got, *self.exact(given), strict=True)):
            if wrong := wrong_places(value, want, off):
                return f"result {number} is {wrong}"
        return ""


def draw(
    seed: int, most: int = 4096, dtypes: tuple[str, ...] = ("bf16", "bf16", "f16")
) -> Contraction:
    """A random one: up to two dims each of rows, columns, sums and batch, in random orders in memory;
    `most` bounds the elements of the result and of the operands, in thousands."""
    rng = np.random.default_rng(seed)
    names = iter("abcdefgh")
    groups = {
        kind: [next(names) for _ in range(int(rng.choice(counts)))]
        for kind, counts in (("m", [1, 1, 2]), ("n", [1, 1, 2]), ("k", [1, 1, 2]), ("b", [0, 0, 1]))
    }
    sizes = [1, 3, 7, 8, 16, 24, 40, 64, 65, 100, 128, 130, 200, 256, 300, 333, 512, 1000]
    last = {group[-1] for kind, group in groups.items() if kind != "b" and group}
    extents = {}
    for d in itertools.chain.from_iterable(groups.values()):
        extents[d] = int(rng.choice(sizes if d in last else [1, 2, 3, 4, 5, 8, 16]))
    m, n, k, b = (groups[x] for x in "mnkb")

    def order(*dims: str) -> str:
        # What a program has side by side is mostly so in memory.
        listed = list(dims)
        if rng.integers(3):
            rng.shuffle(listed)
        return "".join(listed)

    left, right, result = order(*b, *m, *k), order(*b, *k, *n), order(*b, *m, *n)
    for index in (left, right, result):
        while np.prod([float(extents[d]) for d in index]) > most * 1000:
            longest = max(index, key=extents.__getitem__)
            extents[longest] = max(1, extents[longest] // 2)
    return Contraction(
        f"{left},{right}->{result}", extents, str(rng.choice(EPILOGUES)),
        str(rng.choice(dtypes)), str(rng.choice(["bf16", "f16", "f32"])),
    )  # fmt: skip
