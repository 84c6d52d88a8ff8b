"""How compile time grows with a program: ``tools/dev growth [--sizes N,...] [--target T] [KIND...]``.

Every program of ``long_programs`` is compiled in a process of its own, without the cache, within a
limit. Seconds are of the processor, so that whatever else runs counts little; the stages are those
that took the most. Exit status 1 if a program was not compiled that should be.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import warnings
from collections import Counter
from typing import NamedTuple

from long_programs import KINDS, REFUSED_ON_GPUS

SIZES = (10, 100, 1000)


class Measured(NamedTuple):
    """One compilation; ``error`` says why there is none."""

    seconds: float
    stages: dict[str, float]
    kernels: int
    refused: dict[str, int]
    error: str = ""


def failed(error: str) -> Measured:
    """There is none."""
    return Measured(0.0, {}, 0, {}, error)


def spent() -> float:
    """Seconds of the processor up to now, those of processes that have ended (ptxas) too."""
    return sum(os.times()[:4])


def compiled(kind: str, size: int, target: str) -> Measured:
    """In this process."""
    import redfuse

    text = KINDS[kind](size)
    start = spent()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        executable = redfuse.compile(text, target=target, options={"cache": False})
    seconds = spent() - start
    explanation = executable.explanation
    conditions = Counter(entry["condition"] for entry in explanation["refused"])
    return Measured(
        seconds, dict(executable.timings), len(explanation["kernels"]), dict(conditions)
    )


def measure(kind: str, size: int, target: str = "cpu", limit: float = 300.0) -> Measured:
    """In a process of its own, for at most ``limit`` seconds."""
    command = [sys.executable, __file__, "--alone", "--sizes", str(size), "--target", target, kind]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return failed(f"not done in {limit:g} s")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return failed(f"exit status {done.returncode}: {last}")
    return Measured(**json.loads(done.stdout))


def row(kind: str, size: int, found: Measured, before: tuple[int, float] | None) -> str:
    """A line of the table; ``before``: the last smaller size, and its seconds."""
    if found.error:
        return f"{kind:12} {size:5}  {found.error}"
    power = ""
    if before and before[0] != size:
        power = f"{math.log(found.seconds / before[1]) / math.log(size / before[0]):.2f}"
    total = sum(found.stages.values()) or 1.0
    most = sorted(found.stages.items(), key=lambda item: -item[1])[:3]
    stages = ", ".join(f"{stage} {100 * part / total:.0f} %" for stage, part in most)
    why = ", ".join(f"{condition} {n}" for condition, n in sorted(found.refused.items()))
    return (
        f"{kind:12} {size:5} {found.seconds:8.2f} {power:>6} {found.kernels:7}  {stages:44} {why}"
    ).rstrip()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="tools/dev growth", description=(__doc__ or "").split("\n")[2],
        epilog=f"kinds: {', '.join(KINDS)}",
    )  # fmt: skip
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="which programs (all)")
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), help="operations (%(default)s)"
    )
    parser.add_argument("--target", default="cpu", help="cpu, cuda:sm_90a and the like")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one (%(default)s)")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := [kind for kind in given.kinds if kind not in KINDS]:
        parser.error(f"no kind '{unknown[0]}'; expected some of {', '.join(KINDS)}")
    sizes = sorted(int(size) for size in given.sizes.split(","))
    if given.alone:
        print(json.dumps(compiled(given.kinds[0], sizes[0], given.target)._asdict()))
        return 0
    print(
        f"{'kind':12} {'size':>5} {'seconds':>8} {'power':>6} {'kernels':>7}  "
        f"{'stages':44} not fused because"
    )
    wrong = False
    for kind in given.kinds or KINDS:
        before = None
        for size in sizes:
            found = measure(kind, size, given.target, given.limit)
            print(row(kind, size, found, before), flush=True)
            refused = given.target != "cpu" and REFUSED_ON_GPUS.get(kind)
            wrong |= bool(found.error) and not (refused and refused in found.error)
            before = None if found.error else (size, found.seconds)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
