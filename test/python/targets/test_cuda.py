"""Programs for NVIDIA GPUs, as far as they can be tested without one: PTX, cubins, errors."""

import re
from pathlib import Path

import pytest
import redfuse
from redfuse.bench import cases, programs
from redfuse.frontends.mlir import read
from redfuse.lowering import lower
from redfuse.options import Options
from redfuse.targets import cuda

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"
NAMES = ["softmax", "layernorm", "attention_causal", "moe_routing", "conv_bias_relu",
         "attention_dynamic", "quant_int8_gemm"]  # fmt: skip


def ptx(name: str, chip: str) -> bytes:
    """The PTX of a corpus program."""
    program = read(CORPUS / f"{name}.mlir")
    return lower(program, Options(), stop_after="nvvm", target=f"cuda:{chip}").ptx


@pytest.mark.parametrize("name", NAMES)
def test_ptx(name: str) -> None:
    text = ptx(name, "sm_90a").decode()
    assert ".target sm_90a" in text
    assert ".entry main_0" in text


def test_strict_takes_no_matrix_units(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(programs.attention(2, 4, 256, 256, 64, "bf16"))
    made = [
        lower(read(path), Options(strict=strict), stop_after="nvvm", target="cuda:sm_90a").ptx
        for strict in (False, True)
    ]
    assert b"wgmma" in made[0]
    assert not any(name in made[1] for name in (b"wgmma", b"div.full"))


def plan_of(path: Path, **options: object) -> tuple[str, dict, str]:
    """The IR after the stage that plans, and what is said of the program's one kernel."""
    exe = redfuse.compile(path, target="cuda:sm_90a", options={"cache": False, **options})
    (kernel,) = exe.explain(json=True)["kernels"]
    return exe.ir["plan"], kernel["matrices"], exe.explain()


def test_how_a_kernel_runs_on_matrix_units_is_told(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(programs.attention(4, 32, 256, 1024, 64, "bf16"))
    ir, plan, text = plan_of(path)
    assert "redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 2," in ir
    assert plan["kind"] == "wgmma" and plan["row_dim"] == "i2" and plan["splits"] == 1
    assert plan["tiles"]["i2"] == plan["consumers"] * plan["consumer_rows"]
    assert (
        plan["left"] == ["kept", "packed"]
        and plan["threshold"] == 1
        and plan["scheduler"] == "static"
    )
    assert "matrices  wgmma by 2 warpgroups, tiles i2=128 " in text


def test_why_a_kernel_does_not_run_on_matrix_units_is_told() -> None:
    path, options = CORPUS / "conv_bias_relu.mlir", {"cache": False}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    # Behind copies of what it reads.
    *_, kernel = exe.explain(json=True)["kernels"]
    ir, plan, text = exe.ir["plan"], kernel["matrices"], exe.explain()
    why = "no dim is the rows of every product, with 16-bit floats in memory on the other side"
    assert f'redfuse.no_matrices = "{why}"' in ir
    assert plan == {"refused": why}
    # What has it instead is told where people read.
    assert "product   by " in text and why not in text


def test_why_kernels_of_segments_do_not_run_on_matrix_units_is_told(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(programs.softmax(4, 1 << 20, "bf16"))
    _, plan, text = plan_of(path)
    why = "it has no sum of products of matrices"
    assert plan == {"refused": why}
    assert f"matrices  no matrix units: {why}" in text


def test_largest_hints_are_bounded_by_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(programs.attention(4, 32, 256, 1024, 64, "bf16"))
    hints = (
        "ahead = 1024, cached = 1024, cluster = 16, columns = 128, threshold = 16, rows = 192, "
        "stages = 1024, splits = 1024, step = 1024"
    )
    schedule = (
        "#redfuse.schedule<stream, grid = [0, 1, 2], tiles = [1, 1, 32, 0, 128, 0], stream = [4], "
        f"hints = {{{hints}}}>"
    )
    _, plan, _ = plan_of(path, schedules=(schedule,))
    assert (
        plan["consumers"] == 3
        and plan["splits"] == 1
        and plan["stages"] == 8
        and plan["threshold"] == 16
    )


MEMORY_BOUND = {
    "softmax": programs.softmax(8192, 8192, "bf16"),
    "softmax_long": programs.softmax(4096, 32768, "bf16"),
    "softmax_short": programs.softmax(65536, 1024, "bf16"),
    "layernorm": programs.layernorm(8192, 8192, "bf16"),
    "rmsnorm": programs.rmsnorm(4096, 32768, "bf16"),
    "cross_entropy": programs.cross_entropy(4096, 32768, "bf16"),
    "variance": programs.variance(512, 32768),
    "variance_one_row": programs.variance(1, 32768),
    "inertia": programs.inertia(512, 32768),
    "inertia_one_row": programs.inertia(1, 32768),
    "decode": programs.attention(32, 64, 1, 4096, 128, "bf16"),
    "decode_one": programs.attention(1, 32, 1, 32768, 128, "bf16"),
}


@pytest.mark.parametrize("name", MEMORY_BOUND)
def test_memory_bound(name: str, tmp_path: Path) -> None:
    """One launch, loads of 16 bytes alone along the data, nothing spilled."""
    path = tmp_path / "program.mlir"
    path.write_text(MEMORY_BOUND[name])
    text = lower(read(path), Options(), stop_after="nvvm", target="cuda:sm_90a").ptx
    assert text.count(b".entry") == 1
    assert re.search(rb"ld\.global[.:\w]*\.v4\.b32\b|cp\.async\.cg\.shared\.global", text)
    # The label of a cross entropy picks an element.
    assert len(re.findall(rb"ld\.global[.:\w]*\.b16\b", text)) <= 1
    _, resources = cuda.images(text, "sm_90a")
    assert all(kernel.spills == 0 for kernel in resources)


# Threads and blocks of a multiprocessor at most (CUDA C++ Programming Guide, "Technical Specifications
# per Compute Capability").
RESIDENT = {"sm_80": (2048, 32), "sm_86": (1536, 16), "sm_89": (1536, 24), "sm_120": (1536, 24)}


@pytest.mark.parametrize("chip", RESIDENT)
def test_blocks_that_run_at_a_time(chip: str, tmp_path: Path) -> None:
    """No kernel asks for more of them than there can be: ptxas would not look at what it asks."""
    threads, blocks = RESIDENT[chip]
    found = []
    for name in ("softmax", "softmax_short", "layernorm", "rmsnorm", "variance"):
        path = tmp_path / f"{name}.mlir"
        path.write_text(MEMORY_BOUND[name])
        text = lower(read(path), Options(), stop_after="nvvm", target=f"cuda:{chip}").ptx
        found += re.findall(rb"\.maxntid (\d+)[^{]*\.minnctapersm (\d+)", text)
    assert found
    for width, least in found:
        assert int(least) <= blocks
        assert int(width) * int(least) <= threads


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_cubins(chip: str) -> None:
    """Where there is a ptxas it takes the PTX; without one the driver gets the PTX itself."""
    text = ptx("softmax", chip)
    assert f".target {chip}".encode() in text
    images, resources = cuda.images(text, chip)
    assert images[-1] == (chip, text)
    if cuda.assembler() is None:
        assert len(images) == 1
        return
    image = images[0][1]
    assert image[:4] == b"\x7fELF"
    assert [kernel.kernel for kernel in resources] == ["main_0"]
    assert 0 < resources[0].registers <= 255
    assert resources[0].spills == 0


def test_a_report_of_ptxas() -> None:
    text = (
        "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
        "ptxas info    : Function properties for k\n"
        "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 1 barriers, 512 bytes smem\n"
    )
    assert cuda.parse_resources(text) == [cuda.Resources("k", 40, 512, 20, 16)]


def test_ptxas_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDFUSE_PTXAS", "/no/such/ptxas")
    assert cuda.find_ptxas() == "/no/such/ptxas"
    with pytest.raises(redfuse.CompileError, match="/no/such/ptxas does not run"):
        cuda.images(b".version 8.0", "sm_90a")


def test_architectures() -> None:
    assert cuda.resolve("cuda:sm_80") == "cuda:sm_80"
    with pytest.raises(redfuse.TargetError, match="sm_90z"):
        cuda.resolve("cuda:sm_90z")
    assert "sm_90a" in redfuse.available_targets()["cuda"]


def test_unfused_is_for_the_cpu() -> None:
    with pytest.raises(redfuse.UnsupportedError, match="fuse=False"):
        redfuse.compile(
            CORPUS / "softmax.mlir", target="cuda:sm_90a", options={"fuse": False, "cache": False}
        )


def test_arguments_on_the_host() -> None:
    """A NumPy array is refused before anything is launched."""
    import numpy

    exe = redfuse.compile(CORPUS / "softmax.mlir", target="cuda:sm_90a", options={"cache": False})
    with pytest.raises(redfuse.ArgumentError, match="expected an array on a GPU"):
        exe(numpy.zeros((24, 1000), numpy.float32))


@pytest.mark.parametrize("length", [512, 32768])
def test_attention_operators_are_one_kernel(length: int) -> None:
    """Also where two kernels would have more blocks: the scores would fill the memory."""
    for case in cases.select([f"attention_operators/*_{length}"], "bf16"):
        lowered = lower(
            read(case.program()), Options(), stop_after="schedule", target="cuda:sm_90a"
        )
        assert len(lowered.explanation["kernels"]) == 1, case.name
        assert not lowered.explanation["refused"], case.name
