"""Random programs of two products with a cascade between them, on a GPU, against fp64.

`python test/hardware/random_units.py [--seed 0] [--count 200] [--jobs 8] [--compile-only]`: extents from 1
to a few hundred, head dims that fit tiles and that do not, key heads shared by queries, masks, biases,
caps, slopes, several reductions, results more than one, and repeated ones. Each on random data, poisoned results, two
launches equal in every bit; the exit status is 1 if one is wrong. Without a GPU --compile-only says
what takes matrix units.
"""

from __future__ import annotations

import math
import multiprocessing
import re
import sys
import time
import traceback
from dataclasses import dataclass

import cli
import numpy as np
import redfuse
from redfuse.bench import programs
from redfuse.bench.builder import Program, Value

ROUNDING = {"bf16": 2.0**-8, "f16": 2.0**-11}
SCHEDULES = ("auto", "stream", "resident", "split")


@dataclass(frozen=True)
class Shape:
    """What a seed stands for."""

    dtype: str
    batch: int
    heads: int
    kv_heads: int
    rows: int
    columns: int
    dim: int
    last: int
    kind: str
    mask: str
    bias: str
    cap: bool
    scale: float
    logsum: bool
    narrow: bool
    schedule: str
    repeated: int

    @staticmethod
    def of(seed: int) -> Shape:
        """Drawn by ``seed``."""
        rng = np.random.default_rng(seed)
        one = rng.choice
        shared = int(one([1, 1, 2, 4, 8]))
        kv_heads = int(one([1, 2, 3]))
        rows = int(one([1, 2, 17, 64, 65, 128, 130, 200, 256, 301]))
        columns = int(one([1, 8, 40, 64, 127, 128, 200, 333, 512, 700, 1024]))
        dim = int(one([8, 16, 32, 40, 64, 64, 80, 96, 128, 128, 192, 256]))
        kind = str(one(["softmax", "softmax", "softmax", "sigmoid", "linear", "relu"]))
        return Shape(
            str(one(["bf16", "bf16", "f16"])), int(one([1, 2])), kv_heads * shared, kv_heads, rows,
            columns, dim, int(one([dim, dim, dim, 64, 24])), kind,
            str(one(["none", "none", "causal", "window", "prefix", "given"])),
            str(one(["none", "none", "matrix", "slopes", "column"])), bool(rng.integers(4) == 0),
            float(one([1.0, 0.5, 1 / math.sqrt(dim)])), kind == "softmax" and bool(rng.integers(3) == 0),
            bool(rng.integers(4) != 0), str(one(SCHEDULES, p=[0.4, 0.3, 0.1, 0.2])),
            int(one([1, 1, 1, 3])),
        )  # fmt: skip

    @property
    def window(self) -> int:
        """How many columns a row sees where it sees a window: a third, or all there are."""
        return self.columns + 3 if self.kv_heads == 3 else max(1, self.columns // 3)

    def inputs(self) -> list[tuple[tuple[int, ...], str]]:
        """Shape and dtype of each argument."""
        b, h, g, m, n = self.batch, self.heads, self.kv_heads, self.rows, self.columns
        all_of = [((b, h, m, self.dim), self.dtype), ((b, g, n, self.dim), self.dtype),
                  ((b, g, n, self.last), self.dtype)]  # fmt: skip
        bias = {"matrix": (m, n), "slopes": (h, 1, 1), "column": (n,)}.get(self.bias)
        if bias:
            all_of.append((bias, "f32"))
        if self.mask == "given":
            all_of.append(((b, 1, m, n), "i1"))
        return all_of

    def program(self) -> str:
        """Plain linalg."""
        p = Program()
        given = [p.argument(*shape, dtype=dtype) for shape, dtype in self.inputs()]
        query, key, value, *more = given
        if self.heads != self.kv_heads:
            key, value = (programs.repeat_heads(p, x, self.heads) for x in (key, value))
        s = p.cast(p.bmm4(query, p.transpose(key, [0, 1, 3, 2])), "f32")
        s = p.with_scalar("mulf", s, self.scale, f64=False)
        if self.cap:
            s = p.with_scalar("mulf", p.unary("math.tanh", p.with_scalar("divf", s, 5.0, f64=False)),
                              5.0, f64=False)  # fmt: skip
        if self.bias == "slopes":
            rows, columns = programs.positions(p, self.rows, self.columns)
            distance = p.pointwise(
                [columns, rows], ["%r = arith.subi %in0, %in1 : i64"], "%r", "i64"
            )
            s = p.binary("addf", s, p.binary("mulf", more[0], p.cast(distance, "f32")))
        elif self.bias != "none":
            s = p.binary("addf", s, more[0])
        masked = "0xFF800000" if self.kind in ("softmax", "sigmoid") else "0.0"
        if self.mask != "none":
            low = Value(p.constant(f"dense<{masked}>", "tensor<f32>"), (), "f32")
            body = ["%r = arith.select %in0, %in1, %in2 : f32"]
            s = p.pointwise([self.hidden(p, more), low, s], body, "%r", "f32")
        results = []
        if self.kind == "softmax":
            weights = p.softmax_last(s)
        elif self.kind == "sigmoid":
            weights = _sigmoid(p, s)
        elif self.kind == "relu":
            weights = p.relu(s)
        else:
            weights = s
        if self.logsum:
            top = p.max_last(s)
            total = p.sum(p.unary("math.exp", p.binary("subf", s, top)), [3], keepdim=True)
            results.append(p.binary("addf", p.unary("math.log", total), top))
        if self.narrow:
            out = p.bmm4(p.cast(weights, self.dtype), value)
        else:
            out = p.bmm4(weights, p.cast(value, "f32"))
        if self.repeated > 1:
            out = programs.repeat_heads(p, out, self.heads * self.repeated)
        return p.text(out, *results)

    def hidden(self, p: Program, more: list[Value]) -> Value:
        """i1: which scores count for nothing."""
        if self.mask == "given":
            return more[-1]
        rows, columns = programs.positions(p, self.rows, self.columns)
        if self.mask == "prefix":
            length = p.constant(max(1, self.columns * 2 // 3), "i64")
            body = [f"%r = arith.cmpi sge, %in0, {length} : i64"]
            return p.pointwise([columns], body, "%r", "i1")
        later = p.pointwise([rows, columns], ["%r = arith.cmpi slt, %in0, %in1 : i64"], "%r", "i1")
        if self.mask == "causal":
            return later
        size = p.constant(self.window, "i64")
        body = ["%d = arith.subi %in0, %in1 : i64", f"%r = arith.cmpi sge, %d, {size} : i64"]
        early = p.pointwise([rows, columns], body, "%r", "i1")
        return p.pointwise([later, early], ["%r = arith.ori %in0, %in1 : i1"], "%r", "i1")


def _sigmoid(p: Program, s: Value) -> Value:
    body = ["%n = arith.negf %in0 : f32", "%e = math.exp %n : f32", "%one = arith.constant 1.0 : f32",
            "%d = arith.addf %e, %one : f32", "%r = arith.divf %one, %d : f32"]  # fmt: skip
    return p.pointwise([s], body, "%r", "f32")


def exact(shape: Shape, given: list) -> tuple[list, list]:
    """fp64 results, and how far each may be off: weights and results are rounded to 16 bits, sums
    of products in f32."""
    import torch

    query, key, value, *more = (x if x.dtype == torch.bool else x.double() for x in given)
    shared = shape.heads // shape.kv_heads
    key, value = (x.repeat_interleave(shared, 1) for x in (key, value))
    s = query @ key.transpose(-1, -2)
    # The product is rounded to 16 bits in the program as it is written.
    rounding = ROUNDING[shape.dtype]
    off = rounding * s.abs() + 2.0**-22 * math.sqrt(shape.dim) * (
        query.abs() @ key.abs().transpose(-1, -2)
    )
    s, off = s * shape.scale, off * abs(shape.scale)
    if shape.cap:
        s = 5 * torch.tanh(s / 5)
    i = torch.arange(shape.rows, device=s.device)[:, None] + shape.columns - shape.rows
    j = torch.arange(shape.columns, device=s.device)[None]
    if shape.bias == "slopes":
        s = s + more[0] * (j - i)
    elif shape.bias != "none":
        s = s + more[0]
    off = off + 2.0**-23 * s.abs()
    hidden = {
        "none": None, "given": more[-1] if more else None, "causal": i < j,
        "prefix": (j >= max(1, shape.columns * 2 // 3)).expand(shape.rows, shape.columns),
        "window": (i < j) | (i - j >= shape.window),
    }[shape.mask]  # fmt: skip
    if hidden is not None:
        low = -math.inf if shape.kind in ("softmax", "sigmoid") else 0.0
        s, off = s.masked_fill(hidden, low), off.masked_fill(hidden, 0.0)
    results, bounds = [], []
    if shape.kind == "softmax":
        weights = torch.softmax(s, -1)
        change = weights * (off + (weights * off).nan_to_num(0).sum(-1, keepdim=True) + 2.0**-18)
    elif shape.kind == "sigmoid":
        weights = torch.sigmoid(s)
        change = weights * (off + 2.0**-18)
    else:
        weights = s.relu() if shape.kind == "relu" else s
        change = off
    weights_off = change.nan_to_num(0) + rounding * weights.abs().nan_to_num(0)
    out = weights @ value
    results.append(out)
    spread = weights.abs().nan_to_num(0) @ value.abs()
    bounds.append(
        weights_off @ value.abs() + rounding * out.abs().nan_to_num(0) + 2.0**-20 * spread
    )
    if shape.repeated > 1:
        results, bounds = (
            [x.repeat_interleave(shape.repeated, 1) for x in y] for y in (results, bounds)
        )
    if shape.logsum:
        # As it is written: a row that is masked whole is minus infinity less itself.
        top = s.amax(-1, keepdim=True)
        total = (s - top).exp().sum(-1, keepdim=True).log() + top
        results.append(total)
        bounds.append(off.nan_to_num(0).amax(-1, keepdim=True) + 1e-5 * (1 + total.abs()))
    return results, bounds


def one(seed: int, compile_only: bool, target: str) -> tuple[int, str, str]:
    """seed, a verdict ("" if right), and how it was compiled."""
    shape = Shape.of(seed)
    try:
        exe = redfuse.compile(
            shape.program(), target=target, options={"cache": False, "schedule": shape.schedule}
        )
        found = sorted(set(re.findall(r"\b(wgmma|mma\.sync)", exe.asm))) or ["scalar"]
        how = f"{' '.join(found)}, {len(exe.resources)} kernels"
        spills = sum(entry.spills for entry in exe.resources)
        how += f", {spills} bytes of spills" if spills else ""
        return seed, "" if compile_only else judge(shape, seed, exe), how
    except Exception as problem:
        if type(problem).__name__ == "AcceleratorError":
            traceback.print_exc()
        return seed, f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}", ""


def judge(shape: Shape, seed: int, exe) -> str:
    """What is wrong with the results."""
    import torch

    torch.manual_seed(seed)
    given = []
    for extents, dtype in shape.inputs():
        if dtype == "i1":
            given.append(torch.rand(extents, device="cuda") < 0.4)
            continue
        kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[dtype]
        given.append(torch.randn(extents, device="cuda").to(kind))
    results = exe(*given)
    results = results if isinstance(results, tuple) else (results,)
    out = tuple(torch.full_like(result, math.nan) for result in results)
    exe(*given, out=out)
    torch.cuda.synchronize()
    for at, (first, second) in enumerate(zip(results, out, strict=True)):
        if not torch.equal(first.nan_to_num(7.0), second.nan_to_num(7.0)):
            return f"result {at} differs between two launches"
    wanted, bounds = exact(shape, given)
    for at, (got, want, bound) in enumerate(zip(out, wanted, bounds, strict=True)):
        # What the type of the results has no number for is infinite.
        most = torch.finfo(got.dtype).max
        got = got.double()
        large = got.isinf() & (want.abs() + 2 * bound >= most) & (got.sign() == want.sign())
        if not torch.equal(got.isnan(), want.isnan()):
            return f"result {at}: {got.isnan().sum()} NaN, exact {want.isnan().sum()}"
        wrong = ((got - want).abs() > 2 * bound + 1e-6) & ~(got == want) & ~want.isnan()
        wrong &= ~large
        if wrong.any():
            place = tuple(x[0].item() for x in wrong.nonzero(as_tuple=True))
            return (
                f"result {at}: {wrong.sum()} of {wrong.numel()} wrong, at {place} got "
                f"{got[place]:.6g}, exact {want[place]:.6g}, bound {bound[place]:.2g}"
            )
    return ""


def _task(words: tuple[int, bool, str]) -> tuple[int, str, str]:
    return one(*words)


def main() -> int:
    """The command line."""
    parser = cli.parser(__doc__)
    cli.add_draws(parser, 200)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument(
        "--seconds", type=float, default=0, help="begin none after so long (0: all)"
    )
    cli.add_target(parser)
    parser.add_argument("--compile-only", action="store_true")
    given = parser.parse_args()
    start, ended, wrong, ways = time.monotonic(), 0, 0, {}
    words = [(given.seed + i, given.compile_only, given.target) for i in range(given.count)]
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        for seed, verdict, how in pool.imap_unordered(_task, words):
            ended += 1
            ways[how] = ways.get(how, 0) + 1
            if verdict or "spills" in how:
                wrong += bool(verdict)
                print(f"{seed}: {verdict or how}: {Shape.of(seed)}", flush=True)
            if given.seconds and time.monotonic() - start > given.seconds:
                pool.terminate()
                break
    for how, number in sorted(ways.items()):
        print(f"  {number:4d} {how}")
    print(f"{ended} programs, {wrong} wrong, {time.monotonic() - start:.0f} s")
    return 1 if wrong or not ended else 0


if __name__ == "__main__":
    sys.exit(main())
