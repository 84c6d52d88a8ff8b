"""tools/dev: the checks find what they are for, and a second run starts fast."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processor import slowness

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from devlib import checks, chips  # noqa: E402
from devlib.shell import DevError  # noqa: E402


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    # The environment that runs these tests is the one to use.
    env = {**os.environ, "REDFUSE_VENV": os.environ.get("VIRTUAL_ENV", sys.prefix)}
    command = [sys.executable, str(ROOT / "tools" / "dev"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("see /" + "home/someone/file", True),
        ("prefix=/" + "root/x", True),
        ("https://example.org/home/page", False),
        ("$HOME/work/x and ./work/y", False),
    ],
)
def test_paths_of_one_machine_are_found(line: str, found: bool) -> None:
    assert bool(checks.MACHINE_PATH.search(line)) == found


def test_tests_of_one_name_are_found() -> None:
    files = [Path("test/a/test_x.py"), Path("test/b/test_x.py"), Path("test/b/test_y.py")]
    assert checks.same_names(files) == ["test/b/test_x.py:1: has the name of test/a/test_x.py"]


@pytest.mark.parametrize("word", ["TO" + "DO: later", "// FIX" + "ME", "pytest.sk" + "ip('x')"])
def test_left_overs_are_found(word: str) -> None:
    assert checks.LEFT_OVER.search(word)
    assert not checks.LEFT_OVER.search("a todo list, skipped")


@pytest.mark.parametrize(
    ("code", "is_python", "named"),
    [
        ('if (chip == "sm_90a")', False, ["sm_90a"]),
        ("class Sm80;", False, ["Sm80"]),
        ("auto x = 1; // as on sm_90a", False, []),
        ('desc("the architecture, as sm_90a")', False, []),
        ('CHIPS = {0x4C: "gfx942"}', True, ["gfx942"]),
        ("target = 'cuda:sm_80,sm_90a'", True, ["sm_80", "sm_90a"]),
        ('def f():\n    """As cuda:sm_90a."""', True, []),
    ],
)
def test_code_that_names_an_architecture_is_found(
    code: str, is_python: bool, named: list[str]
) -> None:
    assert [name for _, name in chips.found_in(code, is_python)] == named


def test_ci_goes_on_after_a_job_that_cannot_run(capfd: pytest.CaptureFixture[str]) -> None:
    done = []

    def install() -> int:
        raise DevError("no network")

    def test() -> int:
        done.append("test")
        return 0

    assert checks.ci({"rocm": install, "lit": test}) == 1
    assert done == ["test"]
    said = capfd.readouterr()
    assert "no network" in said.err
    assert "FAILED" in said.out + said.err


def test_a_second_run_starts_within_two_seconds() -> None:
    first = dev("build")
    assert first.returncode == 0, first.stderr
    start = time.perf_counter()
    second = dev("build")
    seconds = time.perf_counter() - start
    assert second.returncode == 0, second.stderr
    assert second.stderr == ""
    assert seconds < 2.0 * slowness()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["run"], "which program? Try: tools/dev run examples/attention.mlir"),
        (["test", "-k", "x"], "tools/dev test pytest -k"),
    ],
)
def test_wrong_use_is_told(arguments: list[str], message: str) -> None:
    done = dev(*arguments)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
