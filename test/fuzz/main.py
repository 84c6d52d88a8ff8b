"""Random cascades in numbers: ``tools/dev fuzz`` (``--help`` for its options).

Failures are written as they are found, and at the end minimised and saved, as a program and its
data. A run that was stopped goes on where it was. On another machine, with redfuse, MLIR, NumPy
and ml_dtypes on the path: ``python3 test/fuzz/main.py --jobs 16 --target cuda --out found.json``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from draws import DTYPES
from generate import Recorded, generate
from host_generate import generate_host
from pool import SECONDS, WORKER, minimise, run
from trial import CPU, DRAWS, Plan, try_program

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"
HOST_WORKER = Path(__file__).with_name("host_worker.py")
EVERY = 20  # programs between two writes of the record


def parser() -> argparse.ArgumentParser:
    """What may be asked for."""
    made = argparse.ArgumentParser(prog="tools/dev fuzz", description=__doc__.split("\n")[0])
    add = made.add_argument
    add("--host", action="store_true", help="programs of host operations, not cascades")
    add("--count", type=int, default=5000, help="programs (5000)")
    add("--seed", type=int, default=0, help="of the first program (0)")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    add("--target", default=CPU, help="of the fused programs: cpu, cuda or cuda:ARCHITECTURE")
    add("--more", type=int, default=99, help="ways to cut besides stream and resident (all)")
    add("--draws", type=int, default=DRAWS, help=f"of data a program ({DRAWS}); 0 compiles only")
    add("--opt-level", type=int, default=0, help="of LLVM (0: compiles fast)")
    add("--out", type=Path, help="the record (build/fuzz/...json); programs are saved beside it")
    add("--restart", action="store_true", help="forget what an earlier run did")
    add("--keep", type=int, default=20, help="failures to minimise and save (20)")
    add("--minutes", type=float, default=0, help="begin no program after so long (0: no limit)")
    add("--seconds", type=float, default=SECONDS, help=f"for one program ({SECONDS:.0f})")
    return made


def cascades(choices: Recorded) -> str:
    """A program of cascades."""
    return generate(choices).text()


def host(choices: Recorded) -> str:
    """A program of host operations."""
    return generate_host(choices)[0].text()


class Record:
    """What a run has done, kept in a file. ``text``: makes the program of some choices."""

    def __init__(self, path: Path, restart: bool, text: Callable[[Recorded], str]) -> None:
        self.path, self.text = path, text
        self.programs: list[int] = []
        self.failures: list[dict] = []
        self.tried: Counter[str] = Counter()
        if path.exists() and not restart:
            done = json.loads(path.read_text())
            self.programs, self.failures = done["programs"], done["failures"]
            self.tried.update(done["tried"])

    def write(self) -> None:
        """All of it; a run that is killed meanwhile leaves the file before."""
        part = self.path.with_suffix(".part")
        fields = {"failures": self.failures, "tried": self.tried, "programs": self.programs}
        part.write_text(json.dumps(fields))
        part.replace(self.path)

    def add(self, answer: dict) -> None:
        """One program's answer."""
        self.programs.append(answer["id"])
        self.tried.update(answer.pop("tried", {}))
        if "kind" in answer:
            if "choices" not in answer:  # it took its process with it
                choices = Recorded(seed=answer["seed"])
                self.text(choices)
                answer["choices"] = choices.made
            answer["program"] = self.text(Recorded(answer["choices"]))
            self.failures.append(answer)
            print(f"\r{summary(answer)}", flush=True)
        if "kind" in answer or len(self.programs) % EVERY == 0:
            self.write()

    def closing(self) -> str:
        """A line for people."""
        kinds = Counter(answer["kind"] for answer in self.failures)
        found = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
        ways = ", ".join(f"{n} {way}" for way, n in sorted(self.tried.items()))
        return (
            f"{len(self.programs)} programs, {len(self.failures)} failures"
            f"{f' ({found})' if found else ''}; of the programs: {ways}"
        )


