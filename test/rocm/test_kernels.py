"""Kernels for AMD GPUs, on machines without one: their LLVM IR is run by the machine of
wave_machine.py, as the host code launches it, and compared with the fp64 references."""

from __future__ import annotations

from pathlib import Path

import fake_driver
import pytest
from redfuse import gputargets


@pytest.mark.parametrize("chip", gputargets.chips("rocm"))
def test_kernels(chip: str, tmp_path: Path) -> None:
    fake_driver.build(tmp_path, fake_driver.FAKE / "waves.c", "libwaves.so")
    fake_driver.run_cases(
        fake_driver.build(tmp_path, fake_driver.FAKE / "hip.c", "libamdhip64.so"),
        "cases_waves.py", FAKE_FAMILY="rocm", FAKE_HIP=f"arch={chip}",
        REDFUSE_WAVES=str(tmp_path / "libwaves.so"),
    )  # fmt: skip
