"""The CUDA runtime without a GPU: a driver that runs nothing is built and found instead."""

from pathlib import Path

import pytest
from fake_driver import FAKE, build, run, run_cases, try_a_call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the driver is."""
    return build(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("name", ["cases.py", "cases_cuda.py"])
def test_cases(folder: Path, name: str) -> None:
    run_cases(folder, name)


@pytest.mark.parametrize(
    ("settings", "target", "message"),
    [
        ("", "cuda", "fine"),
        ("fail=cuInit:100", "cuda", "TargetError target 'cuda': starting the NVIDIA driver failed: "
         "no CUDA-capable device is detected; is there a GPU"),
        ("fail=cuInit:803", "cuda", "its kernel module do not match"),
        ("devices=0", "cuda", "TargetError target 'cuda': the driver sees no GPU"),
        ("chip=75", "cuda", "Fake 0 is sm_75, expected sm_80 or later"),
        ("chip=120", "cuda", "fine"),  # newer than any that is known: PTX of an older one
        ("chip=80", "cuda:sm_90a", "ExecutionError main: loading the program: the program is for "
         "sm_90a, GPU 0 is sm_80"),
    ],
)  # fmt: skip
def test_machines(folder: Path, settings: str, target: str, message: str) -> None:
    done = try_a_call(folder, target, FAKE_CUDA=settings)
    assert message in done.stdout, done.stdout + done.stderr


def test_an_old_driver(tmp_path: Path) -> None:
    """One that lacks a function that is needed."""
    source = (FAKE / "cuda.c").read_text().replace("cuThreadExchangeStreamCaptureMode", "cuOther")
    (tmp_path / "cuda.c").write_text(source)
    done = run(
        build(tmp_path, tmp_path / "cuda.c"),
        "-c",
        "import redfuse\nprint(redfuse.available_targets()['cuda'])",
    )
    assert "the NVIDIA driver is too old: it has no cuThreadExchange" in done.stdout, done.stderr


def test_no_driver() -> None:
    done = try_a_call(Path("/nonexistent"), "cuda")
    assert "no NVIDIA driver on this machine (libcuda.so.1 was not found)" in done.stdout
    assert "as cuda:sm_120 (sm_80, " in done.stdout
