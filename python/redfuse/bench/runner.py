"""Times cases: all implementations of a case in turn, round after round, so that a slow minute
hits them all."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import math
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import Error
from ..runtime.tensors import from_torch, to_torch
from . import exact
from .cases import Case


@dataclasses.dataclass
class Row:
    """One implementation of one case. Times in ms a run; error is relative to fp64 in the max norm.

    ratio: this implementation's median over redfuse's, timed the same way (with or without
        ``out=``). On a GPU, of_floor: the least time (see ``gpu.Floors``) over the median;
        of_copy: where memory limits a short case, the time of a copy of as many bytes, timed in the
        same way, over the median; timed: by events or by replays of a graph.
    """

    workload: str
    case: str
    implementation: str
    dtype: str
    median_ms: float | None = None
    min_ms: float | None = None
    max_ms: float | None = None
    tflops: float | None = None
    gb_s: float | None = None
    error: float | None = None
    compile_s: float | None = None
    schedule: str = ""
    ratio: float | None = None
    rounds: int = 0
    note: str = ""
    of_floor: float | None = None
    of_copy: float | None = None
    timed: str = ""


@dataclasses.dataclass
class Settings:
    """How to time: seconds a case, rounds at most, threads, peers or not, the unfused program or
    not, its inputs' seed. limit: seconds after which no further case is started, 0 for none.
    peer_names: of those on a GPU; peer_seconds: that one of them may take to be ready; warm:
    processes that compile them ahead, 0 for none."""

    target: str = "cpu"
    seconds: float = 10.0
    rounds: int = 30
    threads: int = 0
    peers: bool = False
    unfused: bool = False
    seed: int = 0
    limit: float = 0.0
    peer_names: tuple[str, ...] = ()
    peer_seconds: float = 120.0
    warm: int = 0
    options: dict = dataclasses.field(default_factory=dict)

    @property
    def thread_count(self) -> int:
        """Threads of all implementations."""
        return self.threads or len(os.sched_getaffinity(0))


@dataclasses.dataclass
class Contender:
    """Something to time. ``into`` says that it writes into an output it was given."""

    name: str
    call: Callable[[], Any]
    into: bool
    row: Row
    samples: list[float] = dataclasses.field(default_factory=list)
    inner: int = 1


def copy_rate(threads: int, megabytes: int = 256) -> float:
    """GB/s, read and written, of copying ``megabytes`` with that many threads: what memory
    allows."""
    import numpy

    count = megabytes * (1 << 20) // 4
    a, b = numpy.ones(count, numpy.float32), numpy.zeros(count, numpy.float32)
    bounds = [count * i // threads for i in range(threads + 1)]

    def run() -> float:
        workers = [
            threading.Thread(target=numpy.copyto, args=(b[lo:hi], a[lo:hi]))
            for lo, hi in itertools.pairwise(bounds)
        ]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    best = min(run() for _ in range(7))
    return 2.0 * a.nbytes / best / 1e9


def run_case(case: Case, settings: Settings) -> list[Row]:
    """Compiles, times and checks one case. A failure becomes a row with a note, not the end of
    the run."""
    inputs = case.inputs(settings.seed)
    contenders: list[Contender] = []
    rows: list[Row] = []

    def row(name: str, **fields: Any) -> Row:
        made = Row(case.workload, case.name, name, case.dtype, **fields)
        rows.append(made)
        return made

    text = case.program()
    contenders += _redfuse(case, text, inputs, settings, row)
    if settings.peers:
        contenders += _peers(case, inputs, settings, row)
    ready = [c for c in contenders if _warm(c, case, inputs)]
    _rounds(ready, settings)
    for contender in ready:
        _summarise(contender, case)
    _ratios(ready)
    gc.collect()
    return rows


def _redfuse(
    case: Case, text: str, inputs: list, settings: Settings, row: Any
) -> Iterator[Contender]:
    from ..compiler import compile
    from ..runtime.arrays import empty_numpy

    variants = [("redfuse", True)] + ([("unfused", False)] if settings.unfused else [])
    for name, fuse in variants:
        try:
            executable = compile(
                text,
                target=settings.target,
                options={
                    **settings.options,
                    "fuse": fuse,
                    "cache": False,
                    "threads": settings.thread_count,
                },
            )
        except Error as error:
            row(name, note=str(error).splitlines()[0])
            continue
        facts = {
            "compile_s": executable.compile_seconds,
            "schedule": schedules(executable.explanation),
        }
        yield Contender(name, lambda e=executable: e(*inputs), False, row(name, **facts))
        if fuse and settings.peers:
            specs = executable.signature.outputs
            out = [empty_numpy(spec.shape, spec.dtype) for spec in specs]  # type: ignore[arg-type]
            yield Contender(
                f"{name}(out=)",
                lambda e=executable, o=out: e(*inputs, out=o),
                True,
                row(f"{name}(out=)", **facts),
            )


def schedules(explanation: dict) -> str:
    """The kinds of schedule of all kernels, "stream" or "stream+resident"."""
    kinds = []
    for kernel in explanation.get("kernels", []):
        schedule = kernel.get("schedule") or {}
        kind = schedule.get("kind", "") if isinstance(schedule, dict) else str(schedule)
        if kind and kind not in kinds:
            kinds.append(kind)
    return "+".join(kinds)


def _peers(case: Case, inputs: list, settings: Settings, row: Any) -> Iterator[Contender]:
    try:
        import torch
    except ImportError:
        raise Error("--peers needs PyTorch: pip install torch") from None
    torch.set_num_threads(settings.thread_count)
    with torch.no_grad():
        calls = case.peers([to_torch(array) for array in inputs])
    for name, (call, into) in calls.items():
        yield Contender(f"torch {name}", _without_grad(call), into, row(f"torch {name}"))


def _without_grad(call: Callable[[], Any]) -> Callable[[], Any]:
    import torch

    def run() -> Any:
        with torch.inference_mode():
            return call()

    return run


def _warm(contender: Contender, case: Case, inputs: list) -> bool:
    """First calls: the error against fp64, and how many calls make a sample of 2 ms or more."""
    try:
        results = contender.call()
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        arrays = [from_torch(r) if type(r).__module__.startswith("torch") else r for r in results]
        contender.row.error = exact.error(case.exact(inputs), arrays)
        del results, arrays
        start = time.perf_counter()
        contender.call()
        seconds = time.perf_counter() - start
    except (Error, RuntimeError, NotImplementedError, MemoryError, TypeError) as error:
        contender.row.note = (
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        )
        return False
    contender.inner = max(1, min(10000, math.ceil(2e-3 / max(seconds, 1e-7))))
    return True


def _rounds(contenders: Sequence[Contender], settings: Settings) -> None:
    start = time.perf_counter()
    for number in range(settings.rounds):
        turn = number % max(len(contenders), 1)
        for contender in (*contenders[turn:], *contenders[:turn]):
            began = time.perf_counter()
            for _ in range(contender.inner):
                contender.call()
            contender.samples.append((time.perf_counter() - began) / contender.inner)
        if number >= 2 and time.perf_counter() - start > settings.seconds:
            break


def _summarise(contender: Contender, case: Case) -> None:
    row, samples = contender.row, contender.samples
    if not samples:
        return
    seconds = statistics.median(samples)
    row.median_ms, row.min_ms, row.max_ms = seconds * 1e3, min(samples) * 1e3, max(samples) * 1e3
    row.tflops, row.gb_s = case.flops / seconds / 1e12, case.nbytes / seconds / 1e9
    row.rounds = len(samples)


def _ratios(contenders: Sequence[Contender]) -> None:
    ours = {c.into: c.row.median_ms for c in contenders if c.name in ("redfuse", "redfuse(out=)")}
    for contender in contenders:
        if contender.name.startswith("redfuse"):
            continue
        base = ours.get(contender.into, ours.get(False))
        if base and contender.row.median_ms:
            contender.row.ratio = contender.row.median_ms / base


def headline(rows: Sequence[Row]) -> tuple[str, float] | None:
    """The fastest peer of a case and its ratio to redfuse (over 1: redfuse is faster)."""
    peers = [
        row
        for row in rows
        if not row.implementation.startswith(("redfuse", "unfused")) and row.ratio is not None
    ]
    if not peers:
        return None
    fastest = min(peers, key=lambda row: row.median_ms or math.inf)
    return fastest.implementation, fastest.ratio or 0.0
