"""Times cases on a GPU (see ``gpu_timing``), all implementations in turn, beside what a copy and a
matrix product reach in the same run."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import itertools
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import Error
from ..runtime.tensors import need_gpu, to_host
from . import exact, gpu_peers, warming
from .cases import Case
from .gpu_timing import SHORT_MS, Timer, first_line, sets_of, timed
from .runner import Row, Settings, schedules


@dataclasses.dataclass
class Floors:
    """What this GPU reaches: GB/s of a copy (read and written), TFLOP/s of matrix products."""

    copy_gb_s: float
    gemm_tflops: dict[str, float]

    def milliseconds(self, case: Case) -> float:
        """The least time of a case."""
        return max(self._products(case), self._copy(case))

    def is_short_copy(self, case: Case) -> bool:
        """Whether the case is a matter of memory, and so short that the rate of a long copy is not
        what memory allows it: starting and ending take a part."""
        return self._products(case) < self._copy(case) < SHORT_MS

    def _products(self, case: Case) -> float:
        return case.flops / self.gemm_tflops.get(case.dtype, self.gemm_tflops["f32"]) / 1e9

    def _copy(self, case: Case) -> float:
        return case.nbytes / self.copy_gb_s / 1e6


@dataclasses.dataclass
class Contender:
    """A call for each set of arrays."""

    row: Row
    calls: list[Callable[[], Any]]
    timer: Timer | None = None
    samples: list[float] = dataclasses.field(default_factory=list)


def measure_floors() -> Floors:
    """A copy of 2 GiB, and products of 8192 x 8192 matrices of random numbers."""
    import torch

    source = torch.empty(1 << 31, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    copy = 2 * source.nbytes / _quick(lambda a=target, b=source: a.copy_(b)) / 1e6
    del source, target
    rates = {}
    for name, kind in (("bf16", torch.bfloat16), ("f16", torch.float16), ("f32", torch.float32)):
        a = torch.randn(8192, 8192, device="cuda").to(kind)
        b = torch.randn(8192, 8192, device="cuda").to(kind)
        out = torch.empty_like(a)
        rates[name] = 2 * 8192**3 / _quick(lambda a=a, b=b, out=out: torch.mm(a, b, out=out)) / 1e9
    torch.cuda.empty_cache()
    return Floors(copy, rates)


def _quick(call: Callable[[], Any], rounds: int = 15) -> float:
    """Median ms of a long call."""
    for _ in range(3):
        call()
    return statistics.median(timed([call]) for _ in range(rounds))


def run_case(case: Case, settings: Settings, floors: Floors, peers: Sequence[str]) -> list[Row]:
    """Compiles, times and checks redfuse and the peers named. A failure becomes a row with a
    note."""
    import torch

    first = gpu_peers.inputs(case, settings.seed)
    inputs = [to_host(tensor) for tensor in first]
    sets = sets_of(first)
    want = list(itertools.islice(case.exact(inputs), 2))
    del inputs
    rows: list[Row] = []

    def row(name: str, **fields: Any) -> Row:
        rows.append(Row(case.workload, case.name, name, case.dtype, **fields))
        return rows[-1]

    contenders = [
        *_redfuse(case, sets, settings, row),
        *_peers(case, sets, peers, settings.peer_seconds, row),
    ]
    ready = [c for c in contenders if _warm(c, want)]
    copy = _copy(case) if floors.is_short_copy(case) else None
    start = time.perf_counter()
    for turn in range(settings.rounds):
        for contender in [*ready, copy] if copy else ready:
            contender.samples.append(contender.timer.sample())  # type: ignore[union-attr]
        if turn >= 4 and time.perf_counter() - start > settings.seconds:
            break
    for contender in ready:
        _summarise(contender, case, floors)
        if copy:
            median = statistics.median(copy.samples)
            contender.row.of_copy = median / statistics.median(contender.samples)
    ours = next((c.row.median_ms for c in ready if c.row.implementation == "redfuse"), None)
    for contender in ready:
        if ours and contender.row.implementation != "redfuse":
            contender.row.ratio = (contender.row.median_ms or 0.0) / ours
    del contenders, ready, copy, sets, first
    gc.collect()
    torch.cuda.empty_cache()
    return rows


def _redfuse(case: Case, sets: list, settings: Settings, row: Any) -> Iterator[Contender]:
    import torch

    from ..compiler import compile

    try:
        options = {**settings.options, "cache": False}
        exe = compile(case.program(), target=settings.target, options=options)
        spills = sum(kernel.spills for kernel in exe.resources)
        mine = row(
            "redfuse", compile_s=exe.compile_seconds, schedule=schedules(exe.explanation),
            note=f"{spills} bytes are spilled" if spills else "",
        )  # fmt: skip
        made = exe(*sets[0])
        made = made if isinstance(made, tuple) else (made,)
        for tensor in made:  # what is not written must show
            tensor.fill_(float("nan") if tensor.is_floating_point() else -77)
        outs = [made] + [tuple(torch.empty_like(t) for t in made) for _ in sets[1:]]
    except (Error, RuntimeError) as error:
        row("redfuse", note=first_line(error))
        return

    def call(arrays: list, out: tuple) -> Callable[[], Any]:
        return lambda: exe(*arrays, out=out)

    yield Contender(mine, [call(a, o) for a, o in zip(sets, outs, strict=True)])


def _copy(case: Case) -> Contender:
    """A copy that moves as many bytes as the case, half of them read and half written; the cache is
    as cold as for the others."""
    import torch

    source = torch.zeros(max(1, int(case.nbytes) // 2), dtype=torch.uint8, device=gpu_peers.DEVICE)
    sets = sets_of([source, torch.zeros_like(source)])

    def call(source: Any, target: Any) -> Callable[[], Any]:
        return lambda: target.copy_(source)

    calls = [call(*pair) for pair in sets]
    return Contender(Row(case.workload, case.name, "copy", "u8"), calls, Timer(calls))


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ends what takes longer with a TimeoutError, where Python's own code runs every now and then
    and this is the main thread; 0: no limit."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: Any) -> None:
        raise TimeoutError(f"it was not ready after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _peers(
    case: Case, sets: list, names: Sequence[str], seconds: float, row: Any
) -> Iterator[Contender]:
    import torch

    for name, make in gpu_peers.functions(case).items():
        if name not in names:
            continue
        mine = row(f"torch {name}" if name != "fa4" else name)
        start = time.perf_counter()
        try:
            with torch.no_grad(), at_most(seconds):
                function = make()
                function(*sets[0])
                torch.cuda.synchronize()
        except Exception as error:  # whatever a library raises
            mine.note = first_line(error)
            continue
        mine.compile_s = time.perf_counter() - start

        def call(arrays: list, function: Any = function) -> Callable[[], Any]:
            return lambda: function(*arrays)

        yield Contender(mine, [call(arrays) for arrays in sets])


def _warm(contender: Contender, want: list) -> bool:
    """The error against fp64, and a timer."""
    import torch

    try:
        with torch.no_grad():
            results = contender.calls[0]()
            results = list(results) if isinstance(results, (tuple, list)) else [results]
            arrays = [to_host(result) for result in results]
            contender.row.error = exact.error(iter(want), arrays)
            del results, arrays
        contender.timer = Timer(contender.calls)
        contender.row.note = contender.row.note or contender.timer.note
    except Exception as error:  # whatever a library raises
        contender.row.note = first_line(error)
        return False
    return True


def _summarise(contender: Contender, case: Case, floors: Floors) -> None:
    row, samples = contender.row, contender.samples
    median = statistics.median(samples)
    row.median_ms, row.min_ms, row.max_ms = median, min(samples), max(samples)
    row.tflops, row.gb_s = case.flops / median / 1e9, case.nbytes / median / 1e6
    row.of_floor = floors.milliseconds(case) / median
    row.rounds = len(samples)
    row.timed = contender.timer.how if contender.timer else ""


# ---- a whole run --------------------------------------------------------------------------------

# What takes long to compile has a pass of its own: a run that has to end early has the rest.
PASSES = (("eager", "compile", "cudnn", "flash", "flex", "fa4"), ("max-autotune",))


def run(cases: Sequence[Case], settings: Settings, done: Callable[[list[Row], Floors], None]
        ) -> tuple[list[Row], Floors, list[str]]:  # fmt: skip
    """All cases; ``done`` gets the rows so far after each. Returns the rows, the floors, and what
    the time did not suffice for."""
    start = time.perf_counter()
    _set_up()
    if settings.warm:
        told = warming.warm(
            cases, settings.peer_names, settings.warm, settings.limit / 2, settings.seed
        )
        print(told, flush=True)
    floors = measure_floors()
    rows: list[Row] = []
    left: list[str] = []
    passes = [tuple(n for n in names if n in settings.peer_names) for names in PASSES]
    for number, names in enumerate(passes):
        if number and not names:
            continue
        for case in cases:
            if number and not set(names) & set(gpu_peers.functions(case)):
                continue
            if settings.limit and time.perf_counter() - start > settings.limit:
                left.append(case.full_name + (f" ({', '.join(names)})" if number else ""))
                continue
            rows += _guarded(case, settings, floors, names)
            done(rows, floors)
    return rows, floors, left


def _guarded(case: Case, settings: Settings, floors: Floors, names: Sequence[str]) -> list[Row]:
    import torch

    try:
        return run_case(case, settings, floors, names)
    except (RuntimeError, MemoryError, torch.OutOfMemoryError) as error:
        torch.cuda.empty_cache()
        return [Row(case.workload, case.name, "all", case.dtype, note=first_line(error))]


def _set_up() -> None:
    """PyTorch as its users have it, but without its sound."""
    import logging

    import torch

    torch.manual_seed(0)
    for name in ("torch._inductor", "torch._dynamo"):
        logging.getLogger(name).setLevel(logging.ERROR)


def circumstances() -> dict[str, str]:
    """What the numbers depend on. Raises Error without a GPU, or PyTorch."""
    from ..targets import cuda

    torch = need_gpu("--target cuda")

    properties = torch.cuda.get_device_properties(0)
    found: dict[str, str] = {
        "gpu": properties.name, "torch": torch.__version__, "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()), "ptxas": str(cuda.assembler()),
        "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip
    return found
