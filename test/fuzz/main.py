"""Random cascades in numbers: ``tools/dev fuzz [--count N] [--seed S] [--jobs J] [--restart]``.

Failures are minimised and saved, as a program and its data, in ``build/fuzz``. A run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from draws import DTYPES
from generate import Recorded, generate
from pool import minimise, run
from trial import try_program

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"


def main() -> int:
    """0 if every program is right."""
    parser = argparse.ArgumentParser(prog="tools/dev fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=5000, help="programs (5000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--opt-level", type=int, default=0, help="of LLVM (0: compiles fast)")
    parser.add_argument("--restart", action="store_true", help="forget what an earlier run did")
    parser.add_argument("--keep", type=int, default=20, help="failures to minimise and save (20)")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    record = FOLDER / f"seed-{given.seed}-opt-{given.opt_level}.json"
    done: dict = {"programs": [], "failures": []}
    if record.exists() and not given.restart:
        done = json.loads(record.read_text())
    finished = set(done["programs"])
    seeds = [s for s in range(given.seed, given.seed + given.count) if s not in finished]
    start = time.monotonic()
    tasks = ({"id": s, "seed": s, "data": s, "opt": given.opt_level} for s in seeds)
    for number, answer in enumerate(run(tasks, given.jobs), 1):
        done["programs"].append(answer["id"])
        if "kind" in answer:
            done["failures"].append(answer)
            print(f"\r{summary(answer)}")
        if number % 20 == 0 or number == len(seeds):
            record.write_text(json.dumps(done))
            rate = number / (time.monotonic() - start)
            print(
                f"\r{len(done['programs'])} programs, {len(done['failures'])} failures, "
                f"{rate:.1f}/s, {(len(seeds) - number) / rate:.0f} s left   ",
                end="", flush=True,
            )  # fmt: skip
    record.write_text(json.dumps(done))
    print()
    for answer in done["failures"][: given.keep]:
        save(answer, given)
    print(f"{len(done['programs'])} programs, {len(done['failures'])} failures")
    return bool(done["failures"])


def summary(answer: dict) -> str:
    """A failure in a line."""
    words = (answer["where"], answer["data"], answer["detail"].replace("\n", " ")[:200])
    return f"{answer['id']}: {answer['kind']}: " + ", ".join(w for w in words if w)


def save(answer: dict, given: argparse.Namespace) -> None:
    """The smallest program found that fails the same way, and its data."""
    if "choices" not in answer:  # it took its process with it
        choices = Recorded(seed=answer["seed"])
        generate(choices)
        answer = {**answer, "choices": choices.made}
    smallest = minimise({**answer, "data_seed": answer["id"]}, given.jobs)
    program = generate(Recorded(smallest["choices"]))
    stem = FOLDER / f"failure-{answer['id']}"
    stem.with_suffix(".mlir").write_text(program.text())
    print(f"--- {summary({**smallest, 'id': answer['id']})}\n{program.text()}{stem}.mlir")
    if smallest["kind"] not in ("crash", "hang", "python"):
        failure = try_program(program, answer["id"], given.opt_level)
        if failure and failure.arguments:
            arrays = {
                f"in{i}": a.astype(np.float32) if a.dtype == DTYPES["bf16"] else a
                for i, a in enumerate(failure.arguments)
            }
            np.savez(stem.with_suffix(".npz"), **arrays)
            print(f"redfuse run {stem}.mlir and {stem}.npz: {failure.kind} with {failure.where}")


if __name__ == "__main__":
    sys.exit(main())
