"""Kernels of warps that copy and multiply, on machines without a GPU: their PTX is run by the machine
of matrix_machine.py, as the host code launches it, and compared with fp64."""

from __future__ import annotations

from pathlib import Path

import fake_driver


def test_kernels(tmp_path: Path) -> None:
    fake_driver.run_cases(fake_driver.build(tmp_path), "cases_warps.py")
