"""NVIDIA GPUs as targets: architectures, PTX out of a compiled module, and ptxas."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shutil
import tempfile
import warnings
from pathlib import Path

from ..errors import CodeWarning, CompileError, TargetError
from ..runtime import processes
from . import gputargets, nvjitlink

MODULE = "redfuse_gpu"  # the gpu.module of all kernels of a program


def resolve(target: str) -> str:
    """``cuda``, ``cuda:sm_90a`` or ``cuda:sm_80,sm_90a`` as one of the latter; raises TargetError.

    Without a name it is this machine's first GPU.
    """
    chips = gputargets.named_chips(target) or [_first_chip(target)]
    return f"cuda:{','.join(chips)}"


def _first_chip(target: str) -> str:
    device = gputargets.first_device(target, "the driver")
    known = list(gputargets.chips("cuda"))
    found = device["chip"]
    chip = f"{found}a" if f"{found}a" in known else found
    if chip in known:
        return chip
    older = [name for name in known if _number(name) <= _number(found) and name[-1] != "a"]
    if not older:
        raise TargetError(
            f"target '{target}': {device['name']} is {found}, expected {known[0]} or later"
        )
    return older[-1]  # PTX of an older one runs on it


def _number(chip: str) -> int:
    return int(re.sub(r"\D", "", chip))


def machine_text() -> str:
    """One line about this machine's GPUs, and what programs can be compiled for without one."""
    return gputargets.machine_text("cuda")


@dataclasses.dataclass(frozen=True)
class Resources:
    """What ptxas says of one kernel: registers a thread, bytes of static shared memory, bytes
    spilled (stores + loads), bytes of stack."""

    kernel: str
    registers: int
    shared: int
    spills: int
    stack: int


@dataclasses.dataclass(frozen=True)
class Variant:
    """A program for one architecture: host code, images to choose from (see :func:`images`; of an
    AMD GPU one code object), what the assembler says of its kernels, and their assembly where it
    is not an image."""

    chip: str
    code: bytes
    images: list[tuple[str, bytes]]
    resources: list[Resources]
    listing: str = ""


def find_ptxas() -> str | None:
    """ptxas: ``REDFUSE_PTXAS``, of an installed package (nvidia-cuda-nvcc, triton), of a toolkit,
    or on the PATH."""
    named = os.environ.get("REDFUSE_PTXAS")
    if named:
        return named
    import importlib.util

    for package, places in (
        ("nvidia", ("cu13/bin/ptxas", "cuda_nvcc/bin/ptxas")),
        ("triton", ("backends/nvidia/bin/ptxas",)),
    ):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for place in places:
                if (Path(folder) / place).is_file():
                    return str(Path(folder) / place)
    for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if root and (Path(root) / "bin" / "ptxas").is_file():
            return str(Path(root) / "bin" / "ptxas")
    return shutil.which("ptxas")


@functools.cache
def _on_all_threads(ptxas: str) -> tuple[str, ...]:
    """The option by which it works on several kernels at once, where it has one; their code is the
    same."""
    option = "--split-compile"
    return (f"{option}=0",) if option in processes.run([ptxas, "--help"], ptxas).stdout else ()


def assemble(ptx: bytes, chip: str, ptxas: str) -> tuple[bytes, str]:
    """A cubin of PTX, and what ptxas says. Raises CompileError with its words."""
    with tempfile.TemporaryDirectory(prefix="redfuse-") as folder:
        source, cubin = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
        source.write_bytes(ptx.rstrip(b"\0"))
        command = [ptxas, "-v", "-O3", f"-arch={chip}", *_on_all_threads(ptxas)]
        command += [str(source), "-o", str(cubin)]
        done = processes.run(command, ptxas)
        if done.returncode != 0:
            raise CompileError(f"ptxas -arch={chip} failed:\n{(done.stderr or done.stdout)[:2000]}")
        return cubin.read_bytes(), done.stderr + done.stdout


def _warn(report: str, resources: list[Resources], chip: str) -> None:
    """What of a report should not be missed: spills, and warnings of ptxas."""
    told = [
        f"{kernel.kernel}: {kernel.spills} bytes of registers are spilled to memory"
        for kernel in resources
        if kernel.spills
    ]
    for line in report.splitlines():
        found = re.search(r"ptxas (?:warning|.*Potential Performance Loss)\W*(.*)", line)
        if found and line not in told:
            told.append(line.strip())
    if told:
        text = "; ".join(dict.fromkeys(told))
        warnings.warn(f"ptxas -arch={chip}: {text[:1000]}", CodeWarning, stacklevel=6)


def parse_resources(text: str) -> list[Resources]:
    """The report of ``ptxas -v``."""
    found = []
    for part in re.split(r"Compiling entry function '", text)[1:]:
        name = part.partition("'")[0]

        def number(pattern: str, part: str = part) -> int:
            match = re.search(pattern, part)
            return int(match[1]) if match else 0

        found.append(
            Resources(
                name,
                number(r"Used (\d+) registers"),
                number(r"(\d+) bytes smem"),
                number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
                number(r"(\d+) bytes stack frame"),
            )
        )
    return found


def images(ptx: bytes, chip: str) -> tuple[list[tuple[str, bytes]], list[Resources]]:
    """What the driver chooses from, with the architecture of each: a cubin where there is a ptxas
    or nvJitLink, and the PTX, which newer GPUs take; and what is said of the kernels. Raises
    CompileError."""
    if not ptx:
        return [], []
    ptxas = find_ptxas()
    if ptxas is not None:
        cubin, report = assemble(ptx, chip, ptxas)
    elif library := nvjitlink.find():
        cubin, report = nvjitlink.link(ptx, chip, library)
        report = report.partition("\ninfo ")[0]  # what follows is said twice
    else:
        return [(chip, ptx)], []
    resources = parse_resources(report)
    _warn(report, resources, chip)
    return [(chip, cubin), (chip, ptx)], resources


def assembler() -> str | None:
    """What makes cubins here: the path of ptxas, or of nvJitLink."""
    return find_ptxas() or nvjitlink.find()
