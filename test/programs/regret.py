"""How good plans are: ``python test/programs/regret.py RECORDS...``.

RECORDS are records.jsonl of ``tools/dev scoreboard --device cuda --candidates N``, which times other
plans beside the one that was chosen (``Executable.candidates``). Regret is the chosen plan's time over
that of the fastest of all, itself included. Prints a table: for each file and for all, programs that
have other plans, these plans, regret in geometric mean and at worst, the same of the plan with a kernel
for every operation, and how often the fastest by prediction was within 5 % of the fastest; then the
programs that lose most.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

WORST, NEAR = 12, 1.05
APART = "every operation apart"


class Program(NamedTuple):
    """name: of the program; chosen: ms of its plan; plans: of each other one by name; apart: of a
    kernel for every operation, None where there is no such plan; guessed: of the plan with the least
    predicted time."""

    name: str
    chosen: float
    plans: dict[str, float]
    apart: float | None
    guessed: float

    @property
    def best(self) -> float:
        return min(self.chosen, *self.plans.values())

    @property
    def regret(self) -> float:
        return self.chosen / self.best


def programs_of(lines: Sequence[str]) -> list[Program]:
    """Those that have other plans which were timed."""
    found = []
    for line in lines:
        record = json.loads(line)
        plans = record.get("candidates", [])
        timed = {plan["name"]: plan["ms"] for plan in plans[1:] if plan.get("ms")}
        if not timed:
            continue
        chosen = plans[0]["ms"]
        predicted = {plan["name"]: plan["predicted_us"] for plan in plans}
        times = {plans[0]["name"]: chosen, **timed}
        guess = min(times, key=lambda name: predicted[name])
        found.append(Program(record["name"], chosen, timed, timed.get(APART), times[guess]))
    return found


def mean(values: Sequence[float]) -> float:
    """Geometric; NaN of none."""
    return statistics.geometric_mean(values) if values else math.nan


def row(name: str, found: Sequence[Program]) -> str:
    """Of the table."""
    regrets = [p.regret for p in found]
    guessed = [p.guessed / p.best for p in found]
    apart = [p.apart / p.chosen for p in found if p.apart]
    near = sum(g <= NEAR for g in guessed) / len(guessed) if guessed else math.nan
    cells = [name, len(found), sum(len(p.plans) for p in found), f"{mean(regrets):.3f}",
             f"{max(regrets, default=math.nan):.2f}", f"{mean(guessed):.3f}", f"{near:.0%}",
             f"{mean(apart):.2f}", f"{min(apart, default=math.nan):.2f}"]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def main(paths: Sequence[str]) -> int:
    """Prints the table."""
    head = ["programs", "with other plans", "these", "regret", "at worst", "regret by prediction",
            "near", "apart over chosen", "least"]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    every: list[Program] = []
    for path in paths:
        found = programs_of(Path(path).read_text().splitlines())
        lines.append(row(Path(path).parent.name, found))
        every += found
    if len(paths) > 1:
        lines.append(row("all", every))
    print("\n".join(lines))
    for p in sorted(every, key=lambda p: -p.regret)[:WORST]:
        best = min(p.plans, key=lambda name: p.plans[name])
        print(f"{p.name}: {1e3 * p.chosen:.1f} us; {1e3 * p.plans[best]:.1f} if {best}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
