"""Torch tensors as arguments of programs for a GPU, without a GPU."""

from pathlib import Path

from fake_driver import build, run_cases


def test_cases(tmp_path: Path) -> None:
    run_cases(build(tmp_path), "cases_torch.py")
