"""Rows at the speed of memory, under several ways to share them: `python test/hardware/rows.py`.

Every case of the benchmarks named (all of them without a name) with the model's own choice and with
others, by hints of the schedule: blocks of a cluster that share a row, rows of a block, threads,
blocks of a multiprocessor. Replays of graphs with inputs that the L2 cache does not hold, rounds in
turn, the median; as a share of the rate of a copy measured in the same run, and of a copy of as many
bytes, which is in each round first: as any other kernel, it leaves the multiprocessors with a
first-level cache and shared memory of other sizes. Errors against fp64 on some rows. Exit status 1
if one is wrong.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys

import cli
import redfuse
import torch
from redfuse.attributes import Hint
from redfuse.bench import exact, gpu
from redfuse.bench.cases import Case, all_cases
from redfuse.bench.gpu_timing import Timer, first_line, sets_of
from redfuse.bench.runner import from_torch
from redfuse.frontends.mlir import Source
from redfuse.options import Options
from redfuse.tuning.space import places

# Rows are read again from the first-level cache.
CACHED: dict[str, Hint] = {"keep": False, "threads": 1024, "blocks": 2, "step": 8}
LOOP: dict[str, Hint] = {"loop": "registers"}
# Hints and, as `tile`, rows of a block; the model's choice is the first.
WAYS: dict[str, tuple[dict[str, Hint], ...]] = {
    "softmax/S1": ({}, {"prefetch": 0}),
    "softmax/S2": ({}, {"prefetch": 0}, {"keep": True}),
    "softmax/S3": ({}, {"prefetch": 0}),
    "layernorm/S1": ({}, {"bypass": "results"}, {"bypass": "none"},
                     {"bypass": "none", "prefetch": 4}, {"loop": "copies"}),
    "layernorm/S2": ({}, {"prefetch": 24}, {"threads": 1024}, CACHED),
    "layernorm/S3": ({}, {"prefetch": 0}, {"early": "with_rest"}, {"bypass": "results"}),
    "rmsnorm/S1": ({}, {"prefetch": 4}, {"bypass": "results"}, {"bypass": "none"},
                   {"loop": "copies"}),
    "rmsnorm/S2": ({}, {"prefetch": 24}, {"threads": 1024}, CACHED, {**CACHED, "bypass": "none"},
                   {**CACHED, "step": 32}),
    "rmsnorm/S3": ({}, {"prefetch": 0}, {"bypass": "results"}),
    "cross_entropy/S1": ({}, {**LOOP, "step": 32}),
    "cross_entropy/S2": ({},),
    "cross_entropy/S3": ({},),
    "variance/V3": ({}, {"prefetch": 0}),
    "variance/V4": ({}, {**LOOP, "step": 16, "blocks": 2}),
    "variance/V5": ({}, {"prefetch": 24}, {**LOOP, "step": 16, "blocks": 4}),
    "variance/V6": ({}, {**LOOP, "step": 16, "blocks": 4}, {**LOOP, "step": 32, "blocks": 2},
                    {**LOOP, "step": 16, "blocks": 4, "prefetch": 24}),
    "variance/V7": ({}, {**LOOP, "step": 16, "blocks": 4}),
    "variance/V8": ({}, {**LOOP, "step": 16, "blocks": 4}),
    "inertia/I3": ({}, {"prefetch": 24}),
    "inertia/I4": ({}, {**LOOP, "step": 16, "blocks": 2}, {**LOOP, "step": 32, "blocks": 1}),
    "inertia/I5": ({}, {"prefetch": 24}),
    "inertia/I6": ({}, {**LOOP, "step": 16, "blocks": 2}),
    "variance/V2": ({},),
    "inertia/I2": ({},),
}  # fmt: skip


@dataclasses.dataclass
class Way:
    """One program compiled under one schedule, and its times."""

    what: str
    note: str = ""
    timer: Timer | None = None
    error: float = 0.0
    samples: list[float] = dataclasses.field(default_factory=list)


def schedules_of(case: Case, asked: dict[str, Hint]) -> tuple[str, ...]:
    """The model's schedules of a case with the hints asked for; none without hints."""
    if not asked:
        return ()
    texts = []
    for place in places(Source(case.program()), Options(), "cuda:sm_90a"):
        one = place.starts[0]
        for name, value in asked.items():
            one = (
                one.with_tile(one.grid[-1], int(value))
                if name == "tile"
                else one.with_hint(name, value)
            )
        texts.append(one.text)
    return tuple(texts)


