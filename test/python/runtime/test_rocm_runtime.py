"""The runtime for AMD GPUs without one: what it does that CUDA's does not, and HIPs of other processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import redfuse
from drivers import Dlpack, aligned, hip, without_tools
from drivers.processes import SOURCES, build, run, try_a_call
from redfuse import _ext
from redfuse.bench import programs
from test_gpu_runtime import CORPUS, OPTIONS, arrays


@pytest.fixture(autouse=True, scope="module")
def machine() -> Iterator[None]:
    with without_tools():
        yield


@pytest.fixture(scope="module")
def softmax(machine):
    return redfuse.compile(programs.softmax(4, 256, "f32"), target="rocm", options=OPTIONS)


def test_the_machine(softmax) -> None:
    devices = _ext.devices("rocm")
    assert devices[1] == {"name": "Fake 1", "chip": "gfx942", "units": 132}
    assert softmax.target == "rocm:gfx942"
    assert "Fake 0 (gfx942, 132 units)" in redfuse.available_targets()["rocm"]


def test_arrays_of_another_vendor(softmax) -> None:
    _, y = arrays()
    message = "expected an array on an AMD GPU, got one on an NVIDIA GPU; compile for target='cuda'"
    with pytest.raises(redfuse.ArgumentError, match=message):
        softmax(Dlpack(aligned((4, 256)), kind=2), out=y)
    with pytest.raises(redfuse.ArgumentError, match="got numpy.ndarray"):
        softmax(np.zeros((4, 256), np.float32), out=y)


def test_several_architectures() -> None:
    """The code object of the GPU is loaded; it suits no other."""
    exe = redfuse.compile(
        programs.softmax(4, 256, "f32"), target="rocm:gfx90a,gfx942", options=OPTIONS
    )
    x, y = arrays()
    exe(x, out=y)
    other = redfuse.compile(programs.softmax(4, 256, "f32"), target="rocm:gfx90a", options=OPTIONS)
    loads = hip.calls("cuModuleLoadDataEx")
    with pytest.raises(redfuse.ExecutionError, match="for gfx90a, GPU 0 is gfx942"):
        other(x, out=y)
    assert hip.calls("cuModuleLoadDataEx") == loads


@pytest.mark.parametrize(
    ("code", "message"), [(209, "compile for target='rocm' on this machine"), (2, "out of memory")]
)
def test_programs_that_do_not_load(code: int, message: str) -> None:
    exe = redfuse.compile(programs.softmax(4, 256, "f32"), target="rocm", options=OPTIONS)
    x, y = arrays()
    hip.fail("cuModuleLoadDataEx", code)
    with pytest.raises(redfuse.ExecutionError, match=f"{message}.*GPU 0 is gfx942.*HIP 6.2"):
        exe(x, out=y)
    hip.fail("cuModuleLoadDataEx")
    exe(x, out=y)


def test_bundles(softmax, tmp_path) -> None:
    softmax.save(tmp_path / "p.rfb")
    again = redfuse.load(tmp_path / "p.rfb")
    x, y = arrays()
    before = hip.fake_launches()
    again(x, out=y)
    assert hip.fake_launches() == before + 1
    exe = redfuse.compile(CORPUS / "softmax_argmax.mlir", target="rocm", options=OPTIONS)
    assert exe.variants[0].chip == "gfx942"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runtime is."""
    return build(tmp_path_factory.mktemp("hip"), "hip.c", "libamdhip64.so")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("settings", "target", "message"),
    [
        ("", "rocm", "fine"),
        ("arch=gfx90a", "rocm", "fine"),
        ("arch=gfx906", "rocm", "Fake 0 is gfx906, expected gfx90a or gfx942 or gfx1100"),
        ("fail=hipInit:100", "rocm", "TargetError target 'rocm': starting the AMD GPU runtime "
         "failed: no CUDA-capable device is detected; is there a GPU, does HIP_VISIBLE_DEVICES"),
        ("devices=0", "rocm", "TargetError target 'rocm': the AMD GPU runtime sees no GPU"),
        ("arch=gfx90a", "rocm:gfx942", "ExecutionError main: loading the program: the program is "
         "for gfx942, GPU 0 is gfx90a; compile for target='rocm' on this machine"),
        ("arch=gfx90a fail=hipGetDevicePropertiesR0600:1", "rocm:gfx942", "ExecutionError main: "
         "asking for the GPU's architecture failed"),
    ],
)  # fmt: skip
def test_machines(folder: Path, settings: str, target: str, message: str) -> None:
    done = try_a_call(folder, target, FAKE_HIP=settings, FAKE_FAMILY="rocm")
    assert message in done.stdout, done.stdout + done.stderr


def test_an_old_runtime(tmp_path: Path) -> None:
    """One that lacks a function that is needed."""
    source = (
        (SOURCES / "hip.c").read_text().replace("hipThreadExchangeStreamCaptureMode", "hipOther")
    )
    (tmp_path / "hip.c").write_text(source)
    (tmp_path / "cuda.c").write_text((SOURCES / "cuda.c").read_text())
    done = run(
        build(tmp_path, tmp_path / "hip.c", "libamdhip64.so"),
        "-c",
        "import redfuse\nprint(redfuse.available_targets()['rocm'])",
    )
    assert "the AMD GPU runtime is too old: it has no hipThreadExchange" in done.stdout, done.stderr


def test_no_runtime() -> None:
    done = try_a_call(Path("/nonexistent"), "rocm")
    assert "no AMD GPU runtime on this machine (libamdhip64.so was not found)" in done.stdout
    assert "name its architecture, as rocm:gfx1100" in done.stdout
