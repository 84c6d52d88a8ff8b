"""What the CUDA runtime does that HIP's does not, on a driver that runs nothing."""

from __future__ import annotations

import pytest
import redfuse
from arrays import calls, fail, last_launch
from cases import OPTIONS, arrays, run_spacious
from redfuse import _ext
from redfuse.bench import programs


def test_the_machine() -> None:
    devices = _ext.devices()
    assert devices[0] == {"name": "Fake 0", "chip": "sm_90", "units": 132}
    assert redfuse.compile(programs.softmax(4, 8, "f32"), target="cuda", options=OPTIONS)


def test_more_shared_memory_than_there_is() -> None:
    exe = redfuse.compile(
        programs.gemm_chain(64, 1024, 64, 64, "f32"), target="cuda:sm_90a",
        options={**OPTIONS, "schedule": "resident"},
    )  # fmt: skip
    fail("cuFuncSetAttribute", 1)
    try:
        with pytest.raises(
            redfuse.ExecutionError, match="needs .* bytes of shared memory a block, GPU 0 has"
        ):
            run_spacious(exe)
    finally:
        fail("cuFuncSetAttribute")
    run_spacious(exe)
    assert last_launch().shared > 48 << 10


@pytest.mark.parametrize(
    ("code", "message"),
    [(222, "older than the program's PTX"), (209, "not for this GPU"), (2, "out of memory")],
)
def test_programs_that_do_not_load(code: int, message: str) -> None:
    exe = redfuse.compile(programs.softmax(4, 256, "f32"), target="cuda", options=OPTIONS)
    x, y = arrays()
    fail("cuModuleLoadDataEx", code)
    with pytest.raises(redfuse.ExecutionError, match=f"{message}.*GPU 0 is sm_90.*CUDA 13.0"):
        exe(x, out=y)
    fail("cuModuleLoadDataEx")
    exe(x, out=y)


def test_several_architectures() -> None:
    """The machine code that suits is loaded, PTX where the driver takes no machine code."""
    exe = redfuse.compile(
        programs.softmax(4, 256, "f32"), target="cuda:sm_80,sm_90a,sm_100a", options=OPTIONS
    )
    x, y = arrays()
    exe(x, out=y)
    loads = calls("cuModuleLoadDataEx")
    other = redfuse.compile(programs.softmax(4, 256, "f32"), target="cuda:sm_100a", options=OPTIONS)
    with pytest.raises(redfuse.ExecutionError, match="for sm_100a, GPU 0 is sm_90"):
        other(x, out=y)
    assert calls("cuModuleLoadDataEx") == loads
