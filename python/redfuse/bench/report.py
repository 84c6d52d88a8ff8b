"""Rows of benchmarks as a table and as JSON."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..cli import console
from ..compiler import host_text
from . import groups
from .cases import Case
from .runner import Row, Settings, copy_rate, headline, run_case

HEADER = (
    "workload/case",
    "implementation",
    "median ms",
    "min",
    "max",
    "TFLOP/s",
    "GB/s",
    "error",
    "compile s",
    "ratio",
    "schedule",
)
NUMBERS = (2, 3, 4, 5, 6, 7, 8, 9)


def run(cases: Sequence[Case], settings: Settings, path: Path | None) -> int:
    """Runs the cases, prints the table and writes the JSON; returns 0, or 1 if an implementation
    of ours failed."""
    from .. import _ext

    threads = settings.thread_count
    with console.progress("measuring the copy rate"):
        rate = copy_rate(threads)
    print(
        f"{host_text(_ext.host())}; {threads} threads; copy rate {rate:.1f} GB/s (read and written)"
    )
    rows: list[Row] = []
    heads: list[tuple[str, str, float]] = []
    for number, case in enumerate(cases, 1):
        print(f"[{number}/{len(cases)}] {case.full_name}", file=sys.stderr, flush=True)
        with console.progress(case.full_name):
            made = run_case(case, settings)
        rows += made
        best = headline(made)
        if best:
            heads.append((case.full_name, *best))
        if path is not None:
            write_json(path, rows, settings, rate)
    console.table(HEADER, [cells(row) for row in rows], NUMBERS)
    for row in rows:
        if row.note:
            print(f"{row.workload}/{row.case} {row.implementation}: {row.note}")
    if heads:
        console.heading("Speed relative to the fastest peer (over 1: redfuse is faster)")
        for name, peer, ratio in heads:
            print(f"  {name}: {ratio:.2f} of {peer}")
    failed = [row for row in rows if row.implementation.startswith("redfuse") and row.note]
    return 1 if failed else 0


GPU_HEADER = ("workload/case", "implementation", "median ms", "min", "TFLOP/s", "GB/s",
              "of floor", "of copy", "error", "compile s", "ratio", "schedule",
              "timed")  # fmt: skip


def run_gpu(cases: Sequence[Case], settings: Settings, path: Path | None, plot: Path | None) -> int:
    """The same on a GPU; ``plot``: an SVG or PNG of the shares of the floor."""
    from . import gpu

    about = gpu.circumstances()
    print("; ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    printed = 0

    def done(rows: list[Row], floors: gpu.Floors) -> None:
        nonlocal printed
        if not printed:
            rates = ", ".join(f"{k} {v:.0f}" for k, v in floors.gemm_tflops.items())
            print(f"copy {floors.copy_gb_s:.0f} GB/s; matrix products {rates} TFLOP/s")
        for row in rows[printed:]:
            print("  ".join(cell for cell in gpu_cells(row) if cell) + f"  {row.note}", flush=True)
        printed = len(rows)
        if path is not None:
            write_gpu_json(path, rows, floors, settings, about, groups.means(rows, cases))

    rows, _, left = gpu.run(cases, settings, done)
    console.table(GPU_HEADER, [gpu_cells(row) for row in rows if row.median_ms], range(2, 11))
    for row in rows:
        if row.note:
            print(f"{row.workload}/{row.case} {row.implementation}: {row.note}")
    for case in dict.fromkeys((row.workload, row.case) for row in rows):
        best = headline([row for row in rows if (row.workload, row.case) == case])
        ours = next(r for r in rows if (r.workload, r.case, r.implementation) == (*case, "redfuse"))
        if best and ours.of_floor is not None:
            share = f"{ours.of_floor:.2f} of the floor"
            if ours.of_copy is not None:
                share += f", {ours.of_copy:.2f} of a copy of its size"
            print(f"  {'/'.join(case)}: {share}, {best[1]:.2f} times as fast as {best[0]}")
    _print_means(groups.means(rows, cases))
    if left:
        print(f"out of time for {', '.join(left)}")
    if plot is not None:
        from .plot import draw

        draw(rows, about, plot)
    failed = [r for r in rows if r.implementation in ("redfuse", "all") and r.median_ms is None]
    return 1 if failed else 0


def _print_means(means: Sequence[groups.Mean]) -> None:
    """Geometric means by group."""
    if not means:
        return
    console.heading(
        "Geometric means (speed beside a peer, over 1: redfuse is faster; of floor: share)"
    )
    header = ("group", "beside", "cases", "mean", "least", "of")
    cells = [
        [m.group, m.peer, m.cases, f"{m.mean:.3f}", f"{m.least:.3f}", m.least_case] for m in means
    ]
    console.table(header, cells, (2, 3, 4))


def gpu_cells(row: Row) -> list[str]:
    """A row as text."""

    def short(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    return [
        f"{row.workload}/{row.case}", row.implementation, short(row.median_ms, ".4f"),
        short(row.min_ms, ".4f"), short(row.tflops, ".1f"), short(row.gb_s, ".0f"),
        short(row.of_floor, ".3f"), short(row.of_copy, ".3f"),
        short(row.error, ".1e"), short(row.compile_s, ".2f"), short(row.ratio, ".2f"),
        row.schedule, row.timed,
    ]  # fmt: skip


def write_gpu_json(
    path: Path, rows: Sequence[Row], floors: Any, settings: Settings, about: dict[str, str],
    means: Sequence[groups.Mean],
) -> None:  # fmt: skip
    """All rows, their means, and the run's circumstances, written atomically."""
    from .. import __version__
    from ..store import files

    document: dict[str, Any] = {
        "redfuse": __version__, "target": settings.target, **about,
        "copy_gb_s": floors.copy_gb_s, "gemm_tflops": floors.gemm_tflops,
        "means": [dataclasses.asdict(mean) for mean in means],
        "rows": [dataclasses.asdict(row) for row in rows],
    }  # fmt: skip
    files.write(str(path), (json.dumps(document, indent=1) + "\n").encode())


def cells(row: Row) -> list[str]:
    """A row as text."""

    def short(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    return [
        f"{row.workload}/{row.case}",
        row.implementation,
        short(row.median_ms, ".3f"),
        short(row.min_ms, ".3f"),
        short(row.max_ms, ".3f"),
        short(row.tflops, ".3f"),
        short(row.gb_s, ".1f"),
        short(row.error, ".1e"),
        short(row.compile_s, ".2f"),
        short(row.ratio, ".2f"),
        row.schedule,
    ]


def write_json(path: Path, rows: Sequence[Row], settings: Settings, rate: float) -> None:
    """All rows, and the run's circumstances, written atomically."""
    from .. import __version__, _ext
    from ..store import files

    document: dict[str, Any] = {
        "redfuse": __version__,
        "target": settings.target,
        "threads": settings.thread_count,
        "host": {k: v for k, v in _ext.host().items() if k != "features"},
        "copy_gb_s": rate,
        "rows": [dataclasses.asdict(row) for row in rows],
    }
    files.write(str(path), (json.dumps(document, indent=1) + "\n").encode())
