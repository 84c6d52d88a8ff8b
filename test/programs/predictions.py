"""How well kernels' times are predicted: ``python test/programs/predictions.py RECORDS...``.

RECORDS are records.jsonl of ``tools/dev scoreboard --device cuda --profile``. Equal kernels of a program
count once, with the median of their times. Prints a table: for each file and for all, the kernels, Spearman's
rank correlation of predicted and measured times, how far they are apart in geometric mean, and the share that is
within a factor of two; then those that are farthest apart.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

WORST = 10


class Kernel(NamedTuple):
    """One of a program: microseconds, predicted and measured."""

    program: str
    name: str
    predicted: float
    measured: float

    @property
    def apart(self) -> float:
        """The logarithm of predicted over measured."""
        return math.log(self.predicted / self.measured)


def kernels_of(lines: Sequence[str]) -> list[Kernel]:
    """Of all records that have a profile."""
    found = []
    for line in lines:
        record = json.loads(line)
        times: dict[tuple[str, float], list[float]] = defaultdict(list)
        for kernel in record.get("profile", []):
            if kernel["predicted_us"] is not None and kernel["median_us"] > 0:
                times[kernel["kernel"], kernel["predicted_us"]].append(kernel["median_us"])
        found += [
            Kernel(record["name"], name, predicted, statistics.median(taken))
            for (name, predicted), taken in times.items()
        ]
    return found


def ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal ones share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for i in order[start:end]:
            found[i] = (start + end + 1) / 2
        start = end
    return found


def correlation(kernels: Sequence[Kernel]) -> float:
    """Spearman's: Pearson's of ranks; NaN of fewer than two, or where all are equal."""
    a, b = (ranks([k[field] for k in kernels]) for field in (2, 3))
    try:
        return statistics.correlation(a, b)
    except statistics.StatisticsError:
        return math.nan


def row(name: str, kernels: Sequence[Kernel]) -> str:
    """Of the table."""
    apart = [abs(k.apart) for k in kernels]
    mean = math.exp(statistics.mean(apart)) if apart else math.nan
    near = sum(x <= math.log(2) for x in apart) / len(apart) if apart else math.nan
    return f"| {name} | {len(kernels)} | {correlation(kernels):.3f} | {mean:.2f} | {near:.0%} |"


def main(paths: Sequence[str]) -> int:
    """Prints the table."""
    lines = ["| programs | kernels | rank correlation | apart by | within a factor of 2 |",
             "|---|---|---|---|---|"]  # fmt: skip
    every: list[Kernel] = []
    for path in paths:
        kernels = kernels_of(Path(path).read_text().splitlines())
        lines.append(row(Path(path).parent.name, kernels))
        every += kernels
    if len(paths) > 1:
        lines.append(row("all", every))
    print("\n".join(lines))
    for k in sorted(every, key=lambda k: -abs(k.apart))[:WORST]:
        print(f"{k.program} {k.name}: {k.predicted:.1f} us predicted, {k.measured:.1f} measured")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
