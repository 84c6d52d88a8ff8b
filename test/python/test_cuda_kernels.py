"""Kernels for a GPU, on machines without one: their PTX is run by the machine of ptx_machine.py, as
the host code launches it, and compared with the fp64 references."""

from __future__ import annotations

from pathlib import Path

import fake_driver


def test_kernels(tmp_path: Path) -> None:
    fake_driver.run_cases(fake_driver.build(tmp_path), "cases_kernels.py")
