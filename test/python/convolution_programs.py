"""Convolutions in index notation: windows of any number of dims, strides, dilations, groups, and layouts in
memory, with a bias and a rectifier behind them. Programs, data, and results in fp64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from contraction_programs import ROUNDING, TYPES
from judged import wrong_places


@dataclass(frozen=True)
class Convolution:
    """`window`, `stride`, `dilation` and `size` (of the result) have an entry for each spatial dim.

    The input is exactly as large as windows reach; `pad` of its rows on either side are zeros that the
    program puts there."""

    size: tuple[int, ...]
    window: tuple[int, ...]
    channels: int = 8
    filters: int = 16
    batch: int = 2
    stride: int = 1
    dilation: int = 1
    pad: int = 0
    groups: int = 1
    is_channels_last: bool = False
    has_epilogue: bool = True
    dtype: str = "f32"

    @property
    def sum(self) -> str:
        """The type of sums."""
        return "f64" if self.dtype == "f64" else "f32"

    @property
    def input_size(self) -> tuple[int, ...]:
        """Padding included."""
        return tuple(
            (n - 1) * self.stride + (k - 1) * self.dilation + 1
            for n, k in zip(self.size, self.window, strict=True)
        )

    def layout(self, channels: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
        """Of an input or result."""
        inner = (*size, *channels) if self.is_channels_last else (*channels, *size)
        return (self.batch, *inner)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the input without padding, the weights, the bias and the result."""
        of_group = self.channels // self.groups, self.filters // self.groups
        split = self.groups > 1
        own = tuple(n - 2 * self.pad for n in self.input_size)
        channels = (self.groups, of_group[0]) if split else (of_group[0],)
        filters = (self.groups, of_group[1]) if split else (of_group[1],)
        return (
            self.layout(channels, own), (*filters, of_group[0], *self.window), filters,
            self.layout(filters, self.size),
        )  # fmt: skip

    def program(self) -> str:
        """Plain linalg."""
        spatial = [f"s{i}" for i in range(len(self.size))]
        taps = [f"t{i}" for i in range(len(self.size))]
        group = ["g"] if self.groups > 1 else []
        dims = ["n", *group, "o", *spatial, "c", *taps]
        reach = [
            f"{s} * {self.stride} + {t} * {self.dilation}"
            for s, t in zip(spatial, taps, strict=True)
        ]

        def index(channels: list[str], inner: list[str]) -> list[str]:
            return ["n", *inner, *channels] if self.is_channels_last else ["n", *channels, *inner]

        def affine(result: list[str], over: list[str]) -> str:
            return f"affine_map<({', '.join(over)}) -> ({', '.join(result)})>"

        def tensor(shape: tuple[int, ...], element: str) -> str:
            return f"tensor<{'x'.join([*map(str, shape), element])}>"

        given, weights, bias, out = self.shapes
        rank, wide = len(given), self.sum
        x, w, e = tensor(given, self.dtype), tensor(weights, self.dtype), tensor(bias, wide)
        total, result = tensor(out, wide), tensor(out, self.dtype)
        channels = (
            self.shapes[0][-1 - len(group) :]
            if self.is_channels_last
            else given[1 : 2 + len(group)]
        )
        padded = tensor(self.layout(tuple(channels), self.input_size), self.dtype)
        lines = [f"func.func @main(%x: {x}, %w: {w}, %e: {e}) -> {result} {{",
                 f"  %zero = arith.constant 0.0 : {wide}",
                 f"  %none = arith.constant 0.0 : {self.dtype}"]  # fmt: skip
        source = "%x"
        if self.pad:
            at = (
                range(1, 1 + len(spatial))
                if self.is_channels_last
                else range(rank - len(spatial), rank)
            )
            edge = ", ".join(str(self.pad if i in at else 0) for i in range(rank))
            args = ", ".join(f"%i{i}: index" for i in range(rank))
            lines += [
                f"  %pad = tensor.pad %x low[{edge}] high[{edge}] {{",
                f"  ^bb0({args}):",
                f"    tensor.yield %none : {self.dtype}",
                f"  }} : {x} to {padded}",
            ]
            source = "%pad"
        kinds = ['"parallel"'] * (2 + len(group) + len(spatial))
        summed = ['"reduction"'] * (1 + len(taps))
        outer = index([*group, "o"], spatial)
        kept = ["n", *group, "o", *spatial]
        body = [f"%m = arith.mulf %p, %q : {wide}"]
        if self.dtype != wide:
            body = [
                f"%u = arith.extf %p : {self.dtype} to f32",
                f"%v = arith.extf %q : {self.dtype} to f32",
                "%m = arith.mulf %u, %v : f32",
            ]
        lines += [
            f"  %t = tensor.empty() : {total}",
            f"  %o = tensor.empty() : {result}",
            f"  %z = linalg.fill ins(%zero : {wide}) outs(%t : {total}) -> {total}",
            f"  %s = linalg.generic {{indexing_maps = [{affine(index([*group, 'c'], reach), dims)},",
            f"      {affine([*group, 'o', 'c', *taps], dims)}, {affine(outer, dims)}],",
            f"      iterator_types = [{', '.join([*kinds, *summed])}]}}",
            f"      ins({source}, %w : {padded if self.pad else x}, {w}) outs(%z : {total}) {{",
            f"  ^bb0(%p: {self.dtype}, %q: {self.dtype}, %a: {wide}):",
            *(f"    {line}" for line in body),
            f"    %r = arith.addf %a, %m : {wide}",
            f"    linalg.yield %r : {wide}",
            f"  }} -> {total}",
        ]
        after = [f"%f = arith.addf %p, %q : {wide}", f"%h = arith.maximumf %f, %zero : {wide}"]
        if not self.has_epilogue:
            after = [f"%h = arith.addf %p, %zero : {wide}"]
        value = "%h"
        if self.dtype != wide:
            after.append(f"%c = arith.truncf %h : f32 to {self.dtype}")
            value = "%c"
        lines += [
            f"  %y = linalg.generic {{indexing_maps = [{affine(outer, kept)}, {affine([*group, 'o'], kept)},",
            f"      {affine(outer, kept)}], iterator_types = [{', '.join(kinds)}]}}",
            f"      ins(%s, %e : {total}, {e}) outs(%o : {result}) {{",
            f"  ^bb0(%p: {wide}, %q: {wide}, %a: {self.dtype}):",
            *(f"    {line}" for line in after),
            f"    linalg.yield {value} : {self.dtype}",
            f"  }} -> {result}",
            f"  return %y : {result}",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def data(self, rng: np.random.Generator) -> list[np.ndarray]:
        given, weights, bias, _ = self.shapes
        arrays = [
            rng.standard_normal(shape).astype(TYPES[self.dtype]) for shape in (given, weights)
        ]
        return [*arrays, rng.standard_normal(bias).astype(TYPES[self.sum])]

    def sums(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """In fp64."""
        split, spatial = self.groups > 1, len(self.size)
        if not split:
            w = w[None]
        # To [n, g, c, spatial].
        if self.is_channels_last:
            inner = [0, *range(1 + spatial, x.ndim), *range(1, 1 + spatial)]
            x = x.transpose(inner)
        if not split:
            x = x[:, None]
        edges = [(0, 0)] * 3 + [(self.pad, self.pad)] * spatial
        x = np.pad(x, edges)
        total = np.zeros((self.batch, self.groups, w.shape[1], *self.size), x.dtype)
        for tap in np.ndindex(*self.window):
            part = x[(slice(None),) * 3 + tuple(
                slice(t * self.dilation, t * self.dilation + (n - 1) * self.stride + 1, self.stride)
                for t, n in zip(tap, self.size, strict=True)
            )]  # fmt: skip
            total += np.einsum("ngc...,goc->ngo...", part, w[(slice(None),) * 3 + tap])
        if not split:
            total = total[:, 0]
        if self.is_channels_last:
            lead = 3 if split else 2
            total = total.transpose([0, *range(lead, total.ndim), *range(1, lead)])
        return total

    def exact(self, given: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The result in fp64, and how far it may be off, as of contractions."""
        is_double = self.dtype == "f64"
        exact = np.longdouble if is_double else np.float64
        x, w, e = (np.asarray(a, exact) for a in given)
        total = self.sums(x, w)
        length = float(np.prod(w.shape[-1 - len(self.size) :]))
        each = length * 2.0**-22 + (2 * 2.0**-21 + 2.0**-22 if self.dtype == "f32" else 0)
        if is_double:  # products are rounded, too
            each = (length + 1) * 2.0**-53
        off = self.sums(abs(x), abs(w)) * each
        if self.has_epilogue:
            lead = e.ndim
            inner = (1,) * len(self.size)
            total = np.maximum(
                total + e.reshape(e.shape if self.is_channels_last else e.shape + inner), 0
            )
            assert lead == 1 + (self.groups > 1)
        off = off + 2.0 ** (-53 if is_double else -24) * abs(total)
        least = 0.0 if is_double else 2.0**-25  # subnormal numbers
        return total, off + 2 * ROUNDING[self.dtype] * (abs(total) + off) + least

    def judge(self, given: list[np.ndarray], got: list[np.ndarray]) -> str:
        """What is wrong; empty where nothing is."""
        (result,) = got
        return wrong_places(result, *self.exact(given))


def draw(seed: int, dtypes: tuple[str, ...] = ("f32", "bf16", "f16")) -> Convolution:
    """A random one of one to three dims."""
    rng = np.random.default_rng(seed)
    dims = int(rng.choice([1, 2, 2, 3]))
    most = {1: 90, 2: 14, 3: 6}[dims]
    window = tuple(int(k) for k in rng.integers(1, 4 if dims > 1 else 8, dims))
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    stride, dilation = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 1, 2]))
    size = tuple(int(n) for n in rng.integers(1, most, dims))
    smallest = min(
        (n - 1) * stride + (k - 1) * dilation + 1 for n, k in zip(size, window, strict=True)
    )
    pad = int(rng.integers(0, 2)) if smallest > 2 else 0
    return Convolution(
        size, window, groups * int(rng.choice([1, 3, 8, 20])), groups * int(rng.choice([5, 8, 16, 33])),
        int(rng.choice([1, 2, 3])), stride, dilation, pad, groups,
        bool(rng.integers(2)), bool(rng.integers(2)), str(rng.choice(dtypes)),
    )  # fmt: skip
