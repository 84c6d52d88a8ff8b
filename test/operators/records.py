"""A record of trials, a line each: commands go on where they stopped, and make tables of it."""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

import processes
from judging import CRASHED, LATE, RIGHT, STATUSES

ROOT = Path(__file__).resolve().parents[2]


def add_arguments(parser: argparse.ArgumentParser, record: Path) -> None:
    """What commands that run many trials may be asked."""
    add = parser.add_argument
    add("--only", default="", metavar="NAME,...", help="these; an end of * stands for any")
    add("--resume", type=Path, default=record, metavar="FILE", help=f"the record ({record.name})")
    add("--restart", action="store_true", help="forget the record")
    add("--again", default="", metavar="STATUS,...", help="once more what had this status; all: "
        "all but the right ones")  # fmt: skip
    add("--jobs", type=int, default=1, help="processes (1)")
    add("--seconds", type=float, default=120.0, help="for one process (120)")
    add("--memory", type=float, default=8.0, help="GiB of addresses for one process (8)")
    add("--table", type=Path, metavar="FILE", help="write the table here")


def is_chosen(name: str, only: str) -> bool:
    """Whether a name is among those of ``--only``."""
    words = [w for w in only.split(",") if w]
    return not words or any(
        name == w or (w.endswith("*") and name.startswith(w[:-1])) for w in words
    )


class Record:
    """The last row of every trial."""

    def __init__(self, path: Path, restart: bool = False):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if restart:
            path.unlink(missing_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows = {self.key(row): row for row in map(json.loads, lines)}

    @staticmethod
    def key(row: dict) -> str:
        """What tells trials apart."""
        return f"{row['name']} {row.get('dtype', '')} {row.get('sample', '')}"

    def add(self, row: dict) -> None:
        """Keeps a row, in the file as well."""
        self.rows[self.key(row)] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def is_done(self, row: dict, again: str) -> bool:
        """Whether it was tried, and is not to be tried again."""
        known = self.rows.get(self.key(row))
        if known is None:
            return False
        if again == "all":
            return known["status"] == RIGHT
        return known["status"] not in again.split(",")


def run(
    work: Callable[[dict, Callable[[dict], None]], None], jobs: list[dict], given: Any,
    record: Record, show: Callable[[dict], None],
) -> None:  # fmt: skip
    """Trials by jobs, each a dict with "trials", rows without a status. ``work(job, tell)`` tells
    the rows; the one that a process dies at has crashed, and those after it are done by another.
    """

    def attempt(job: dict, tell: Callable[[str], None]) -> dict:
        rows: list[dict] = []

        def one(row: dict) -> None:
            rows.append(row)
            tell(json.dumps(rows))

        work(job, one)
        return {"rows": rows}

    pending = list(jobs)
    while pending:
        batch, pending = pending, []
        for outcome in processes.run(attempt, iter(batch), given.jobs, given.seconds, given.memory):
            rows = outcome.answer["rows"] if outcome.answer else json.loads(outcome.last or "[]")
            trials = outcome.job["trials"]
            if outcome.answer is None and len(rows) < len(trials):
                late = outcome.how == processes.TIMED_OUT
                words = [w for w in outcome.words.strip().splitlines() if w.strip()]
                rows.append({**trials[len(rows)], "status": LATE if late else CRASHED,
                             "message": f"{outcome.how}: {_reason(words)}"})  # fmt: skip
                if len(rows) < len(trials):
                    pending.append({**outcome.job, "trials": trials[len(rows) :]})
            for row in rows:
                record.add(row)
                show(row)


def _reason(words: Sequence[str]) -> str:
    """The line of what a process wrote that says most."""
    telling = [w for w in words if "Assertion" in w or "rror" in w]
    return (telling or list(words[-1:]) or [""])[-1][:200]


def counts(rows: Iterator[dict]) -> collections.Counter:
    """How many rows there are of each status."""
    return collections.Counter(row["status"] for row in rows)


def totals(found: collections.Counter) -> str:
    """The same in words."""
    return ", ".join(f"{found[s]} {s}" for s in STATUSES if found[s])


def reason(row: dict) -> str:
    """Why a row is not right, for a table: without the place in a file of this machine."""
    words = row["message"].replace("\n", " ")
    first, found, rest = words.partition(": ")
    if found and first.startswith("/"):
        words = rest
    return words.replace("|", "\\|")
