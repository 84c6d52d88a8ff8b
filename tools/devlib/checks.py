"""What CI checks besides the tests."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import arrows, chips, circles, links, names, passes, regexes, tables, titles
from .setup import Venv
from .shell import ROOT, DevError, call, say, tracked

MAX_LINES = 800
CODE = ("*.cpp", "*.h", "*.td", "*.py", "tools/dev")
# Paths of one machine: a home, or a top-level folder that no system has.
MACHINE_PATH = re.compile(r"(?<![\w.$}/])/(?:work|root|farm|Users|home)/\w")
# Spelled so that this file is not the first to match.
LEFT_OVER = re.compile(
    r"\b(?:[T]ODO|[F]IXME|[X]FAIL)\b|pytest\.(?:mark\.)?(?:[s]kip|[x]fail|[i]mportorskip)"
)


def _texts(*patterns: str) -> list[tuple[str, list[str]]]:
    found = []
    for path in tracked(*patterns):
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        found.append((str(path.relative_to(ROOT)), lines))
    return found


def same_names(files: list[Path]) -> list[str]:
    """Test files of one name, which pytest does not import together."""
    told, first = [], {}
    for path in files:
        if path.name in first:
            told.append(f"{path}:1: has the name of {first[path.name]}")
        first.setdefault(path.name, path)
    return told


def _house_rules() -> list[str]:
    """Lines `file:line: what is wrong`."""
    problems = same_names([path.relative_to(ROOT) for path in tracked("test/*/test_*.py")])
    for name, lines in _texts(*CODE):
        if len(lines) > MAX_LINES:
            problems.append(f"{name}:1: {len(lines)} lines, at most {MAX_LINES} are wanted")
        for number, line in enumerate(lines, 1):
            if LEFT_OVER.search(line):
                problems.append(f"{name}:{number}: left-over: {line.strip()[:80]}")
    for name, lines in _texts("."):
        for number, line in enumerate(lines, 1):
            if MACHINE_PATH.search(line):
                problems.append(f"{name}:{number}: a path of one machine: {line.strip()[:80]}")
    modules = (names, arrows, circles, passes, links, regexes, chips, tables, titles)
    return problems + [line for module in modules for line in module.problems()]


def lint(venv: Venv, *, fix: bool) -> int:
    """ruff, clang-format and the house rules; 1 if anything is to be mended."""
    python = [str(p) for p in tracked("*.py")] + [str(ROOT / "tools" / "dev")]
    cxx = [str(p) for p in tracked("*.cpp", "*.h")]
    ruff, clang = venv.tool("ruff"), venv.tool("clang-format")
    jobs = {
        "ruff check": [ruff, "check", "--quiet", *(["--fix"] if fix else []), *python],
        "ruff format": [ruff, "format", "--quiet", *([] if fix else ["--check"]), *python],
        "clang-format": [clang, "-i" if fix else "--dry-run", *([] if fix else ["-Werror"]), *cxx],
    }
    if fix:
        titles.fix()
    failed = [name for name, command in jobs.items() if call(command)]
    if problems := _house_rules():
        print("\n".join(problems))
        failed.append("house rules")
    if failed:
        say(f"lint: {', '.join(failed)} failed (tools/dev lint --fix formats)")
    else:
        say(f"lint: {len(python)} Python and {len(cxx)} C++ files are clean")
    return bool(failed)


def ci(jobs: dict[str, Callable[[], int]]) -> int:
    """Runs every job, whatever the others did, and closes with a table."""
    rows = []
    for name, job in jobs.items():
        say(f"ci: {name}")
        start = time.monotonic()
        try:
            code = job()
        except DevError as error:
            print(f"tools/dev ci: {error}", file=sys.stderr)
            code = 1
        rows.append((name, code, time.monotonic() - start))
    for name, code, seconds in rows:
        say(f"ci: {name:6} {'passed' if code == 0 else f'FAILED ({code})':12} {seconds:6.1f} s")
    sys.stdout.flush()
    return int(any(code for _, code, _ in rows))
