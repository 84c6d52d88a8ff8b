"""What HIP's runtime does that CUDA's does not, on one that runs nothing."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from arrays import Dlpack, calls, driver, fail
from cases import CORPUS, OPTIONS, aligned, arrays
from redfuse import _ext
from redfuse.bench import programs


@pytest.fixture(scope="module")
def softmax():
    return redfuse.compile(programs.softmax(4, 256, "f32"), target="rocm", options=OPTIONS)


def test_the_machine(softmax) -> None:
    devices = _ext.devices("rocm")
    assert devices[1] == {"name": "Fake 1", "chip": "gfx942", "units": 132}
    assert softmax.target == "rocm:gfx942"
    assert "Fake 0 (gfx942, 132 units)" in redfuse.available_targets()["rocm"]


def test_arrays_of_another_vendor(softmax) -> None:
    class Nvidia(Dlpack):
        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

    _, y = arrays()
    message = "expected an array on an AMD GPU, got one on an NVIDIA GPU; compile for target='cuda'"
    with pytest.raises(redfuse.ArgumentError, match=message):
        softmax(Nvidia(aligned((4, 256))), out=y)
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
    loads = calls("cuModuleLoadDataEx")
    with pytest.raises(redfuse.ExecutionError, match="for gfx90a, GPU 0 is gfx942"):
        other(x, out=y)
    assert calls("cuModuleLoadDataEx") == loads


@pytest.mark.parametrize(
    ("code", "message"), [(209, "compile for target='rocm' on this machine"), (2, "out of memory")]
)
def test_programs_that_do_not_load(code: int, message: str) -> None:
    exe = redfuse.compile(programs.softmax(4, 256, "f32"), target="rocm", options=OPTIONS)
    x, y = arrays()
    fail("cuModuleLoadDataEx", code)
    with pytest.raises(redfuse.ExecutionError, match=f"{message}.*GPU 0 is gfx942.*HIP 6.2"):
        exe(x, out=y)
    fail("cuModuleLoadDataEx")
    exe(x, out=y)


def test_bundles(softmax, tmp_path) -> None:
    softmax.save(tmp_path / "p.rfb")
    again = redfuse.load(tmp_path / "p.rfb")
    x, y = arrays()
    before = driver.fake_launches()
    again(x, out=y)
    assert driver.fake_launches() == before + 1
    exe = redfuse.compile(CORPUS / "softmax_argmax.mlir", target="rocm", options=OPTIONS)
    assert exe.variants[0].chip == "gfx942"
