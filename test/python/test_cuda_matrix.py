"""Kernels on the matrix units of sm_90a, on machines without any: their PTX is run by the machine of
matrix_machine.py, as the host code launches it, and compared with fp64."""

from __future__ import annotations

from pathlib import Path

import fake_driver


def test_kernels(tmp_path: Path) -> None:
    fake_driver.run_cases(fake_driver.build(tmp_path), "cases_matrix.py")


def test_plans(tmp_path: Path) -> None:
    fake_driver.run_cases(fake_driver.build(tmp_path), "cases_plans.py")
