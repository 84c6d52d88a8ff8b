"""AMD GPUs as targets, as far as nothing but MLIR is needed: names, LLVM IR, errors. The code
objects are in test/rocm."""

from pathlib import Path

import pytest
import redfuse
from redfuse.frontends.mlir import read
from redfuse.lowering import lower
from redfuse.options import Options
from redfuse.targets import codeobject, rocm

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"


def kernels_ir(name: str, chip: str) -> str:
    program = read(CORPUS / f"{name}.mlir")
    return lower(program, Options(), stop_after="rocdl", target=f"rocm:{chip}").kernels_ir


@pytest.mark.parametrize("name", ["softmax", "attention_dynamic", "moe_routing", "ffn_relu"])
def test_llvm_ir(name: str) -> None:
    text = kernels_ir(name, "gfx942")
    assert 'target triple = "amdgcn-amd-amdhsa"' in text
    assert "amdgpu_kernel void @main_0" in text
    assert "declare i64 @__ockl" not in text


def test_names() -> None:
    assert rocm.resolve("rocm:gfx90a,gfx942,gfx90a") == "rocm:gfx90a,gfx942"
    with pytest.raises(redfuse.TargetError, match="gfx943"):
        rocm.resolve("rocm:gfx943")
    assert rocm.resolve("rocm") == "rocm:gfx942"  # of the first GPU that the driver has
    assert "gfx942" in redfuse.available_targets()["rocm"]
    with pytest.raises(redfuse.UnsupportedError, match="fuse=False"):
        redfuse.compile(CORPUS / "softmax.mlir", target="rocm:gfx942", options={"fuse": False})


def test_missing_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocm, "_has_llvmlite", lambda: False)
    with pytest.raises(redfuse.CompileError, match="needs llvmlite"):
        rocm.code_object("", "gfx942", 3)
    monkeypatch.setattr(rocm, "_has_llvmlite", lambda: True)
    monkeypatch.setattr(rocm, "find_lld", lambda: None)
    with pytest.raises(redfuse.CompileError, match="needs ld.lld"):
        rocm.code_object("", "gfx942", 3)
    assert "gfx1100; needs ld.lld" in rocm.machine_text()


@pytest.mark.parametrize("image", [b"", b"\x7fELF", b"\x7fELF\x02" + bytes(100)])
def test_what_is_no_code_object(image: bytes) -> None:
    with pytest.raises(redfuse.CompileError, match="no AMD code object"):
        codeobject.notes(image)
