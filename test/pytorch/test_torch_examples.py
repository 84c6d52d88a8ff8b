"""The examples for PyTorch are scripts that run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/pytorch/*.py")), ids=lambda p: p.name)
def test_the_script_runs(path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ranks = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command = [sys.executable, *(ranks if "torchrun" in path.read_text() else []), path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
