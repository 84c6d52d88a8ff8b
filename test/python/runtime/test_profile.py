"""Profiled calls, on a driver whose clock goes on by a microsecond for each block that is launched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redfuse
from drivers import FakeDriver, Interface, aligned, cuda, hip, without_tools
from drivers.processes import SOURCES, build, run
from redfuse import profiling
from redfuse.bench import programs
from redfuse.explain.launches import Launch, of_names
from redfuse.profiling import KernelTime, Profile
from test_gpu_runtime import NORMS_OF_ROWS_THEN_OF_COLUMNS, OPTIONS, arrays, run_spacious

COPY = """
func.func @main(%x: tensor<64x50xf32>) -> tensor<64x10xf32> {
  %t = tensor.extract_slice %x[0, 0] [64, 10] [1, 1] : tensor<64x50xf32> to tensor<64x10xf32>
  return %t : tensor<64x10xf32>
}
"""


@pytest.fixture(scope="module", params=[cuda, hip], ids=["cuda", "rocm"])
def driver(request: pytest.FixtureRequest) -> Iterator[FakeDriver]:
    with without_tools():
        yield request.param


@pytest.fixture(scope="module")
def norms(driver: FakeDriver) -> redfuse.Executable:
    return redfuse.compile(NORMS_OF_ROWS_THEN_OF_COLUMNS, target=driver.target, options=OPTIONS)


@pytest.fixture(autouse=True)
def no_gpu_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed PyTorch need not ask a driver that runs nothing."""
    monkeypatch.setattr(profiling, "_tensor", lambda value: None)


def profile(exe: redfuse.Executable, **words: Any) -> Profile:
    args = [Interface(aligned(spec.shape)) for spec in exe.signature.inputs]
    out = [Interface(aligned(spec.shape)) for spec in exe.signature.outputs]
    return exe.profile(*args, out=out, **words)


def launched(driver: FakeDriver, first: int) -> list[Any]:
    return [driver.fake_launch(i).contents for i in range(first, driver.fake_launches())]


def test_kernels_in_order(driver: FakeDriver, norms: redfuse.Executable) -> None:
    before = driver.fake_launches()
    made, gone = driver.calls("cuEventCreate"), driver.calls("cuEventDestroy_v2")
    found = profile(norms, repeats=3, stream=77)
    last = launched(driver, before)
    kernels = found.kernels
    count = len(kernels)
    assert count >= 2 and len(last) == 4 * count  # with the warm-up
    assert [kernel.kernel for kernel in kernels] == [one.kernel.decode() for one in last[:count]]
    assert {one.stream for one in last} == {77}
    assert [k.median_us for k in kernels] == [k.least_us for k in kernels]
    assert [k.median_us for k in kernels] == [one.blocks for one in last[:count]]
    assert driver.calls("cuEventCreate") - made == 2 * len(last)
    assert driver.calls("cuEventDestroy_v2") - gone == 2 * len(last)
    assert (found.repeats, found.cold, found.target) == (3, False, driver.target)
    assert found.total_us == sum(one.blocks for one in last[:count])
    assert sum(kernel.share for kernel in kernels) == pytest.approx(1)


def test_what_kernels_move(norms: redfuse.Executable) -> None:
    kernels = profile(norms, repeats=1).kernels
    first, last = kernels[0], kernels[-1]
    # The rows, or the rows beside their sums; one float for each column at last.
    assert first.reads == 200 * 300 * 4
    assert last.reads in (first.reads, first.reads + 200 * 4)
    assert last.writes == 300 * 4
    assert last.tb_s == (last.reads + last.writes) / (last.median_us * 1e6)
    if norms.target.startswith("cuda"):
        assert all(kernel.predicted_us and kernel.predicted_us > 1 for kernel in kernels)
    places = {kernel["source"] for kernel in norms.explain(json=True)["kernels"]}
    assert {kernel.source for kernel in kernels} <= places


def test_ordinary_calls_record_nothing(driver: FakeDriver, norms: redfuse.Executable) -> None:
    run_spacious(norms)
    made, waits = driver.calls("cuEventCreate"), driver.calls("cuStreamSynchronize")
    run_spacious(norms)
    assert driver.calls("cuEventCreate") == made
    assert driver.calls("cuStreamSynchronize") == waits


@pytest.mark.parametrize("cluster", [1, 2])
def test_no_kernel_starts_early(cluster: int) -> None:
    cuda.fake_cluster(cluster)
    try:
        exe = redfuse.compile(
            programs.softmax(4, 256, "f32"), target="cuda:sm_90a", options=OPTIONS
        )
        assert "griddepcontrol.wait" in exe.asm
        x, y = arrays()
        before = cuda.fake_overlapping()
        exe(x, out=y)
        assert cuda.fake_overlapping() == before + 1
        exe.profile(x, out=y, repeats=2)
        assert cuda.fake_overlapping() == before + 1
    finally:
        cuda.fake_cluster(0)


def test_a_stream_that_is_captured(driver: FakeDriver, norms: redfuse.Executable) -> None:
    profile(norms, repeats=1, stream=3000)
    driver.fake_capture(3000, 5)
    try:
        with pytest.raises(redfuse.ExecutionError, match="profile a call outside of the graph"):
            profile(norms, stream=3000)
    finally:
        driver.fake_capture(0, 0)


