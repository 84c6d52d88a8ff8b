"""Products by matrix instructions of a warp, without a GPU: their PTX is run by the machine of
ptx_machine.py and compared with the fp64 references."""

from __future__ import annotations

from pathlib import Path

import fake_driver


def test_matrices(tmp_path: Path) -> None:
    fake_driver.run_cases(fake_driver.build(tmp_path), "cases_matrices.py")
