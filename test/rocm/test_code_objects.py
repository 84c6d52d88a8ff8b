"""The corpus as code objects for AMD GPUs: their metadata and instructions. No AMD GPU has run
them."""

import re
from pathlib import Path

import numpy as np
import pytest
import redfuse
from redfuse.bench import programs
from redfuse.targets import codeobject, gputargets, rocm

CORPUS = Path(__file__).parents[1] / "e2e" / "corpus"
NAMES = sorted(path.stem for path in CORPUS.glob("*.mlir"))


# Sums of products of matrices: MFMA takes f32 too, WMMA 16 bits and bytes.
PRODUCTS = {
    *(n for n in NAMES if n.startswith("attention") and n != "attention_decode"), "conv_bias_relu",
    "ffn_relu", "ffn_swiglu", "mla_decode", "moe_routing", "multi_consumer", "quant_int8_gemm",
    "rmsnorm_gemm", "sdpa",
}  # fmt: skip
SHORT_PRODUCTS = {"attention_bf16", "quant_int8_gemm"}


@pytest.mark.parametrize("name", NAMES)
def test_the_corpus(name: str) -> None:
    """Built for every architecture; what the metadata says is what the target has."""
    target = f"rocm:{','.join(gputargets.chips('rocm'))}"
    exe = redfuse.compile(CORPUS / f"{name}.mlir", target=target, options={"cache": False})
    assert [variant.chip for variant in exe.variants] == list(gputargets.chips("rocm"))
    for variant in exe.variants:
        ((chip, image),) = variant.images
        assert codeobject.chip(image) == chip == variant.chip
        facts = codeobject.notes(image)
        assert facts["amdhsa.target"].startswith(f"amdgcn-amd-amdhsa--{chip}")
        wave = gputargets.chips("rocm")[chip].lanes
        kernels = facts["amdhsa.kernels"]
        told = [4 * (k[".vgpr_spill_count"] + k[".sgpr_spill_count"]) for k in kernels]
        assert [kernel.spills for kernel in variant.resources] == told
        assert [kernel[".name"] for kernel in kernels]
        for kernel in kernels:
            assert kernel[".wavefront_size"] == wave
            assert kernel[".group_segment_fixed_size"] <= 65536
            assert kernel[".max_flat_workgroup_size"] <= 1024
            assert 0 < kernel[".vgpr_count"] <= 512
            # Nothing is left to be linked, and nobody gives a pointer that a launch lacks.
            kinds = {argument[".value_kind"] for argument in kernel[".args"]}
            assert kinds <= {"by_value", "global_buffer"} | HIDDEN
        assert not re.search(r"__oc[mk]l", variant.listing)
        if chip == "gfx1100":
            assert ("v_wmma_" in variant.listing) == (name in SHORT_PRODUCTS)
        else:
            assert ("v_mfma_" in variant.listing) == (name in PRODUCTS)
        assert re.search(r"global_load_\w*(dwordx4|b128|dword|b32|ushort|u16|ubyte|sbyte)",
                         variant.listing)  # fmt: skip


# What the runtime puts behind the arguments, and the kernels read: sizes of the grid.
HIDDEN = {f"hidden_block_count_{d}" for d in "xyz"} | {f"hidden_group_size_{d}" for d in "xyz"} | {
    f"hidden_remainder_{d}" for d in "xyz"
} | {f"hidden_global_offset_{d}" for d in "xyz"} | {
    "hidden_grid_dims", "hidden_dynamic_lds_size", "hidden_hostcall_buffer",
    "hidden_multigrid_sync_arg", "hidden_heap_v1", "hidden_default_queue",
    "hidden_completion_action", "hidden_queue_ptr",
}  # fmt: skip


@pytest.mark.parametrize("chip", gputargets.chips("rocm"))
def test_instructions(chip: str) -> None:
    """16 bytes a load, lanes by permutes and swizzles, LDS between waves, exponentials in line."""
    text = redfuse.compile(
        CORPUS / "softmax.mlir", target=f"rocm:{chip}", options={"cache": False}
    ).asm
    wanted = ["global_load_(dwordx4|b128)", "ds_bpermute_b32", "v_(pk_)?fma"]
    # Where waves are of 64 lanes the 64 threads of a row are one.
    is_wide = gputargets.chips("rocm")[chip].lanes == 64
    wanted += ["ds_swizzle_b32"] if is_wide else ["s_barrier", "ds_(read|load)_b32"]
    for one in wanted:
        assert re.search(one, text), one
    assert not is_wide or "s_barrier" not in text


@pytest.mark.parametrize("chip", gputargets.chips("rocm"))
def test_words_that_each_lane_has(chip: str) -> None:
    """What was computed of rows of 16 bits is forgotten by way of vector registers: in scalar ones,
    which a wave has once, LLVM cannot put it."""
    text = programs.layernorm(4096, 1024, "bf16")
    exe = redfuse.compile(text, target=f"rocm:{chip}", options={"cache": False})
    assert all(kernel.spills == 0 for kernel in exe.variants[0].resources)


def test_bundles_and_calls(tmp_path: Path) -> None:
    exe = redfuse.compile(
        CORPUS / "softmax.mlir", target="rocm:gfx90a,gfx942", options={"cache": False}
    )
    exe.save(tmp_path / "p.rfb")
    again = redfuse.load(tmp_path / "p.rfb")
    assert again.variants == exe.variants
    with pytest.raises(redfuse.ArgumentError, match="expected an array on a GPU"):
        again(np.zeros((4, 8), np.float32))


def test_what_has_no_code() -> None:
    """f64 exponentials need ROCm's device libraries: told, not crashed on."""
    text = (CORPUS / "softmax.mlir").read_text().replace("f32", "f64")
    text = text.replace("0xFF800000", "0xFFF0000000000000")
    with pytest.raises(redfuse.UnsupportedError, match=r"intr\.exp|llvm\.exp\.f64"):
        redfuse.compile(text, target="rocm:gfx942", options={"cache": False})


def test_angles_are_refused_by_name() -> None:
    """Their code is in ROCm's libraries; what is said of types only comes behind."""
    text = """
func.func @main(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = math.cos %x : tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}"""
    with pytest.raises(redfuse.UnsupportedError, match=r"failed\n<text>:3:\d+: math\.cos: "):
        redfuse.compile(text, target="rocm:gfx942", options={"cache": False})


def test_tools_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDFUSE_LLD", "/no/such/lld")
    with pytest.raises(redfuse.CompileError, match="ld.lld does not run"):
        redfuse.compile(CORPUS / "softmax.mlir", target="rocm:gfx942", options={"cache": False})
    with pytest.raises(redfuse.CompileError, match="back end failed"):
        rocm.code_object("define void @f( {", "gfx942", 3)
