"""Builds the driver that runs nothing and starts processes that find it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FAKE = Path(__file__).parent / "fake"


def build(folder: Path, source: Path = FAKE / "cuda.c", name: str = "libcuda.so.1") -> Path:
    """The driver, by that name in ``folder``."""
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", folder / name, source, "-lpthread"]
    subprocess.run([str(word) for word in command], check=True)
    return folder


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with that driver."""
    paths = [str(FAKE), *sys.path]
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "PYTHONPATH": os.pathsep.join(paths),
           **environment}  # fmt: skip
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=env, check=False
    )


def run_cases(folder: Path, name: str, **environment: str) -> None:
    """The tests of a file of ``fake``."""
    done = run(
        folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FAKE / name),
        **(environment or {"FAKE_CUDA": "devices=2"}),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "passed" in done.stdout
