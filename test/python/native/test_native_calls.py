"""Calls of loaded machine code: arguments, results, errors, memory and threads."""

from __future__ import annotations

import os
import threading
import time

import ml_dtypes
import numpy as np
import pytest
from native_programs import SHAPES, compile_text, elementwise
from processor import slowness
from redfuse import _ext, errors

DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.bool_,
    "index": np.int64,
}  # fmt: skip

# y = x of a matrix, in a launch of one block a row; s = the sum of x.
PARALLEL = """
func.func private @rows(%begin: index, %end: index, %x: memref<?x?xf32>, %y: memref<?x?xf32>)
    attributes {redfuse.kernel_body} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x?xf32>
      %ok = arith.cmpf ord, %v, %v : f32
      cf.assert %ok, "an element is not a number"
      memref.store %v, %y[%i, %j] : memref<?x?xf32>
    }
  }
  return
}
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  call @rows(%c0, %m, %x, %y) {redfuse.parallel}
    : (index, index, memref<?x?xf32>, memref<?x?xf32>) -> ()
  return
}
func.func @f__shapes(%x: memref<?x?xf32>, %o: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  memref.store %m, %o[%c0] : memref<?xindex>
  memref.store %n, %o[%c1] : memref<?xindex>
  return
}"""
MATRIX = [("f32", (None, None))]


@pytest.fixture(scope="module")
def copy_rows():
    return compile_text(PARALLEL).function("f", MATRIX, MATRIX)


@pytest.fixture(scope="module")
def copy_fixed():
    text = """
func.func @f(%x: memref<3x4xf32>, %y: memref<3x4xf32>) {
  memref.copy %x, %y : memref<3x4xf32> to memref<3x4xf32>
  return
}"""
    return compile_text(text).function("f", [("f32", (3, 4))], [("f32", (3, 4))])


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_type(dtype: str, lanes: int) -> None:
    x = (np.random.default_rng(5).standard_normal(1003) * 4).astype(DTYPES[dtype])
    add = "%e = arith.addf %v, %v : T" if dtype[0] in "fb" else "%e = arith.addi %v, %v : T"
    if dtype == "i1":
        add, want = "%e = arith.xori %v, %v : T", np.zeros_like(x)
    else:
        want = x + x
    got = elementwise(add, dtype, lanes=lanes)(x)
    assert got.dtype == x.dtype
    assert np.array_equal(got, want)


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_booleans_take_a_byte(lanes: int) -> None:
    x = random(1003)
    zero = "arith.constant dense<0.0> : T" if lanes > 1 else "arith.constant 0.0 : T"
    positive = elementwise(
        f"%z = {zero}\n%e = arith.cmpf ogt, %v, %z : T", "f32", "i1", lanes=lanes
    )(x)
    assert positive.dtype == np.bool_
    assert np.array_equal(positive, x > 0)
    assert np.array_equal(positive.view(np.int8), (x > 0).astype(np.int8))
    number = elementwise("%e = arith.uitofp %v : T to U", "i1", "f32", lanes=lanes)(positive)
    assert np.array_equal(number, positive.astype(np.float32))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (7, 13), (257, 129)])
def test_launches_over_odd_and_empty_shapes(copy_rows, shape: tuple[int, int]) -> None:
    x = random(*shape)
    (got,) = copy_rows((x,))
    assert got.shape == shape
    assert np.array_equal(got, x)


def test_results_are_written_into_out(copy_fixed) -> None:
    x, out = random(3, 4), np.zeros((3, 4), np.float32)
    (got,) = copy_fixed([x], [out])
    assert got is out
    assert np.array_equal(out, x)


def test_large_results_are_aligned_and_reuse_memory(copy_rows) -> None:
    x = random(1024, 1024)
    (first,) = copy_rows((x,))
    address = first.ctypes.data
    assert address % 64 == 0 and first.flags.writeable
    view = first[3]
    del first
    assert np.array_equal(view, x[3])  # a view keeps the memory
    (second,) = copy_rows((x,))
    assert second.ctypes.data != address
    del view, second
    _ext.trim_memory()
    assert np.array_equal(copy_rows((x,))[0], x)


