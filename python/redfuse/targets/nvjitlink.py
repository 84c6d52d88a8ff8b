"""Cubins by nvJitLink, the library that PyTorch's CUDA packages bring: for machines without a
ptxas."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import CompileError
from ..runtime import processes


def find() -> str | None:
    """The library: ``REDFUSE_NVJITLINK``, of an installed package, or of a toolkit."""
    named = os.environ.get("REDFUSE_NVJITLINK")
    if named:
        return named
    return next((str(path) for path in _places()), None)


def _places() -> Iterator[Path]:
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(folder).glob("*/lib/libnvJitLink.so.1?"), reverse=True)
    for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if root:
            yield from sorted(Path(root).glob("lib64/libnvJitLink.so.1?"), reverse=True)


def link(ptx: bytes, chip: str, path: str) -> tuple[bytes, str]:
    """A cubin of PTX, and what ptxas says. Raises CompileError with the library's words."""
    script = str(Path(__file__).with_name("_link_cubin.py"))
    with tempfile.TemporaryDirectory(prefix="redfuse-") as folder:
        source, cubin = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
        source.write_bytes(ptx)
        command = [sys.executable, "-I", script, path, chip, str(source), str(cubin)]
        done = processes.run(command, path)
        if done.returncode or not cubin.is_file():
            words = done.stderr.strip() or f"nvJitLink ended with status {done.returncode}"
            raise CompileError(words)
        return cubin.read_bytes(), done.stdout
