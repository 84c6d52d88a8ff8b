"""The CUDA runtime without a GPU: what it does that HIP's does not, and drivers of other processes."""

from __future__ import annotations

from pathlib import Path

import pytest
import redfuse
from drivers import cuda
from drivers.processes import SOURCES, build, run, try_a_call
from redfuse import _ext
from redfuse.bench import programs
from test_gpu_runtime import OPTIONS, arrays, run_spacious

# Stages of its mainloop are in shared memory.
PRODUCT = """
func.func @main(%a: tensor<2048x2048xf32>, %b: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2048x2048xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %r = linalg.matmul ins(%a, %b : tensor<2048x2048xf32>, tensor<2048x2048xf32>)
      outs(%f : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %r : tensor<2048x2048xf32>
}
"""


def test_the_machine() -> None:
    devices = _ext.devices()
    assert devices[0] == {"name": "Fake 0", "chip": "sm_90", "units": 132}
    assert redfuse.compile(programs.softmax(4, 8, "f32"), target="cuda", options=OPTIONS)


def test_more_shared_memory_than_there_is() -> None:
    exe = redfuse.compile(PRODUCT, target="cuda:sm_90a", options=OPTIONS)
    cuda.fail("cuFuncSetAttribute", 1)
    try:
        with pytest.raises(
            redfuse.ExecutionError, match="needs .* bytes of shared memory a block, GPU 0 has"
        ):
            run_spacious(exe)
    finally:
        cuda.fail("cuFuncSetAttribute")
    run_spacious(exe)
    assert cuda.last_launch().shared > 48 << 10


@pytest.mark.parametrize(
    ("code", "message"),
    [(222, "older than the program's PTX"), (209, "not for this GPU"), (2, "out of memory")],
)
def test_programs_that_do_not_load(code: int, message: str) -> None:
    exe = redfuse.compile(programs.softmax(4, 256, "f32"), target="cuda", options=OPTIONS)
    x, y = arrays()
    cuda.fail("cuModuleLoadDataEx", code)
    with pytest.raises(redfuse.ExecutionError, match=f"{message}.*GPU 0 is sm_90.*CUDA 13.0"):
        exe(x, out=y)
    cuda.fail("cuModuleLoadDataEx")
    exe(x, out=y)


def test_several_architectures() -> None:
    """The machine code that suits is loaded, PTX where the driver takes no machine code."""
    exe = redfuse.compile(
        programs.softmax(4, 256, "f32"), target="cuda:sm_80,sm_90a,sm_100a", options=OPTIONS
    )
    x, y = arrays()
    exe(x, out=y)
    loads = cuda.calls("cuModuleLoadDataEx")
    other = redfuse.compile(programs.softmax(4, 256, "f32"), target="cuda:sm_100a", options=OPTIONS)
    with pytest.raises(redfuse.ExecutionError, match="for sm_100a, GPU 0 is sm_90"):
        other(x, out=y)
    assert cuda.calls("cuModuleLoadDataEx") == loads


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the driver is."""
    return build(tmp_path_factory.mktemp("driver"))


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("settings", "target", "message"),
    [
        ("", "cuda", "fine"),
        ("fail=cuInit:100", "cuda", "TargetError target 'cuda': starting the NVIDIA driver failed: "
         "no CUDA-capable device is detected; is there a GPU"),
        ("fail=cuInit:803", "cuda", "its kernel module do not match"),
        ("devices=0", "cuda", "TargetError target 'cuda': the driver sees no GPU"),
        ("chip=75", "cuda", "Fake 0 is sm_75, expected sm_80 or later"),
        ("chip=120", "cuda", "fine"),  # newer than any that is known: PTX of an older one
        ("chip=80", "cuda:sm_90a", "ExecutionError main: loading the program: the program is for "
         "sm_90a, GPU 0 is sm_80"),
    ],
)  # fmt: skip
def test_machines(folder: Path, settings: str, target: str, message: str) -> None:
    done = try_a_call(folder, target, FAKE_CUDA=settings)
    assert message in done.stdout, done.stdout + done.stderr


def test_an_old_driver(tmp_path: Path) -> None:
    """One that lacks a function that is needed."""
    source = (
        (SOURCES / "cuda.c").read_text().replace("cuThreadExchangeStreamCaptureMode", "cuOther")
    )
    (tmp_path / "cuda.c").write_text(source)
    done = run(
        build(tmp_path, tmp_path / "cuda.c"),
        "-c",
        "import redfuse\nprint(redfuse.available_targets()['cuda'])",
    )
    assert "the NVIDIA driver is too old: it has no cuThreadExchange" in done.stdout, done.stderr


def test_no_driver() -> None:
    done = try_a_call(Path("/nonexistent"), "cuda")
    assert "no NVIDIA driver on this machine (libcuda.so.1 was not found)" in done.stdout
    assert "as cuda:sm_120 (sm_80, " in done.stdout