BAD = [
    # arguments, out, index, text
    ((), None, None, r"f takes 1 arguments \(tensor<3x4xf32>\), got 0"),
    (
        (random(3, 4).astype(np.float64),),
        None,
        0,
        "argument 0 of f: expected dtype float32, got float64",
    ),
    ((random(3, 4).astype(">f4"),), None, 0, "not in native byte order"),
    ((random(4, 3),), None, 0, "expected shape 3x4, got 4x3"),
    ((random(3, 4, 1),), None, 0, "expected shape 3x4, got 3x4x1"),
    ((random(4, 3).T,), None, 0, r"contiguous row-major memory, got strides \(4, 12\)"),
    ((random(3, 8)[:, ::2],), None, 0, "contiguous row-major"),
    (("text",), None, 0, "expected an array .* got str"),
    ((3.0,), None, 0, "expected an array .* got float"),
    ((random(3, 4),), (), None, "out of f: expected 1 arrays, got 0"),
    ((random(3, 4),), (random(4, 4),), 0, "out 0 of f: expected shape 3x4, got 4x4"),
    ((random(3, 4),), (3,), 0, "out 0 of f: expected an array"),
    (7, None, None, "arguments: expected a list or tuple of arrays, got int"),
]


@pytest.mark.parametrize(("arguments", "out", "index", "text"), BAD)
def test_wrong_arguments(copy_fixed, arguments, out, index, text: str) -> None:
    with pytest.raises(errors.ArgumentError, match=text) as caught:
        copy_fixed(arguments, out)
    assert caught.value.index == index


def test_out_must_be_writable_and_apart(copy_fixed) -> None:
    x = random(3, 4)
    frozen = random(3, 4)
    frozen.flags.writeable = False
    with pytest.raises(errors.ArgumentError, match="read-only"):
        copy_fixed((x,), (frozen,))
    assert np.array_equal(copy_fixed((frozen,))[0], frozen)
    memory = random(5, 4)
    with pytest.raises(errors.ArgumentError, match="shares memory with argument 0"):
        copy_fixed((memory[:3],), (memory[2:],))


def test_empty_arrays_share_nothing(copy_rows) -> None:
    memory = random(5, 4)
    assert copy_rows((memory[2:2],), (memory[2:2],))[0].shape == (0, 4)


def test_unaligned_arguments_are_copied(copy_fixed) -> None:
    raw = np.zeros(3 * 4 * 4 + 1, np.uint8)
    x = raw[1:].view(np.float32).reshape(3, 4)
    x[:] = random(3, 4)
    assert not x.flags.aligned
    assert np.array_equal(copy_fixed((x,))[0], x)
    with pytest.raises(errors.ArgumentError, match="aligned"):
        copy_fixed((random(3, 4),), (x,))


def test_scalars() -> None:
    text = "func.func @f(%s: {0}, %y: memref<{0}>) {{ memref.store %s, %y[] : memref<{0}> return }}"
    for dtype, kind in DTYPES.items():
        function = compile_text(text.format(dtype)).function("f", [dtype], [(dtype, ())])
        value = 1.5 if dtype[0] in "fb" else 1
        for given in (value, kind(value), np.asarray(value, kind)):
            (got,) = function((given,))
            assert got.shape == () and got.dtype == kind and got == kind(value)
        if dtype[0] == "i":
            with pytest.raises(errors.ArgumentError):
                function((2.5,))
        if dtype in ("i8", "i32"):
            with pytest.raises(errors.ArgumentError, match=r"does not fit|expected"):
                function((2**40,))


class Exported:
    """An array that only speaks DLPack."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


def test_dlpack(copy_fixed) -> None:
    x = random(3, 4)
    assert np.array_equal(copy_fixed((Exported(x),))[0], x)
    with pytest.raises(errors.ArgumentError, match="expected an array on the cpu"):
        copy_fixed((Exported(x, (2, 0)),))


def test_failures_stop_the_program(copy_rows) -> None:
    x = random(97, 31)
    x[50, 7] = np.nan
    with pytest.raises(errors.ExecutionError, match=r"^f: an element is not a number$"):
        copy_rows((x,))
    x[50, 7] = 0
    assert np.array_equal(copy_rows((x,))[0], x)  # the failure was that call's


def test_no_memory_is_an_error_and_leaks_nothing() -> None:
    text = """
