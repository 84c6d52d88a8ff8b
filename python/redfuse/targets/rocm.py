"""AMD GPUs as targets: code objects, made without a ROCm installation.

MLIR writes LLVM IR (the wheels' LLVM has no AMDGPU back end), llvmlite's LLVM makes machine code of
it, an LLD (ROCm's, the one of the package ziglang, or of the PATH) the code object. The runtime
launches it through HIP, which is tested without a GPU: no AMD GPU has run any of this.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ..errors import CompileError, TargetError
from ..runtime import processes
from . import gputargets
from .codeobject import notes
from .cuda import Resources

_BACKEND = """\
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
source, chip, level, listing, target = sys.argv[1:]
machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(
    cpu=chip, opt=int(level), reloc="pic")
module = llvm.parse_assembly(open(source).read())
module.verify()
builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(int(level)))
builder.getModulePassManager().run(module, builder)
text = str(module)
# Making code changes the module.
open(listing, "w").write(machine.emit_assembly(llvm.parse_assembly(text)))
open(target, "wb").write(machine.emit_object(llvm.parse_assembly(text)))
"""


def resolve(target: str) -> str:
    """``rocm``, ``rocm:gfx942``, or several as ``rocm:gfx90a,gfx942`` as one of the latter; raises
    TargetError.

    Without a name it is this machine's first AMD GPU.
    """
    chips = gputargets.named_chips(target) or [_first_chip(target)]
    return f"rocm:{','.join(chips)}"


def _first_chip(target: str) -> str:
    device = gputargets.first_device(target, "the AMD GPU runtime")
    known = gputargets.chips("rocm")
    chip = device["chip"]
    if chip not in known:
        raise TargetError(
            f"target '{target}': {device['name']} is {chip}, expected {' or '.join(known)}"
        )
    return chip


def machine_text() -> str:
    """One line: this machine's AMD GPUs, what programs are compiled for, and what that lacks."""
    missing = missing_tools()
    needs = f"; needs {' and '.join(missing)}" if missing else ""
    return gputargets.machine_text("rocm") + needs


def missing_tools() -> list[str]:
    """What this machine lacks to make code objects."""
    missing = [] if _has_llvmlite() else ["llvmlite"]
    if find_lld() is None:
        missing.append("ld.lld (the package ziglang has one)")
    return missing


def _has_llvmlite() -> bool:
    return importlib.util.find_spec("llvmlite") is not None


def find_lld() -> list[str] | None:
    """The command of an ld.lld: ``REDFUSE_LLD``, of ROCm, of the package ziglang, or of PATH."""
    named = os.environ.get("REDFUSE_LLD")
    if named:
        return [named]
    for root in (os.environ.get("ROCM_PATH"), "/opt/rocm"):
        path = Path(root or "") / "llvm" / "bin" / "ld.lld"
        if root and path.is_file():
            return [str(path)]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "ld.lld"]
    found = shutil.which("ld.lld")
    return [found] if found else None


def code_object(text: str, chip: str, level: int) -> tuple[bytes, str, list[Resources]]:
    """A code object of LLVM IR, its assembly, and the resources of its kernels.

    Raises CompileError with the tools' words.
    """
    if not _has_llvmlite():
        raise CompileError("target rocm needs llvmlite: pip install 'redfuse[rocm]'")
    lld = find_lld()
    if lld is None:
        raise CompileError(
            "target rocm needs ld.lld: pip install 'redfuse[rocm]' (the package ziglang has one), "
            "or name one in REDFUSE_LLD"
        )
    with tempfile.TemporaryDirectory(prefix="redfuse-") as folder:
        source, listing, target, linked = (
            Path(folder) / name for name in ("k.ll", "k.s", "k.o", "k.hsaco")
        )
        source.write_text(text)
        # A process of its own: LLVM ends it when it has no code for something.
        words = [str(source), chip, str(max(1, level)), str(listing), str(target)]
        _run([sys.executable, "-c", _BACKEND, *words], f"LLVM's {chip} back end")
        _run([*lld, "-shared", str(target), "-o", str(linked)], "ld.lld")
        image = linked.read_bytes()
        return image, listing.read_text(), resources(image)


def _run(command: list[str], what: str) -> None:
    done = processes.run(command, what)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        told = [line for line in lines if "rror" in line] or lines[-5:]
        raise CompileError(f"{what} failed:\n" + "\n".join(told[:10])[:2000])


def resources(image: bytes) -> list[Resources]:
    """What the metadata of a code object says of its kernels."""
    return [
        Resources(
            kernel[".name"], kernel[".vgpr_count"], kernel[".group_segment_fixed_size"],
            4 * (kernel.get(".vgpr_spill_count", 0) + kernel.get(".sgpr_spill_count", 0)),
            kernel[".private_segment_fixed_size"],
        )
        for kernel in notes(image)["amdhsa.kernels"]
    ]  # fmt: skip
