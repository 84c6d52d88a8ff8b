"""The tour of one program: before, after, schedule, error, time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import check
from ..explain import render as explain
from ..frontends import mlir as mlir_frontend
from ..options import Options
from ..runtime import tensors
from ..runtime.specs import Signature
from ..store.data import random_inputs
from . import console


def show(file: Path, inputs: Path | None, target: str, options: Options) -> int:
    """Prints the tour; returns 0, or 1 if a result is wrong."""

    from ..compiler import compile
    from ..reference import Reference

    source = mlir_frontend.read(file)
    with console.progress("compiling"):
        start = time.perf_counter()
        executable = compile(source, target=target, options=options)
        ready = time.perf_counter() - start
    signature = executable.signature
    console.heading(f"{file}: {signature}")
    _before(source, options)
    _after(executable)
    arrays = inputs_of(inputs, signature)
    console.heading("Error against fp64 of the unfused program")
    with console.progress("running the unfused program in fp64"):
        reference = Reference(source, signature.name)
        expected = reference(*arrays)
    results = tensors.call(executable, arrays, f"running a program for {executable.target}")
    outcomes = check.compare(
        results, expected, signature, lambda: check.movement(reference, arrays, signature)
    )
    for outcome in outcomes:
        console.verdict(f"  {outcome}", outcome.ok)
    console.heading("Time on this machine")
    with console.progress("timing"):
        if executable.target == "cpu":
            plain = compile(source, target=target, options=options.unfused())
            lines = _time_on_cpu(lambda: executable(*arrays), lambda: plain(*arrays))
        else:
            lines = _time_on_gpu(executable, arrays)
    print("\n".join(lines))
    how = (
        f"{ready:.2f} s from source to callable code"
        if executable.compile_seconds
        else "compiled code came from the cache"
    )
    print(f"  {how}")
    return 0 if all(outcome.ok for outcome in outcomes) else 1


def inputs_of(inputs: Path | None, signature: Signature) -> list[Any]:
    """Arrays for a program: in0, in1, ... of an .npz, or random ones."""
    if inputs is None:
        return random_inputs(signature)
    return check.cast_inputs(check.load_npz(str(inputs))[0], signature)


def _before(source: Any, options: Options) -> None:
    module = source.parse()
    rows = explain.program_rows(module, options.entry)
    console.heading(f"Before: {len(rows)} operations, each a pass over memory of its own")
    cells = [[f"  {what}", types, line] for what, types, line, _ in rows]
    print("\n".join(explain.columns(cells)))
    sizes = [size for *_, size in rows[:-1] if size is not None]
    print(f"  {explain.bytes_text(sum(sizes))} of intermediate results go to memory and back")


def _after(executable: Any) -> None:
    explanation = executable.explanation
    kernels = explanation.get("kernels", [])
    console.heading(f"After: {len(kernels)} kernel{'' if len(kernels) == 1 else 's'}")
    print(explain.render(explanation))


def _time_on_cpu(fused: Callable[[], Any], unfused: Callable[[], Any]) -> list[str]:
    from .. import _ext
    from ..compiler import host_text

    mine, plain = _time([fused, unfused])
    return [
        f"  fused    {_ms(mine)}",
        f"  unfused  {_ms(plain)}   {plain / mine:.1f} times the fused program's",
        f"  on {host_text(_ext.host())}",
    ]


def _time_on_gpu(executable: Any, arrays: list[Any]) -> list[str]:
    """Of the fused program alone: there is no other for a GPU."""
    from ..bench.gpu_timing import Timer

    torch = tensors.need_gpu("timing on a GPU")
    there = [tensors.to_gpu(array) for array in arrays]
    timer = Timer([lambda: executable(*there)])
    seconds = statistics.median(timer.sample() for _ in range(10)) * 1e-3
    how = "replays of a graph" if timer.how == "graph" else "events"
    return [
        f"  fused    {_ms(seconds)}, by {how}, the arrays in the GPU's cache where they fit",
        f"  on {torch.cuda.get_device_name()}",
    ]


def _time(calls: list[Callable[[], Any]], seconds: float = 0.4) -> list[float]:
    """Median seconds of each call, in turns, within about ``seconds`` each."""
    samples: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    spent = [0.0] * len(calls)
    for _ in range(50):
        for number, call in enumerate(calls):
            if spent[number] > seconds and len(samples[number]) >= 3:
                continue
            start = time.perf_counter()
            call()
            taken = time.perf_counter() - start
            samples[number].append(taken)
            spent[number] += taken
    return [statistics.median(s) for s in samples]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"
