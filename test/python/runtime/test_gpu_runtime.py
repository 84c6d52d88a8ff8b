"""The runtime for GPUs on a driver that runs nothing, CUDA's or HIP's."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import redfuse
from drivers import FakeDriver, Interface, aligned, cuda, hip, without_tools
from redfuse.bench import programs

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"
OPTIONS = {"cache": False}
NORMS_OF_ROWS_THEN_OF_COLUMNS = """
func.func @main(%x: tensor<200x300xf32>) -> tensor<300xf32> {
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<200xf32>
  %r0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<200xf32>) -> tensor<200xf32>
  %sums = linalg.reduce { arith.addf } ins(%x : tensor<200x300xf32>)
      outs(%r0 : tensor<200xf32>) dimensions = [1]
  %empty = tensor.empty() : tensor<200x300xf32>
  %each = linalg.broadcast ins(%sums : tensor<200xf32>)
      outs(%empty : tensor<200x300xf32>) dimensions = [1]
  %parts = linalg.div ins(%x, %each : tensor<200x300xf32>, tensor<200x300xf32>)
      outs(%empty : tensor<200x300xf32>) -> tensor<200x300xf32>
  %columns = tensor.empty() : tensor<300xf32>
  %c0 = linalg.fill ins(%zero : f32) outs(%columns : tensor<300xf32>) -> tensor<300xf32>
  %r = linalg.reduce { arith.maximumf } ins(%parts : tensor<200x300xf32>)
      outs(%c0 : tensor<300xf32>) dimensions = [0]
  return %r : tensor<300xf32>
}
"""


@pytest.fixture(scope="module", params=[cuda, hip], ids=["cuda", "rocm"])
def driver(request: pytest.FixtureRequest) -> Iterator[FakeDriver]:
    with without_tools():
        yield request.param


@pytest.fixture(scope="module")
def softmax(driver: FakeDriver) -> redfuse.Executable:
    return redfuse.compile(programs.softmax(4, 256, "f32"), target=driver.target, options=OPTIONS)


@pytest.fixture(scope="module")
def spacious(driver: FakeDriver) -> redfuse.Executable:
    """A program with intermediates in device memory: rows whole before columns."""
    return redfuse.compile(NORMS_OF_ROWS_THEN_OF_COLUMNS, target=driver.target, options=OPTIONS)


def arrays():
    return Interface(aligned((4, 256))), Interface(aligned((4, 256)))


@pytest.mark.parametrize("protocol", ["__cuda_array_interface__", "__dlpack__"])
def test_protocols(softmax, driver, protocol: str) -> None:
    kind = driver.dlpack if protocol == "__dlpack__" else Interface
    x, y = kind(aligned((4, 256))), kind(aligned((4, 256)))
    before = driver.fake_launches()
    assert softmax(x, out=y) is y
    assert driver.fake_launches() == before + 1
    assert driver.last_launch().stream == 0
    assert softmax(x, out=[y], stream=77) is y
    assert driver.last_launch().stream == 77
    if kind is not Interface:
        # 1 names CUDA's default stream, 0 AMD's.
        assert x.streams == [int(driver is cuda), 77]


def test_streams_of_objects(driver, softmax) -> None:
    x, y = arrays()
    for name in ("cuda_stream", "ptr"):
        stream = type("Stream", (), {name: 123})()
        softmax(x, out=y, stream=stream)
        assert driver.last_launch().stream == 123
    softmax(x, out=y, stream=type("S", (), {"__cuda_stream__": lambda self: (0, 55)})())
    assert driver.last_launch().stream == 55
    with pytest.raises(redfuse.ArgumentError, match="stream: expected a number"):
        softmax(x, out=y, stream="fast")


def test_a_producer_on_another_stream(driver, softmax) -> None:
    """Its work comes first, and nothing waits on the host."""
    x, y = Interface(aligned((4, 256)), stream=9), Interface(aligned((4, 256)), stream=1)
    waits, synchronized = driver.calls("cuStreamWaitEvent"), driver.calls("cuStreamSynchronize")
    softmax(x, out=y)
    assert driver.calls("cuStreamWaitEvent") == waits + 1
    softmax(x, out=y, stream=9)
    assert driver.calls("cuStreamWaitEvent") == waits + 2  # out is of the default stream
    assert driver.calls("cuStreamSynchronize") == synchronized


def test_arguments_that_do_not_fit(softmax) -> None:
    x, y = arrays()
    for bad, message in [
        (Interface(aligned((4, 256), np.float64)), "expected dtype float32, got float64"),
        (Interface(aligned((4, 256), np.int32)), "got int32"),
        (Interface(aligned((256, 4)).T), "got strides"),
        (Interface(aligned((4, 255))), "got 4x255"),
        (Interface(aligned((4, 256), offset=4)), "starts at a multiple of 16 bytes; pass a copy"),
        (3.5, "got float"),
        (type("Broken", (), {"__cuda_array_interface__": {}})(), "does not hand out its memory"),
    ]:
        with pytest.raises(redfuse.ArgumentError, match=message):
            softmax(bad, out=y)
    with pytest.raises(redfuse.ArgumentError, match="out 0 of main: expected a writable array"):
        softmax(x, out=Interface(aligned((4, 256)), read_only=True))
    with pytest.raises(redfuse.ArgumentError, match="takes 1 arguments"):
        softmax(x, x, out=y)
    with pytest.raises(redfuse.ArgumentError, match="expected 1 arrays, got 2"):
        softmax(x, out=(y, y))


def test_two_gpus(driver, softmax) -> None:
    """Each gets the program, launches go to the arrays' own, the caller's context stays."""
    x, y = driver.dlpack(aligned((4, 256)), 1), driver.dlpack(aligned((4, 256)), 1)
    softmax(*arrays()[:1], out=arrays()[1])
    loads = driver.calls("cuModuleLoadDataEx")
    mine = driver.fake_current()
    softmax(x, out=y)
    assert driver.calls("cuModuleLoadDataEx") == loads + 1
    assert driver.last_launch().context == 0x1001
    assert driver.fake_current() == mine
    softmax(x, out=y)
    assert driver.calls("cuModuleLoadDataEx") == loads + 1
    with pytest.raises(
        redfuse.ArgumentError, match="out 0 of main: expected an array on GPU 1 .* got one on GPU 0"
    ):
        softmax(x, out=driver.dlpack(aligned((4, 256)), 0))
    with pytest.raises(redfuse.ExecutionError, match="no GPU 7"):
        softmax(driver.dlpack(aligned((4, 256)), 7), out=driver.dlpack(aligned((4, 256)), 7))


def run_spacious(exe, **words) -> None:
    args = [Interface(aligned(spec.shape)) for spec in exe.signature.inputs]
    out = [Interface(aligned(spec.shape)) for spec in exe.signature.outputs]
    exe(*args, out=out, **words)


def use(stream: int, captured: bool = False) -> int:
    return sum(
        u["bytes"] for u in redfuse.workspace()
        if u["stream"] == stream and u["captured"] == captured
    )  # fmt: skip


def test_intermediates_are_kept_by_stream(driver, spacious) -> None:
    run_spacious(spacious, stream=1000)
    first = use(1000)
    assert first > 0
    allocations = driver.calls("cuMemAlloc_v2")
    for _ in range(3):
        run_spacious(spacious, stream=1000)
    assert driver.calls("cuMemAlloc_v2") == allocations
    run_spacious(spacious, stream=2000)
    assert use(2000) == first == use(1000)
    redfuse.trim_workspace()
    assert use(1000) == use(2000) == 0


def test_graphs(driver, spacious) -> None:
    """Nothing is allocated in a capture after a call; what a graph uses is its own."""
    run_spacious(spacious, stream=3000)
    allocations = driver.calls("cuMemAlloc_v2")
    driver.fake_capture(3000, 5)
    run_spacious(spacious, stream=3000)
    driver.fake_capture(0, 0)
    assert driver.calls("cuMemAlloc_v2") == allocations
    assert use(3000, captured=True) > 0
    run_spacious(spacious, stream=3000)
    assert driver.calls("cuMemAlloc_v2") > allocations  # the graph has the old ones
    # A capture without a call before: allocated beside the capture, not in it.
    driver.fake_capture(4000, 6)
    run_spacious(spacious, stream=4000)
    driver.fake_capture(0, 0)
    before = use(4000, captured=True)
    assert before > 0
    redfuse.trim_workspace()
    assert use(4000, captured=True) == before


def test_the_first_call_in_a_capture(driver) -> None:
    exe = redfuse.compile(programs.softmax(4, 256, "f32"), target=driver.target, options=OPTIONS)
    x, y = arrays()
    driver.fake_capture(5000, 7)
    try:
        exe(x, out=y, stream=5000)
    finally:
        driver.fake_capture(0, 0)


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("cuMemAlloc_v2", 2, "out of memory; free device memory"),
        ("cuLaunchKernel", 701, "more registers or shared memory"),
        ("cuLaunchKernel", 700, "context is lost"),
        ("cuLaunchKernel", 9999, "error 9999 \\((main|host)_"),
    ],
)
def test_errors_of_a_call(driver, spacious, name: str, code: int, message: str) -> None:
    redfuse.trim_workspace()
    held = driver.fake_bytes()
    driver.fail(name, code)
    try:
        with pytest.raises(redfuse.ExecutionError, match=message):
            run_spacious(spacious, stream=6000)
    finally:
        driver.fail(name)
    run_spacious(spacious, stream=6000)
    redfuse.trim_workspace()
    assert driver.fake_bytes() == held


def test_memory_of_other_streams_is_given_back(driver, spacious) -> None:
    run_spacious(spacious, stream=7000)
    driver.fail("cuMemAlloc_v2", 2, 0)
    frees = driver.calls("cuMemFree_v2")
    with pytest.raises(redfuse.ExecutionError, match="bytes for intermediates on GPU 0"):
        run_spacious(spacious, stream=8000)
    driver.fail("cuMemAlloc_v2")
    assert driver.calls("cuMemFree_v2") > frees
    assert use(7000) == 0


def test_threads(driver, softmax, spacious) -> None:
    """Calls of several threads, on streams of their own and on one."""
    errors = []

    def work(number: int) -> None:
        try:
            for _ in range(20):
                x, y = arrays()
                softmax(x, out=y, stream=100 + number % 2)
                run_spacious(spacious, stream=9000 + number % 2)
        except Exception as error:
            errors.append(error)

    before = driver.fake_launches()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert driver.fake_launches() >= min(4096, before + 6 * 20 * 2)


def test_host_values_and_dynamic_dims(driver) -> None:
    exe = redfuse.compile(CORPUS / "attention_dynamic.mlir", target=driver.target, options=OPTIONS)
    shapes = [tuple(n or 33 for n in spec.shape) for spec in exe.signature.inputs]
    args = [Interface(aligned(shape)) for shape in shapes]
    out = [Interface(aligned(tuple(n or 33 for n in s.shape))) for s in exe.signature.outputs]
    exe(*args, out=out)
    with pytest.raises(redfuse.ArgumentError, match="out 0 of main: expected shape"):
        exe(*args, out=[Interface(aligned((1, 2, 3, 4)))])


def test_a_stream_for_the_cpu() -> None:
    exe = redfuse.compile(programs.softmax(4, 8, "f32"), options=OPTIONS)
    with pytest.raises(redfuse.ArgumentError, match="the program is for the cpu"):
        exe(aligned((4, 8)), stream=3)


def test_reports_of_kernels(driver) -> None:
    """Their word is the host's; what is in it is the number of a message."""
    report = driver.fake_global(b"redfuse_report", bytes(8), 8)
    driver.fake_global(b"redfuse_messages", b"too large\0too small\0", 20)
    exe = redfuse.compile(programs.softmax(4, 256, "f32"), target=driver.target, options=OPTIONS)
    x, y = arrays()
    exe(x, out=y)
    driver.fake_no_globals()
    word = ctypes.c_int.from_address(ctypes.c_uint64.from_address(report).value)
    assert word.value == 0
    exe.check()
    for number, message in ((1, "too large"), (2, "too small"), (3, "assertion 3")):
        word.value = number
        driver.fake_global(b"redfuse_messages", b"too large\0too small\0", 20)
        before = driver.fake_launches()
        with pytest.raises(redfuse.ExecutionError, match=f"main: {message} \\(in a kernel of an"):
            exe(x, out=y)
        assert driver.fake_launches() == before
        exe(x, out=y)
        word.value = number
        with pytest.raises(redfuse.ExecutionError, match=f"main: {message}"):
            exe.check()
        driver.fake_no_globals()