def prepare(case: Case, asked: dict[str, Hint], sets: list, want: list, rows: int) -> Way:
    """Compiles and checks; a failure is a note."""
    way = Way(" ".join(f"{name} {value}" for name, value in asked.items()) or "model")
    try:
        options = {"cache": False, "schedules": schedules_of(case, asked)}
        exe = redfuse.compile(case.program(), target="cuda", options=options)
        way.note = ", ".join(
            f"{kernel.registers} registers"
            + (f", {kernel.spills} spilled" if kernel.spills else "")
            for kernel in exe.resources
        )
        outs = [torch.full_like(exe(*sets[0]), float("nan")) for _ in sets]
        calls = [
            lambda arrays=arrays, out=out: exe(*arrays, out=out)
            for arrays, out in zip(sets, outs, strict=True)
        ]
        calls[0]()
        some = outs[0][:rows].cpu()
        way.error = exact.error(iter(want), [from_torch(some)])
        way.timer = Timer(calls)
    except Exception as error:  # one that cannot be had is a line
        way.note = first_line(error)
        way.error = float("nan")
    return way


def nothing() -> float:
    """Microseconds of a kernel that does next to nothing, in replays of a graph."""
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    exe = redfuse.compile(text, target="cuda")
    xs = [torch.zeros(4, device="cuda") for _ in range(512)]
    ys = [torch.zeros(4, device="cuda") for _ in range(512)]
    timer = Timer([lambda x=x, y=y: exe(x, out=y) for x, y in zip(xs, ys, strict=True)])
    return statistics.median(timer.sample() for _ in range(9)) * 1000


def main() -> int:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("cases", nargs="*", help="parts of names; all of them without")
    parser.add_argument("--model", action="store_true", help="the model's choice alone")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    floors = gpu.measure_floors()
    print(f"copy {floors.copy_gb_s:.0f} GB/s; a kernel that does nothing: {nothing():.2f} us")
    print(
        f"{'case':18} {'schedule':24} {'us':>8} {'least':>8} {'rate':>6} {'copy':>6} {'error':>8}"
    )
    wrong = 0
    cases = {**all_cases("bf16"), **{name: case for name, case in all_cases("f32").items()
                                     if case.workload in ("variance", "inertia")}}  # fmt: skip
    for name, ways in WAYS.items():
        if given.cases and not any(part in name for part in given.cases):
            continue
        case = next(c for c in cases.values() if c.full_name.endswith(name))
        first = gpu._inputs(case, 0)
        sets = sets_of(first)
        rows = min(64, first[0].shape[0])
        few = [
            from_torch((t[:rows] if t.ndim > 1 or t.dtype == torch.int64 else t).cpu())
            for t in first
        ]
        want = list(case.exact(few))
        asked = ways[:1] if given.model else ways
        made = [prepare(case, one, sets, want, rows) for one in asked]
        copy = gpu._copy(case).timer
        copies = []
        for _ in range(given.rounds):
            copies.append(copy.sample())
            for way in made:
                if way.timer:
                    way.samples.append(way.timer.sample())
        for way in made:
            median, least = (1000 * f(way.samples or [float("nan")])
                             for f in (statistics.median, min))  # fmt: skip
            share = case.nbytes / floors.copy_gb_s / 1e3 / median
            of_copy = 1000 * statistics.median(copies) / median
            print(f"{name:18} {way.what:24} {median:8.2f} {least:8.2f} {share:6.3f} "
                  f"{of_copy:6.3f} {way.error:8.1e}  {way.note}", flush=True)  # fmt: skip
            wrong += not way.error < 2e-2
        del made, sets, first, copy
        torch.cuda.empty_cache()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
