"""Compiles peers ahead, in processes side by side: a run finds what they made in PyTorch's caches,
and is ready in seconds where torch.compile with max-autotune takes most of a minute a case.

What is chosen by measuring (torch.compile's choice between variants of a reduction) is not kept:
the processes share the GPU. The run measures that again, alone.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any

from . import gpu_peers
from .cases import Case
from .gpu_timing import first_line

COMPILED = ("compile", "max-autotune", "flex")


def work(cases: Sequence[Case], names: Sequence[str]) -> list[tuple[str, str, str]]:
    """What there is to compile: (case, its element type, peer), what takes longest first."""
    found = [
        (case.full_name, case.dtype, name)
        for case in cases
        for name in gpu_peers.functions(case)
        if name in names and name in COMPILED
    ]
    return sorted(found, key=lambda item: item[2] != "max-autotune")


def warm(
    cases: Sequence[Case],
    names: Sequence[str],
    jobs: int,
    seconds: float = 0.0,
    seed: int = 0,
    prepare: Callable[..., str] | None = None,
) -> str:
    """Compiles the peers ``names`` of all cases in ``jobs`` processes, for ``seconds`` at most (0:
    until they are done); returns what to tell of it.

    A peer that fails is left to the run, which says why. Raises nothing of theirs.
    """
    items = work(cases, names)
    if not items:
        return "nothing to compile ahead"
    start, jobs = time.perf_counter(), min(jobs, len(items))
    threads = max(1, len(os.sched_getaffinity(0)) // jobs)
    pool = futures.ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=_set_up, initargs=(threads,)
    )
    left: set[futures.Future] = set()
    try:
        tasks = [pool.submit(prepare or _prepare, *item, seed) for item in items]
        done, left = futures.wait(tasks, seconds or None)
        failed = [task for task in done if task.exception() or task.result()]
        told = f"compiled ahead {len(done) - len(failed)} of {len(items)} peers"
        if failed:
            error = failed[0].exception()
            told += f"; one failed: {first_line(error) if error else failed[0].result()}"
    finally:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        if left:
            for process in processes:
                process.kill()
        for process in processes:
            process.join()
    return f"{told}, {jobs} processes, {time.perf_counter() - start:.0f} s"


def _set_up(threads: int) -> None:
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(threads)


def _prepare(name: str, dtype: str, peer: str, seed: int) -> str:
    """Makes a peer and calls it once; returns what went wrong."""
    import torch

    from .cases import all_cases

    # Not what was measured beside others.
    torch._inductor.config.autotune_local_cache = False
    try:
        case: Any = all_cases(dtype)[name]
        inputs = gpu_peers.inputs(case, seed)
        with torch.no_grad():
            gpu_peers.functions(case)[peer]()(*inputs)
            torch.cuda.synchronize()
        del inputs
        torch.cuda.empty_cache()
    except Exception as error:  # whatever a library raises
        return first_line(error)
    return ""
