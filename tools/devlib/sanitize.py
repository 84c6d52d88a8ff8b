"""Tests in a build that reports wrong accesses and undefined behaviour, also of generated code."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .build import SANITIZED, build
from .setup import Venv
from .shell import ROOT, DevError, alone, call, say

REPORTS = SANITIZED / "reports"
TESTS = (
    "test/e2e/test_found_programs.py", "test/e2e/test_corpus.py", "test/e2e/test_named.py",
    "test/fuzz", "test/sanitize", "test/python/native/test_native_calls.py",
    "test/python/transforms/test_shape_checks.py", "test/python/transforms/test_scatter.py",
    "test/python/native/test_kernels.py",
)  # fmt: skip
# LLVM and Python keep what they have until the end: leaks of theirs say nothing. A request for more
# memory than there is has to fail as it does without a sanitizer.
ADDRESS = "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=8192"
UNDEFINED = "print_stacktrace=1:halt_on_error=1"


def _library(name: str) -> Path:
    """A library of the compiler."""
    compiler = shutil.which("g++")
    if not compiler:
        raise DevError("no g++ on PATH: the sanitized build is made by gcc")
    found = subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(found).is_absolute():
        raise DevError(f"gcc has no {name} (on Debian: apt install libasan8)")
    return Path(found).resolve()


def environment(venv: Venv) -> dict[str, str]:
    """For children: Python is not instrumented, so the sanitizer's library comes first, and C++'s
    before it looks for what that throws."""
    env = dict(os.environ)
    paths = [str(SANITIZED / "python"), *filter(None, [env.get("PYTHONPATH")])]
    env["PYTHONPATH"] = os.pathsep.join(paths)
    env["PATH"] = os.pathsep.join([str(venv.path / "bin"), env["PATH"]])
    env["VIRTUAL_ENV"] = str(venv.path)
    env["REDFUSE_BUILD"] = str(SANITIZED)
    env["LD_PRELOAD"] = f"{_library('libasan.so')} {_library('libstdc++.so')}"
    env["ASAN_OPTIONS"] = f"{ADDRESS}:log_path={REPORTS / 'report'}"
    env["UBSAN_OPTIONS"] = UNDEFINED
    return env


def prepare(venv: Venv) -> dict[str, str]:
    """The build; no reports but those to come."""
    if not shutil.which("g++"):
        raise DevError("no g++ on PATH: the sanitized build is made by gcc")
    os.environ.setdefault("CXX", "g++")
    with alone():
        build(venv, joined=True, folder=SANITIZED)
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir()
    return environment(venv)


def told() -> int:
    """Prints the reports; 1 if there are any."""
    paths = sorted(REPORTS.glob("report*"))
    for path in paths:
        print(f"--- {path.relative_to(ROOT)}")
        print("\n".join(path.read_text(errors="replace").splitlines()[:25]))
    say(f"sanitizers: {len(paths)} reports")
    return int(bool(paths))


def test(venv: Venv, arguments: list[str], workers: int) -> int:
    """Runs tests, those named or TESTS, in processes that may die of a report."""
    env = prepare(venv)
    folders = " ".join(("build/sanitize/python", "test/python", "test/fuzz", "test/e2e"))
    command = [venv.python, "-m", "pytest", "-n", str(workers), "--dist", "worksteal",
               "-o", f"pythonpath={folders}", *(arguments or TESTS)]  # fmt: skip
    code = call(command, env=env)
    return max(code, told())
