"""Builds the driver that runs nothing and starts processes that find it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FAKE = Path(__file__).parent / "fake"
_TRY = """
import sys; sys.path.insert(0, {fake!r})
import redfuse, redfuse.rocm
from redfuse.bench import programs
# The tools that make code objects are not needed where nothing runs.
redfuse.rocm.code_object = lambda *arguments: (b"\\x7fELF", "", [])
try:
    text = programs.softmax(4, 256, "f32")
    exe = redfuse.compile(text, target={target!r}, options={{"cache": False}})
    from cases import arrays
    x, y = arrays()
    exe(x, out=y)
    print("fine")
except redfuse.Error as error:
    print(type(error).__name__, error)
"""


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


def try_a_call(folder: Path, target: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Compiles a program for ``target`` and calls it; prints fine, or the error."""
    return run(folder, "-c", _TRY.format(fake=str(FAKE), target=target), **environment)
