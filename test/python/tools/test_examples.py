"""The examples are programs that redfuse-opt reads, and scripts that run."""

import subprocess
import sys
from pathlib import Path

import pytest
import redfuse

ROOT = Path(__file__).resolve().parents[3]
OPT = Path(redfuse.__file__).parent / "_bin" / "redfuse-opt"
EXAMPLES = sorted(ROOT.glob("examples/*.mlir"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_the_example_is_normalised_and_raised(path: Path) -> None:
    command = [OPT, path, "-redfuse-normalize", "-redfuse-raise"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "redfuse.cascade" in done.stdout
    assert "linalg.generic" not in done.stdout


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.py")), ids=lambda p: p.name)
def test_the_script_runs(path: Path) -> None:
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
