"""Builds the drivers that run nothing, and starts processes that find them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parent
_TRY = """
import redfuse, redfuse.targets.rocm
from redfuse.bench import programs
from drivers import Interface, aligned
# The tools that make code objects are not needed where nothing runs.
redfuse.targets.rocm.code_object = lambda *arguments: (b"\\x7fELF", "", [])
try:
    text = programs.softmax(4, 256, "f32")
    exe = redfuse.compile(text, target={target!r}, options={{"cache": False}})
    exe(Interface(aligned((4, 256))), out=Interface(aligned((4, 256))))
    print("fine")
except redfuse.Error as error:
    print(type(error).__name__, error)
"""


def build(folder: Path, source: str | Path = "cuda.c", name: str = "libcuda.so.1") -> Path:
    """The driver, by that name in ``folder``, which is what it calls itself, too."""
    command = ["cc", "-O1", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", folder / name,
               SOURCES / source, "-lpthread"]  # fmt: skip
    subprocess.run([str(word) for word in command], check=True)
    return folder


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with that driver."""
    paths = [str(SOURCES.parent), *sys.path]
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "PYTHONPATH": os.pathsep.join(paths),
           **environment}  # fmt: skip
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=env, check=False
    )


def try_a_call(folder: Path, target: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Compiles a program for ``target`` and calls it; prints fine, or the error."""
    return run(folder, "-c", _TRY.format(target=target), **environment)
