"""The simulator of waves: instructions against NumPy, and faults. Needs the extra rocm."""

from __future__ import annotations

import numpy as np
import pytest

import simulators
from simulators import SimulationError
from simulators.waves import WAVES, _checked

_HEAD = """; {chip}
target triple = "amdgcn-amd-amdhsa"
@__dynamic_shmem__0 = external addrspace(3) global [0 x i8], align 16
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.ds.swizzle(i32, i32 immarg)
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x4f32(float, float, <4 x float>, i32, i32, i32)

define amdgpu_kernel void @main(ptr addrspace(1) %a, ptr addrspace(1) %b) {{
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %t to i64
  %at = getelementptr i32, ptr addrspace(1) %a, i64 %i
  %to = getelementptr i32, ptr addrspace(1) %b, i64 %i
  %own = getelementptr i32, ptr addrspace(3) @__dynamic_shmem__0, i64 %i
  %last = sub i64 COUNT, %i
  %other = getelementptr i32, ptr addrspace(3) @__dynamic_shmem__0, i64 %last
  %x = load i32, ptr addrspace(1) %at, align 4
{body}
  ret void
}}
"""


def run(body: str, chip: str, threads: int = 64, shared: int | None = None) -> np.ndarray:
    text = _HEAD.format(chip=chip, body=body).replace("COUNT", str(threads - 1))
    a, out = np.arange(threads, dtype=np.uint32) * 5, np.zeros(threads, np.uint32)
    shared = 4 * threads if shared is None else shared
    simulators.load(text).launch("main", 1, threads, [a, out], shared=shared)
    return out


@pytest.mark.parametrize("chip", WAVES)
def test_barriers(chip: str) -> None:
    body = """  store i32 %x, ptr addrspace(3) %own, align 4
  call void @llvm.amdgcn.s.barrier()
  %y = load i32, ptr addrspace(3) %other, align 4
  store i32 %y, ptr addrspace(1) %to, align 4"""
    np.testing.assert_array_equal(run(body, chip, 128), np.arange(128)[::-1] * 5)


def test_assembly() -> None:
    """A lane's own register; one that the wave shares is a fault, as are instructions."""
    body = """  %y = call i32 asm sideeffect "", "=v,0"(i32 %x)
  store i32 %y, ptr addrspace(1) %to, align 4"""
    np.testing.assert_array_equal(run(body, "gfx942"), np.arange(64) * 5)
    for wrong in (body.replace("=v", "=r"), body.replace('""', '"v_nop"')):
        with pytest.raises(SimulationError, match="each lane's registers"):
            run(wrong, "gfx942")


@pytest.mark.parametrize("chip", WAVES)
def test_permutes(chip: str) -> None:
    body = """  %lane = xor i32 %t, 3
  %byte = shl i32 %lane, 2
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %byte, i32 %x)
  %z = call i32 @llvm.amdgcn.ds.swizzle(i32 %y, i32 4127)
  store i32 %z, ptr addrspace(1) %to, align 4"""  # 4127: lanes that differ in bit 2
    np.testing.assert_array_equal(run(body, chip), (np.arange(64) ^ 7) * 5)


def test_products() -> None:
    """16 by 16, of four terms; of the identity and a matrix that is the matrix."""
    body = """  %lane = and i32 %t, 15
  %row = lshr i32 %t, 4
  %same = icmp eq i32 %lane, %row
  %one = select i1 %same, float 1.0, float 0.0
  %value = uitofp i32 %x to float
  %p = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x4f32(float %one, float %value,
       <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  %e = extractelement <4 x float> %p, i32 1
  %y = fptoui float %e to i32
  store i32 %y, ptr addrspace(1) %to, align 4"""
    body = body.replace(",\n       <4", ", <4")
    left = np.eye(16, 4)  # row, sum
    right = (np.arange(64) * 5).reshape(4, 16)  # sum, column
    want = (left @ right)[np.arange(64) // 16 * 4 + 1, np.arange(64) % 16]
    np.testing.assert_array_equal(run(body, "gfx942"), want)


WRONG = {
    "shared": ("  %y = load i32, ptr addrspace(3) %own, align 4", 64, "was never written"),
    "beyond_shared": ("  store i32 1, ptr addrspace(3) %own, align 4", 60, "is beyond shared memory"),
    "behind_an_array": (
        "  %e = getelementptr i32, ptr addrspace(1) %to, i64 1\n"
        "  store i32 1, ptr addrspace(1) %e, align 4", 64, "thread 63 of block 0: .* is in no array",
    ),
    "vector": (
        "  %v = load <2 x i32>, ptr addrspace(1) %at, align 4", 64, "thread 63 .* is in no array",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_faults(name: str) -> None:
    body, threads, message = WRONG[name]
    shared = 4 * threads - (16 if name == "beyond_shared" else 0)
    with pytest.raises(SimulationError, match=message) as caught:
        run(body, "gfx942", 64, shared)
    last = body.split("\n")[-1]
    assert caught.value.text == last.strip()
    text = _HEAD.format(chip="gfx942", body=body)
    assert caught.value.line == text[: text.index(last)].count("\n") + 1


def test_meetings_that_some_miss() -> None:
    body = """  %some = icmp ult i32 %t, SOME
  br i1 %some, label %meet, label %end
meet:
  MEET
  br label %end
end:"""
    with pytest.raises(SimulationError, match="wait at a barrier for others that are done"):
        barrier = body.replace("MEET", "call void @llvm.amdgcn.s.barrier()").replace("SOME", "64")
        run(barrier, "gfx942", 128)
    with pytest.raises(SimulationError, match="lane 0 of a wave is at a permute, lane 40 is done"):
        permute = "%y = call i32 @llvm.amdgcn.ds.bpermute(i32 %t, i32 %x)"
        run(body.replace("MEET", permute).replace("SOME", "40"), "gfx942")


def test_unknown_instructions() -> None:
    declared = "declare i32 @llvm.amdgcn.readfirstlane(i32)\n"
    text = declared + _HEAD.format(chip="gfx942", body="").replace("COUNT", "63")
    text = "; gfx942\n" + text.replace("; gfx942\n", "")
    with pytest.raises(SimulationError, match="unknown instruction") as caught:
        simulators.load(text)
    assert caught.value.line == 2
    with pytest.raises(SimulationError, match="line 2: .*cmpxchg.*: unknown instruction"):
        _checked("define void @f() {\n  %x = cmpxchg ptr %p, i32 0, i32 1 acq_rel monotonic")