func.func @f(%n: index, %y: memref<f32>) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<1000xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  memref.store %v, %t[%c0] : memref<?xf32>
  memref.store %v, %y[] : memref<f32>
  memref.dealloc %t : memref<?xf32>
  memref.dealloc %a : memref<1000xf32>
  return
}"""
    function = compile_text(text).function("f", ["index"], [("f32", ())])
    _ext.reset_memory_peak()
    base = _ext.memory_peak()
    # What has no address, and what no machine has, though the system would map it.
    for count in (2**60, 2**43):
        with pytest.raises(
            errors.ExecutionError, match=f"out of memory: cannot allocate {4 * count} bytes"
        ):
            function((count,))
    _ext.reset_memory_peak()
    assert _ext.memory_peak() == base
    assert function((10,))[0] == 1


def test_memory_peak_counts_intermediates_alone(copy_rows) -> None:
    text = f"""
func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = memref.alloc(%n) {{alignment = 64 : i64}} : memref<?xf32>
  memref.copy %x, %t : memref<?xf32> to memref<?xf32>
  memref.copy %t, %y : memref<?xf32> to memref<?xf32>
  memref.dealloc %t : memref<?xf32>
  return
}}{SHAPES.format(src="f32")}"""
    function = compile_text(text).function("f", [("f32", (None,))], [("f32", (None,))])
    for n in (5, 100_003, 1_000_003):
        x = random(n)
        _ext.reset_memory_peak()
        base = _ext.memory_peak()
        assert np.array_equal(function((x,))[0], x)
        assert _ext.memory_peak() - base == 4 * n
    _ext.reset_memory_peak()
    base = _ext.memory_peak()
    copy_rows((random(500, 500),))
    assert _ext.memory_peak() == base


def test_threads_call_at_once(copy_rows) -> None:
    inputs = [random(64, 100 + i) + i for i in range(8)]
    wrong = []

    def work(x: np.ndarray) -> None:
        for _ in range(200):
            if not np.array_equal(copy_rows((x,))[0], x):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("count", [1, 2, 3, 8, 0])
def test_any_number_of_threads(copy_rows, count: int) -> None:
    x = random(301, 17)
    try:
        _ext.set_num_threads(count)
        assert _ext.num_threads() == count or count == 0
        for _ in range(20):
            assert np.array_equal(copy_rows((x,))[0], x)
    finally:
        _ext.set_num_threads(0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_threads_of_its_own(copy_rows) -> None:
    x = random(301, 17)
    copy_rows((x,))
    child = os.fork()
    if child == 0:
        ok = all(np.array_equal(copy_rows((x,))[0], x) for _ in range(20))
        os._exit(0 if ok else 1)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        pytest.fail("the child hangs")
    assert np.array_equal(copy_rows((x,))[0], x)


def test_functions_keep_the_code(copy_fixed) -> None:
    function = elementwise("%e = arith.negf %v : T")
    x = random(33)
    assert np.array_equal(function(x), -x)
    assert "f(tensor<3x4xf32>) -> (tensor<3x4xf32>)" in repr(copy_fixed)


def test_bad_machine_code() -> None:
    for data in (b"", b"\x7fELF", b"not code at all" * 100):
        with pytest.raises(errors.CacheError, match="cannot load machine code"):
            _ext.load(data)
    library = compile_text("func.func @f(%y: memref<f32>) { return }")
    with pytest.raises(errors.CacheError, match="no symbol 'g__packed': Symbols not found"):
        library.function("g", [], [("f32", ())])
    with pytest.raises(errors.ArgumentError, match="unknown element type 'f31'"):
        library.function("f", [("f31", ())], [])


def test_call_overhead(copy_fixed) -> None:
    """The time of a call that does nothing much; the best of several, others use the machine."""
    x, out = random(3, 4), random(3, 4)
    best = {}
    for name, call in {
        "out": lambda: copy_fixed((x,), (out,)),
        "no out": lambda: copy_fixed((x,)),
    }.items():
        times = []
        for _ in range(30):
            start = time.perf_counter()
            for _ in range(1000):
                call()
            times.append((time.perf_counter() - start) / 1000)
        best[name] = min(times)
    print({name: f"{1e6 * value:.2f} us" for name, value in best.items()})
    assert best["out"] < 3e-6 * slowness()
    assert best["no out"] < 5e-6 * slowness()
