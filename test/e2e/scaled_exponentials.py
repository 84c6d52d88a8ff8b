"""What base 2 with a folded scale would save on a CPU: programs with exp, and with exp2.

``python test/e2e/scaled_exponentials.py`` prints microseconds on one core, the best of many runs.
"""

from __future__ import annotations

import math
import time

import numpy as np
import redfuse
from redfuse.bench import programs
from torch_like import Torch

RUNS = 300


def softmax(scale: float, rows: int = 32, columns: int = 1024) -> str:
    """A softmax of scaled rows."""
    p = Torch()
    return p.text(p.softmax_last(p.mul(p.argument(rows, columns), scale)))


def best(executables: dict[str, redfuse.Executable]) -> dict[str, float]:
    """Microseconds of each; they take turns, so that what else runs meets all alike."""
    rng = np.random.default_rng(0)
    shapes = [spec.shape for spec in next(iter(executables.values())).signature.inputs]
    data = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    least = dict.fromkeys(executables, math.inf)
    for _ in range(RUNS):
        for name, executable in executables.items():
            start = time.perf_counter()
            executable(*data)
            least[name] = min(least[name], time.perf_counter() - start)
    return {name: seconds * 1e6 for name, seconds in least.items()}


def main() -> None:
    attention = programs.attention(1, 2, 256, 1024, 64)
    sources = {
        "softmax": (softmax(0.125), softmax(0.125 * math.log2(math.e))),
        "attention": (attention, attention),
    }
    for name, (plain, base2) in sources.items():
        for schedule in ("resident", "stream"):
            options = {"schedule": schedule, "threads": 1, "cache": False}
            texts = {"exp": plain, "exp2": base2.replace("math.exp ", "math.exp2 ")}
            times = best({n: redfuse.compile(t, options=options) for n, t in texts.items()})
            gain = 1 - times["exp2"] / times["exp"]
            listed = ", ".join(f"{n} {t:.1f} us" for n, t in times.items())
            print(f"{name}, {schedule}: {listed}: {gain:.0%} less")


if __name__ == "__main__":
    main()
