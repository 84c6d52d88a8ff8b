"""Compiles programs for all targets and says how each fared: ``tools/dev programs`` (``--help``).

Every compilation is a process of its own, with limits of time and memory. What was compiled by this
build of the compiler before is not compiled again.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import hashlib
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import attempt
import processes
import suites
from attempt import BAD, COMPILED, CRASHED, ERROR, LATE, REFUSED, UNFUSED, Row
from redfuse.compiler import resolve_target
from redfuse.store import cache
from redfuse.targets import gputargets, rocm

FOLDER = Path(__file__).resolve().parents[2] / "build" / "programs"
KNOWN = Path(__file__).with_name("known.json")
NOT_EXPORTED = "not exported"


def parser() -> argparse.ArgumentParser:
    """What may be asked for."""
    made = argparse.ArgumentParser(
        prog="tools/dev programs", description=__doc__.split("\n")[0],
        epilog="Files of a suite: .mlir, or .py with Model, get_inputs() and get_init_inputs() "
        "(KernelBench's form), with a table C of functions and the shapes of their inputs, or with "
        "models(): see test/programs/export.py.",
    )  # fmt: skip
    add = made.add_argument
    add("--suite", type=Path, action="append", default=[], metavar="DIR",
        help="programs in a folder and below it, instead of our own")  # fmt: skip
    add("--target", default="", metavar="T,...", help="all architectures and the cpu by default")
    add("--as", dest="dtypes", action="append", default=[], metavar="DTYPE",
        help="models of a suite also with floats of this type, as bfloat16")  # fmt: skip
    add("--shard", default="1/1", metavar="i/n", help="every n-th file of a suite from the i-th on")
    add("--only", default="", metavar="TEXT", help="programs whose names have it")
    add("--out", type=Path, default=FOLDER / "record.jsonl", metavar="FILE", help="the record")
    add("--restart", action="store_true", help="forget the record")
    add(
        "--keep",
        action="store_true",
        help="what an earlier build compiled without anything to tell is not compiled again",
    )
    add("--jobs", type=int, default=1, help="processes (1)")
    add("--seconds", type=float, default=120.0, help="for one compilation (120)")
    add("--memory", type=float, default=8.0, help="GiB of addresses for one compilation (8)")
    add("--all", action="store_true", help="print what has nothing to tell, too")
    return made


def all_targets() -> list[str]:
    """Every architecture that this build compiles for, if its tools are there, and the cpu."""
    found = [f"cuda:{chip}" for chip in gputargets.chips("cuda")]
    found += (
        [f"rocm:{chip}" for chip in gputargets.chips("rocm")] if not rocm.missing_tools() else []
    )
    return [*found, "cpu"]


def split_targets(text: str) -> list[str]:
    """``cuda:sm_80,sm_90a,rocm:gfx942,cpu`` as single targets."""
    found: list[str] = []
    family = ""
    for word in text.split(","):
        family = word.partition(":")[0] if ":" in word or word == "cpu" else family
        name = word if ":" in word or word == "cpu" or not family else f"{family}:{word}"
        target = resolve_target(name)
        found += [
            target if target == "cpu" else f"{target.partition(':')[0]}:{chip}"
            for chip in gputargets.chips_of(target)
        ]
    return list(dict.fromkeys(found))


class Record:
    """Rows by program and target, a line of JSON each in a file; the last one counts."""

    def __init__(self, path: Path, restart: bool) -> None:
        self.path = path
        self.rows: dict[tuple[str, str], Row] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if restart:
            path.unlink(missing_ok=True)
        if path.exists():
            for line in path.read_text().splitlines():
                row = Row(**json.loads(line))
                self.rows[row.program, row.target] = row

    def add(self, row: Row) -> None:
        """One more."""
        self.rows[row.program, row.target] = row
        with self.path.open("a") as file:
            file.write(json.dumps(dataclasses.asdict(row)) + "\n")


def is_done(row: Row | None, digest: str, build: str, keep: bool) -> bool:
    """Whether a row tells what compiling again would tell."""
    if row is None or row.digest != digest:
        return False
    return row.build == build or (keep and is_clean(row))


def row_of(outcome: processes.Outcome) -> Row:
    """What became of a compilation."""
    job = outcome.job
    row = Row(job["program"], job["target"], job["digest"], cache.build_id())
    row.seconds = outcome.seconds
    if outcome.answer is not None:
        return dataclasses.replace(row, **outcome.answer)
    late = outcome.how == processes.TIMED_OUT
    row.status = LATE if late else CRASHED
    words = "" if late else f": {attempt.last_words(outcome.words)}"
    row.message = f"{outcome.how} at stage {outcome.last or 'source'}{words}"
    return row


def line_of(row: Row) -> str:
    """A row for people."""
    spills = f", {sum(row.spills.values())} bytes spilled" if row.spills else ""
    told = f", {len(row.advisories)} advisories" if row.advisories else ""
    size = f", {row.kernels} kernels, {row.registers} registers" if row.kernels else ""
    head = f"{row.status:10} {row.target:12} {row.program}: {row.seconds:.1f} s{size}{spills}{told}"
    return head + (f"\n    {row.message.splitlines()[0][:200]}" if row.message else "")


def is_clean(row: Row) -> bool:
    """Whether there is nothing to tell."""
    return row.status == COMPILED and not row.spills and not row.advisories


def unknown(row: Row, known: dict) -> list[str]:
    """What nobody has written down of a row: it fails the command."""
    if row.status in BAD or row.status == UNFUSED:
        return [f"{row.status}: {row.message}"]
    expected = known.get(row.program, {}).get(row.target, {})
    found = []
    if row.status == REFUSED and expected.get("refused", "?") not in row.message:
        found.append(f"refused: {row.message}")
    if (spilled := sum(row.spills.values())) > expected.get("spills", 0):
        found.append(f"{spilled} bytes spilled, {expected.get('spills', 0)} are known")
    if len(row.advisories) > expected.get("advisories", 0):
        found.append("; ".join(row.advisories))
    return found


def table(rows: Iterable[Row]) -> str:
    """Counts by target, then by what went wrong."""
    by_target: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_target[row.target].append(row)
    columns = (COMPILED, UNFUSED, REFUSED, ERROR, CRASHED, LATE, NOT_EXPORTED)
    lines = [
        "| target | " + " | ".join(columns) + " | spill | advisories | seconds: median | most |"
    ]
    lines.append("|---" * (len(columns) + 5) + "|")
    for target, own in sorted(by_target.items()):
        counts = Counter(row.status for row in own)
        times = sorted(row.seconds for row in own if row.status == COMPILED) or [0.0]
        cells = [str(counts[c]) for c in columns]
        cells += [str(sum(bool(row.spills) for row in own))]
        cells += [str(sum(bool(row.advisories) for row in own))]
        cells += [f"{times[len(times) // 2]:.2f}", f"{times[-1]:.1f}"]
        lines.append(f"| {target} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def jobs(given: argparse.Namespace, record: Record, seen: list[tuple[str, str]]) -> Iterator[dict]:
    """What is to be compiled; ``seen`` gets all rows of this run."""
    number, _, count = given.shard.partition("/")
    shard = (int(number), int(count or 1))
    programs = suites.own() if not given.suite else (
        program
        for folder in given.suite
        for program in suites.of_folder(folder, given.dtypes, FOLDER / "exported", shard)
    )  # fmt: skip
    targets = split_targets(given.target) if given.target else all_targets()
    for program in programs:
        if given.only not in program.name:
            continue
        if program.error:
            row = Row(program.name, "", status=NOT_EXPORTED, message=program.error)
            record.add(row)
            print(line_of(row), flush=True)
            continue
        digest = hashlib.sha256(program.text.encode()).hexdigest()[:16]
        for target in targets:
            seen.append((program.name, target))
            if not is_done(record.rows.get(seen[-1]), digest, cache.build_id(), given.keep):
                yield {"program": program.name, "source": program.text, "target": target,
                       "digest": digest}  # fmt: skip


def main() -> int:
    """0 if all is as known."""
    given = parser().parse_args()
    record, seen = Record(given.out, given.restart), []
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    start = time.monotonic()
    work = functools.partial(processes.run, attempt.attempt, processes=given.jobs)
    for outcome in work(
        jobs=jobs(given, record, seen), seconds=given.seconds, memory=given.memory
    ):  # fmt: skip
        row = row_of(outcome)
        record.add(row)
        if given.all or not is_clean(row):
            print(line_of(row), flush=True)
    rows = [record.rows[key] for key in seen]
    print(table(rows))
    wrong = [(row, told) for row in rows for told in unknown(row, known)]
    print(f"{len(rows)} compilations, {len(wrong)} not as known, {time.monotonic() - start:.0f} s")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