def test_errors_of_events(driver: FakeDriver, norms: redfuse.Executable) -> None:
    made, gone = driver.calls("cuEventCreate"), driver.calls("cuEventDestroy_v2")
    driver.fail("cuEventElapsedTime", 700)
    try:
        with pytest.raises(redfuse.ExecutionError, match="timing a kernel failed.*context is lost"):
            profile(norms)
    finally:
        driver.fail("cuEventElapsedTime")
    assert driver.calls("cuEventCreate") - made == driver.calls("cuEventDestroy_v2") - gone


def test_arguments(norms: redfuse.Executable) -> None:
    for bad in (0, float("nan")):
        with pytest.raises(redfuse.ArgumentError, match="repeats: expected a number of 1 or more"):
            profile(norms, repeats=bad)
    with pytest.raises(redfuse.ArgumentError, match="repeats: expected a whole number"):
        profile(norms, repeats=1.5)
    with pytest.raises(redfuse.ArgumentError, match="rows: this program has no keywords"):
        norms.profile(rows=Interface(aligned((200, 300))))
    with pytest.raises(redfuse.ArgumentError, match="takes 1 arguments"):
        norms.profile()


def test_a_program_for_the_cpu() -> None:
    exe = redfuse.compile(programs.softmax(4, 8, "f32"), options=OPTIONS)
    with pytest.raises(redfuse.UnsupportedError, match="this program is for the cpu; compile it"):
        exe.profile(aligned((4, 8)))


def test_what_is_no_kernel_of_a_cascade() -> None:
    (copy,) = profile(redfuse.compile(COPY, target="cuda:sm_90a", options=OPTIONS)).kernels
    assert (copy.reads, copy.writes, copy.tb_s) == (None, None, None)


def test_an_old_driver(tmp_path: Path) -> None:
    source = (SOURCES / "cuda.c").read_text().replace("cuEventElapsedTime", "cuOther")
    (tmp_path / "cuda.c").write_text(source)
    program = f"""
import redfuse
from drivers import Interface, aligned
exe = redfuse.compile({programs.softmax(4, 256, "f32")!r}, target="cuda:sm_90a",
                      options={{"cache": False}})
x, y = Interface(aligned((4, 256))), Interface(aligned((4, 256)))
exe(x, out=y)
try:
    exe.timed_call([x], [y], None)
except redfuse.ExecutionError as error:
    print(error)
"""
    done = run(build(tmp_path, tmp_path / "cuda.c"), "-c", program)
    wanted = "main: the NVIDIA driver cannot time kernels: it has no cuEventElapsedTime\n"
    assert done.stdout == wanted, done.stderr


def test_launches_by_name() -> None:
    one, other = Launch("a", "f:1:1", 8, 4), Launch("a", "f:2:1", 8, 4)
    more = Launch("b", "f:3:1", 2, 2)
    assert of_names([one, other, more], ["a", "a", "b"]) == [one, other, more]
    # In a loop, or not launched for want of elements.
    assert of_names([one, more], ["a", "b", "b", "c"]) == [one, more, more, Launch("c", "")]
    longer = Launch("a", "f:2:1", 16, 4)
    assert of_names([one, longer], ["a"]) == [Launch("a", "f:1:1")]


def test_the_table() -> None:
    kernels = (
        KernelTime(
            "main_0", "attention.mlir:21:10", 123.4, 120.0, 4_200_000, 33_600_000, 99.0, 0.75
        ),
        KernelTime("host_1", "", 41.1, 2.5, None, None, None, 0.25),
    )
    found = Profile("main", "cuda:sm_90a", 20, True, kernels)
    assert str(found) == (
        "main for cuda:sm_90a: 2 kernels, 164.5 us (median of 20 calls, arguments not in the L2 "
        "cache)\n"
        "\n"
        "kernel  source                median us  least us  predicted   reads   writes  TB/s  share\n"
        "main_0  attention.mlir:21:10      123.4     120.0       99.0  4.2 MB  33.6 MB  0.31   75 %\n"
        "host_1                             41.1       2.5          -       -        -     -   25 %"
    )
    held = json.loads(json.dumps(found.as_dict()))
    assert held["total_us"] == 164.5
    assert held["kernels"][0]["tb_s"] == pytest.approx(0.3063, abs=1e-4)
    assert held["kernels"][1]["reads"] is None
    empty = Profile("main", "cuda:sm_90a", 1, False, ())
    assert str(empty) == (
        "main for cuda:sm_90a: 0 kernels, 0.0 us (median of 1 call, arguments in the L2 cache "
        "where they fit)"
    )


def test_times_of_the_kernels_that_explain_names() -> None:
    """Splits and their merge are one kernel; equal code at two places is two."""
    launches = [("a_states", "f:1", 3.0), ("a_map", "f:1", 4.0), ("b", "f:2", 5.0), ("b", "f:3", 6.0),
                ("c_rounds", "f:4", 7.0), ("host_0", "", 8.0)]  # fmt: skip
    kernels = tuple(KernelTime(n, at, us, us, None, None, None, 0.1) for n, at, us in launches)
    named = [
        {"name": "a", "source": "f:1"}, {"name": "b", "source": "f:2"},
        {"name": "d", "source": "f:3", "code_of": "b"}, {"name": "c", "source": "f:4"},
    ]  # fmt: skip
    found = profiling.by_kernel(Profile("main", "cuda", 1, True, kernels), named)
    assert found == {"a": 7.0, "b": 5.0, "d": 6.0, "c": 7.0}
