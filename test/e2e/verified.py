"""Verifies programs, several at a time: ``tools/dev verify [--jobs J] [--seconds S] [FILE...]``.

By default all of the corpus, the named programs and the examples. A line a program; exit status 1 if a check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("test/e2e/corpus", "test/e2e/named", "examples")


def programs() -> list[Path]:
    """All of them."""
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.mlir"))]


def verify(path: Path, seconds: float) -> dict:
    """The report on one program, as data; what went wrong in ``error`` if there is none."""
    command = [sys.executable, "-m", "redfuse.cli", "verify", str(path), "--json"]
    limit = 3 * seconds + 60
    try:
        done = subprocess.run(
            [*command, "--seconds", f"{seconds:g}"], capture_output=True, text=True, check=False,
            timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"ok": False, "sections": [], "error": f"no answer in {limit:g} s"}
    try:
        return {"error": "", **json.loads(done.stdout)}
    except json.JSONDecodeError:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"ok": False, "sections": [], "error": f"exit status {done.returncode}: {last}"}


def checks(report: dict, status: str) -> list[dict]:
    """Those of a report that ended so."""
    return [c for s in report["sections"] for c in s["checks"] if c["status"] == status]


def reports(paths: Sequence[Path], seconds: float, jobs: int) -> Iterator[tuple[Path, dict]]:
    """Of all programs, in their order."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(paths, pool.map(lambda p: verify(p, seconds), paths), strict=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tools/dev verify", description=__doc__.split("\n")[2])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--seconds", type=float, default=60.0, help="for one program (60)")
    given = parser.parse_args()
    start = time.monotonic()
    paths = given.files or programs()
    wrong = 0
    for path, report in reports(paths, given.seconds, given.jobs):
        failed, unchecked = checks(report, "failed"), checks(report, "not checked")
        wrong += not report["ok"]
        print(
            f"{'ok  ' if report['ok'] else 'FAIL'} {path.name}: "
            f"{len(checks(report, 'passed'))} passed, {len(failed)} failed, "
            f"{len(unchecked)} not checked, {report.get('seconds', 0):.1f} s", flush=True,
        )  # fmt: skip
        for check in failed:
            print(f"     {check['how']}: {check['what']}: {check['detail']}")
        if report["error"]:
            print(f"     {report['error']}")
    print(f"{len(paths)} programs, {wrong} wrong, {time.monotonic() - start:.0f} s")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
