"""How programs that others wrote run: redfuse beside eager PyTorch and torch.compile.

``tools/dev scoreboard --suite FOLDER`` takes every .py file below a folder that is of one of the
forms of ``export.py`` (KernelBench's ``Model``, ``get_inputs``, ``get_init_inputs`` among them),
measures each in a process that may die, and prints a table. Records are lines of JSON with commit
and date; a run goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path = [str(HERE), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

import processes  # noqa: E402
from export import AS_WRITTEN, names  # noqa: E402
from scoretable import page, table  # noqa: E402

PEERS = ("eager", "compile")


def commit() -> str:
    """This checkout's, or what a pack says of itself (REDFUSE_COMMIT)."""
    if named := os.environ.get("REDFUSE_COMMIT"):
        return named
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def jobs_of(given: argparse.Namespace, done: set[tuple[str, str]]) -> Iterator[dict]:
    """All programs of a suite that have no record yet."""
    number, count = given.shard
    files = sorted(p for p in given.suite.rglob("*.py") if p.name != "__init__.py")
    described = ({"file": str(f)} for f in files[number - 1 :: count])
    for held in processes.run(names, described, 1, given.limit, given.memory):
        file = Path(held.job["file"])
        label = str(file.relative_to(given.suite).with_suffix(""))
        for program in (held.answer or {"names": []})["names"]:
            name = f"{label}:{program}" if program else label
            for dtype in given.dtypes or [AS_WRITTEN]:
                if (name, dtype) not in done:
                    yield {"file": str(file), "program": program, "name": name, "dtype": dtype,
                           "device": given.device, "peers": given.peers, "budget": given.budget,
                           "profile": given.profile, "candidates": given.candidates,
                           "lock": str(given.out / "timing.lock")}  # fmt: skip


def work(job: dict, tell: object) -> dict:
    """In the child alone, since a process that has used a GPU cannot be forked."""
    from measure import measured

    return measured(job, tell)


def record_of(outcome: processes.Outcome, stamp: dict) -> dict:
    """A row, with what became of its process."""
    kept = {k: outcome.job[k] for k in ("name", "dtype", "device")}
    row = {**kept, **stamp, "seconds": round(outcome.seconds, 1)}
    if outcome.answer is not None:
        return {**row, **outcome.answer}
    lines = [line for line in outcome.words.splitlines() if line.strip()] or [""]
    status = "late" if outcome.how == processes.TIMED_OUT else "died"
    return {**row, "status": status, "words": f"{outcome.how} at {outcome.last}: {lines[-1][:300]}"}


def read(path: Path) -> list[dict]:
    """Records so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def part(text: str) -> tuple[int, int]:
    """``i/n``."""
    number, count = (int(word) for word in text.split("/"))
    if not 1 <= number <= count:
        raise argparse.ArgumentTypeError(f"expected i/n with 1 <= i <= n, got {text}")
    return number, count


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tools/dev scoreboard", description=__doc__)
    parser.add_argument("--suite", type=Path, required=True, help="a folder of programs")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--as", dest="dtypes", action="append", default=[],
                        help="a dtype of parameters and inputs (bfloat16); may be repeated")  # fmt: skip
    parser.add_argument("--shard", type=part, default=(1, 1), help="i/n: every n-th program")
    parser.add_argument("--peers", default=",".join(PEERS), help="eager, or eager,compile")
    parser.add_argument("--limit", type=float, default=300, help="seconds of one program")
    parser.add_argument("--budget", type=float, default=1.5, help="seconds of timed calls of each")
    parser.add_argument("--profile", action="store_true",
                        help="on a GPU, the time of each of redfuse's kernels, too")  # fmt: skip
    parser.add_argument("--candidates", type=int, default=0,
                        help="on a GPU, at most so many of redfuse's other plans, too")  # fmt: skip
    parser.add_argument("--memory", type=float, default=1e6,
                        help="GiB of addresses of a process (drivers of GPUs take many)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, help="processes; one at a time is timed")
    parser.add_argument("--out", type=Path, default=Path("build/scoreboard"),
                        help="records.jsonl, table.md, table.html")  # fmt: skip
    given = parser.parse_args()
    if given.candidates and given.device != "cuda":
        parser.error("--candidates: expected --device cuda, as times are predicted for GPUs alone")
    if not given.suite.is_dir():
        parser.error(f"--suite: {given.suite} is no folder")
    given.suite, given.out = given.suite.resolve(), given.out.resolve()
    return given


def main() -> int:
    """0 unless a program was wrong or ended its process."""
    given = arguments()
    import torch  # noqa: F401  before the processes part, as it takes seconds

    given.out.mkdir(parents=True, exist_ok=True)
    records = given.out / "records.jsonl"
    rows = [r for r in read(records) if r["device"] == given.device]
    stamp = {"commit": commit(), "date": datetime.date.today().isoformat()}
    todo = jobs_of(given, {(r["name"], r["dtype"]) for r in rows})
    with records.open("a") as file:
        for outcome in processes.run(work, todo, given.jobs, given.limit, given.memory):
            row = record_of(outcome, stamp)
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(row["status"], row["name"], row.get("words", ""), flush=True)
    rows.sort(key=lambda r: (r["name"], r["dtype"]))
    (given.out / "table.md").write_text(table(rows))
    (given.out / "table.html").write_text(page(rows))
    print(table(rows))
    return int(any(r["status"] in ("wrong", "died") for r in rows))


if __name__ == "__main__":
    sys.exit(main())
