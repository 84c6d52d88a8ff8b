"""The runtime for AMD GPUs without one: a HIP that runs nothing is built and found instead."""

from pathlib import Path

import pytest
from fake_driver import FAKE, build, run, run_cases, try_a_call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runtime is."""
    return build(tmp_path_factory.mktemp("hip"), FAKE / "hip.c", "libamdhip64.so")


@pytest.mark.parametrize("name", ["cases.py", "cases_hip.py"])
def test_cases(folder: Path, name: str) -> None:
    run_cases(folder, name, FAKE_FAMILY="rocm", FAKE_HIP="devices=2")


@pytest.mark.parametrize(
    ("settings", "target", "message"),
    [
        ("", "rocm", "fine"),
        ("arch=gfx90a", "rocm", "fine"),
        ("arch=gfx906", "rocm", "Fake 0 is gfx906, expected gfx90a or gfx942 or gfx1100"),
        ("fail=hipInit:100", "rocm", "TargetError target 'rocm': starting the AMD GPU runtime "
         "failed: no CUDA-capable device is detected; is there a GPU, does HIP_VISIBLE_DEVICES"),
        ("devices=0", "rocm", "TargetError target 'rocm': the AMD GPU runtime sees no GPU"),
        ("arch=gfx90a", "rocm:gfx942", "ExecutionError main: loading the program: the program is "
         "for gfx942, GPU 0 is gfx90a; compile for target='rocm' on this machine"),
        ("arch=gfx90a fail=hipGetDevicePropertiesR0600:1", "rocm:gfx942", "ExecutionError main: "
         "asking for the GPU's architecture failed"),
    ],
)  # fmt: skip
def test_machines(folder: Path, settings: str, target: str, message: str) -> None:
    done = try_a_call(folder, target, FAKE_HIP=settings, FAKE_FAMILY="rocm")
    assert message in done.stdout, done.stdout + done.stderr


def test_an_old_runtime(tmp_path: Path) -> None:
    """One that lacks a function that is needed."""
    source = (FAKE / "hip.c").read_text().replace("hipThreadExchangeStreamCaptureMode", "hipOther")
    (tmp_path / "hip.c").write_text(source)
    (tmp_path / "cuda.c").write_text((FAKE / "cuda.c").read_text())
    done = run(
        build(tmp_path, tmp_path / "hip.c", "libamdhip64.so"),
        "-c",
        "import redfuse\nprint(redfuse.available_targets()['rocm'])",
    )
    assert "the AMD GPU runtime is too old: it has no hipThreadExchange" in done.stdout, done.stderr


def test_no_runtime() -> None:
    done = try_a_call(Path("/nonexistent"), "rocm")
    assert "no AMD GPU runtime on this machine (libamdhip64.so was not found)" in done.stdout
    assert "rocm:gfx942" in done.stdout