def main() -> int:
    """0 if every program is right."""
    given = parser().parse_args()
    if given.target != CPU:
        from redfuse.compiler import resolve_target

        given.target = resolve_target(given.target)
    plan = Plan(given.opt_level, given.more, draws=given.draws, target=given.target)
    target = given.target.replace(":", "-")
    name = f"{'host-' if given.host else ''}{target}-seed-{given.seed}-opt-{given.opt_level}.json"
    path = given.out or FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    record = Record(path, given.restart, host if given.host else cascades)
    script = HOST_WORKER if given.host else WORKER
    fields = dataclasses.asdict(plan)
    if given.host:
        fields = {"opt_level": given.opt_level, "target": given.target}
    finished = set(record.programs)
    seeds = [s for s in range(given.seed, given.seed + given.count) if s not in finished]
    start = time.monotonic()

    def tasks() -> Iterator[dict]:
        for seed in seeds:
            if given.minutes and time.monotonic() - start > 60 * given.minutes:
                print(f"\r{given.minutes:g} minutes are over before program {seed}")
                return
            yield {"id": seed, "seed": seed, "data": seed, "plan": fields}

    answers = run(tasks(), given.jobs, script, given.seconds)
    for number, answer in enumerate(answers, 1):
        record.add(answer)
        if number % EVERY == 0 or number == len(seeds):
            rate = number / (time.monotonic() - start)
            print(
                f"\r{len(record.programs)} programs, {len(record.failures)} failures, "
                f"{rate:.1f}/s, {(len(seeds) - number) / rate:.0f} s left   ",
                end="", flush=True,
            )  # fmt: skip
    record.write()
    print()
    for answer in record.failures[: given.keep]:
        smallest = minimise(
            {**answer, "data_seed": answer["id"]}, given.jobs, fields, script=script
        )
        if given.host:
            smallest = one_result(smallest, given.jobs, fields)
        save(smallest, answer["id"], path.parent, record)
        if not given.host:
            save_data(smallest, answer["id"], path.parent, plan)
    print(f"{given.target}: {record.closing()}; {time.monotonic() - start:.0f} s")
    return bool(record.failures)


def summary(answer: dict) -> str:
    """A failure in a line."""
    words = (answer["where"], answer["data"], answer["detail"].replace("\n", " ")[:200])
    return f"{answer['id']}: {answer['kind']}: " + ", ".join(w for w in words if w)


def one_result(answer: dict, jobs: int, fields: dict) -> dict:
    """The same with one of its results, if that fails the same way."""
    task = {"choices": answer["choices"], "plan": fields, "data": answer["data_seed"]}
    tasks = ({**task, "id": at, "results": [at]} for at in range(4))
    for found in run(tasks, jobs, HOST_WORKER):
        if found.get("kind") == answer["kind"]:
            return {**answer, **found, "results": [found["id"]]}
    return answer


def save(smallest: dict, number: int, folder: Path, record: Record) -> None:
    """The smallest program found that fails the same way."""
    path = folder / f"failure-{number}.mlir"
    choices = Recorded(smallest["choices"])
    if "results" in smallest:
        text = generate_host(choices, smallest["results"])[0].text()
    else:
        text = record.text(choices)
    told = summary({**smallest, "id": number})
    path.write_text(f"// {told}\n{text}")
    print(f"--- {told}\n{text}{path}")


def save_data(smallest: dict, number: int, folder: Path, plan: Plan) -> None:
    """The data that a program of cascades fails on."""
    if smallest["kind"] in ("crash", "hang", "python") or plan.target != CPU:
        return
    stem = folder / f"failure-{number}"
    failure = try_program(generate(Recorded(smallest["choices"])), number, plan)
    if failure and failure.arguments:
        arrays = {
            f"in{i}": a.astype(np.float32) if a.dtype == DTYPES["bf16"] else a
            for i, a in enumerate(failure.arguments)
        }
        np.savez(stem.with_suffix(".npz"), **arrays)
        print(f"redfuse run {stem}.mlir and {stem}.npz: {failure.kind} with {failure.where}")


if __name__ == "__main__":
    sys.exit(main())
