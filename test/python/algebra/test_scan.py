"""Every prefix of a reduction, resident and streamed in chunks."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from recurrences import SCHEDULES, compiled, error, gated_attention, is_streamed, prefixes
from redfuse.combining import exp, log, maximum, where

SUM = "%n = arith.addf %h, %x : f32\n%q = arith.addf %n, %y : f32"
DECAY = "%t = arith.mulf %x, %h : f32\n%n = arith.addf %t, %y : f32\n%q = arith.mulf %n, %n : f32"
LARGEST = "%n = arith.maximumf %h, %x : f32\n%q = arith.subf %n, %y : f32"
BEFORE = "%n = arith.addf %h, %x : f32\n%q = arith.mulf %h, %y : f32"


def data(rows: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    a = rng.uniform(0.3, 1.0, (rows, n)).astype(np.float32)
    return a, rng.normal(size=(rows, n)).astype(np.float32)


def running(name: str, a: np.ndarray, b: np.ndarray, init: float) -> tuple[np.ndarray, np.ndarray]:
    h, out = np.full(a.shape[0], init), np.empty(a.shape)
    with np.errstate(all="ignore"):
        for j in range(a.shape[1]):
            x, y, before = a[:, j].astype(np.float64), b[:, j].astype(np.float64), h
            if name == "decay":
                h = x * h + y
                out[:, j] = h * h
            elif name == "largest":
                h = np.maximum(h, x)
                out[:, j] = h - y
            else:
                h = h + x
                out[:, j] = h + y if name == "sum" else before * y
    return out, h


BODIES = {"sum": SUM, "decay": DECAY, "largest": LARGEST, "before": BEFORE}


@pytest.mark.sample(2)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("init", (0.0, 2.0))
def test_prefixes(name: str, schedule: str, init: float) -> None:
    a, b = data(3, 9001)
    exe = compiled(prefixes((3, 9001), BODIES[name], str(init)), schedule)
    assert is_streamed(exe) == (schedule == "stream")
    out, last = exe(a, b)
    want, end = running(name, a, b, init)
    assert error(out, want) < 2e-5
    assert error(last, end) < 2e-5


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", BODIES)
def test_prefixes_of_any_length(name: str, schedule: str) -> None:
    exe = compiled(prefixes(("?", "?"), BODIES[name], "2.0"), schedule)
    for rows, n in ((1, 1), (3, 0), (4, 1), (2, 7), (1, 4097), (17, 33), (0, 3)):
        a, b = data(rows, n)
        out, last = exe(a, b)
        want, end = running(name, a, b, 2.0)
        assert error(out, want) < 2e-5, (rows, n)
        assert error(last, end) < 2e-5, (rows, n)


@pytest.mark.sample(3)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("at", (0, 1, 4095, 4096, 8999))
@pytest.mark.parametrize("name", ("sum", "decay", "largest"))
def test_special_values_reach_only_what_comes_after(name: str, schedule: str, at: int) -> None:
    a, b = data(4, 9000)
    a[0, at], a[1, at], b[2, at] = np.inf, np.nan, -np.inf
    a[3], b[3] = 0, 0
    exe = compiled(prefixes((4, 9000), BODIES[name]), schedule)
    want, _ = running(name, a, b, 0.0)
    assert error(exe(a, b)[0], want) < 1e-4


CUMSUM = """
func.func @main(%x: tensor<5x{n}x3xi64>) -> tensor<5x{n}x3xi64> {{
  %e = tensor.empty() : tensor<5x{n}x3xi64>
  %l = tensor.empty() : tensor<5x3xi64>
  %z = arith.constant 0 : i64
  %f = linalg.fill ins(%z : i64) outs(%l : tensor<5x3xi64>) -> tensor<5x3xi64>
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<5x{n}x3xi64>)
      outs(%e, %f : tensor<5x{n}x3xi64>, tensor<5x3xi64>) {{
  ^bb0(%a: i64, %b: i64):
    %n = arith.addi %a, %b : i64
    tm_tensor.yield %n : i64
  }} -> tensor<5x{n}x3xi64>, tensor<5x3xi64>
  return %r#0 : tensor<5x{n}x3xi64>
}}
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("n", (1, 13, 5000))
def test_the_running_sum_of_torch(schedule: str, n: int) -> None:
    x = np.random.default_rng(n).integers(-1000, 1000, (5, n, 3))
    exe = compiled(CUMSUM.format(n=n), schedule)
    np.testing.assert_array_equal(exe(x), np.cumsum(x, 1))


ROWS = """
func.func @main(%x: tensor<?x?x{type}>) -> tensor<?x?x{type}> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?x{type}>
  %n = tensor.dim %x, %c1 : tensor<?x?x{type}>
  %e = tensor.empty(%m, %n) : tensor<?x?x{type}>
  %l = tensor.empty(%m) : tensor<?x{type}>
  %z = arith.constant {start} : {type}
  %f = linalg.fill ins(%z : {type}) outs(%l : tensor<?x{type}>) -> tensor<?x{type}>
  %r:2 = tm_tensor.scan dimension(1) inclusive({inclusive}) ins(%x : tensor<?x?x{type}>)
      outs(%e, %f : tensor<?x?x{type}>, tensor<?x{type}>) {{
  ^bb0(%a: {type}, %b: {type}):
    %n0 = arith.{combine} %a, %b : {type}
    tm_tensor.yield %n0 : {type}
  }} -> tensor<?x?x{type}>, tensor<?x{type}>
  return %r#0 : tensor<?x?x{type}>
}}
"""
ELEMENTS = {
    "f32 addf": (np.float32, 0.0), "f64 addf": (np.float64, 0.0), "f32 mulf": (np.float32, 1.0),
    "f32 maximumf": (np.float32, "0xFF800000"), "i32 addi": (np.int32, 0),
    "i64 muli": (np.int64, 1), "i8 maxsi": (np.int8, -128), "i16 ori": (np.int16, 0),
}  # fmt: skip
FOLDS = {
    "addf": np.add, "mulf": np.multiply, "maximumf": np.maximum, "addi": np.add,
    "muli": np.multiply, "maxsi": np.maximum, "ori": np.bitwise_or,
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("inclusive", (True, False))
@pytest.mark.parametrize("element", ELEMENTS)
def test_rows_of_neighbours(element: str, inclusive: bool) -> None:
    """Lanes are neighbours of a row: any length, and ends of rows that fill no vector."""
    name, combine = element.split()
    dtype, start = ELEMENTS[element]
    text = ROWS.format(type=name, combine=combine, start=start, inclusive=str(inclusive).lower())
    exe = redfuse.compile(text)
    for rows, n in ((1, 1), (5, 15), (3, 16), (2, 17), (4, 331), (1, 70001), (67, 64), (2, 0)):
        rng = np.random.default_rng(n)
        if dtype in (np.float32, np.float64):
            x = rng.normal(size=(rows, n)).astype(dtype)
            x = 1 + x / 1e3 if combine == "mulf" else x
        else:
            x = rng.integers(-100, 100, (rows, n)).astype(dtype)
        wide = x.astype(np.float64) if np.issubdtype(dtype, np.floating) else x
        want = FOLDS[combine].accumulate(wide, axis=1, dtype=wide.dtype)
        if not inclusive and n:
            first = -np.inf if combine == "maximumf" else start
            want = np.concatenate([np.full((rows, 1), first, wide.dtype), want[:, :-1]], 1)
        got = exe(x.astype(dtype))
        if wide is x:
            np.testing.assert_array_equal(got, want)
            continue
        # Each of n operations rounds what has been combined; so do those of NumPy in f64.
        bound = 2 * n * np.finfo(dtype).eps * FOLDS[combine].accumulate(np.abs(wide), axis=1)
        with np.errstate(invalid="ignore"):
            assert np.all((got == want) | (np.abs(got - want) <= bound)), (rows, n)


def test_strict_adds_one_after_the_other() -> None:
    x = np.random.default_rng(0).normal(size=(33, 1001)).astype(np.float32)
    text = ROWS.format(type="f32", combine="addf", start=0.0, inclusive="true")
    exe = redfuse.compile(text, options={"strict": True})
    np.testing.assert_array_equal(exe(x), np.cumsum(x, 1))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("sizes", ((2, 301, 17, 33), (1, 7, 4, 4), (3, 130, 16, 64)))
def test_gated_linear_attention(schedule: str, sizes: tuple[int, int, int, int]) -> None:
    """The states of all steps are in the source; streamed, none of them is stored."""
    b, t, i, j = sizes
    rng = np.random.default_rng(t)
    q, k = (rng.normal(size=(b, t, i)).astype(np.float32) for _ in range(2))
    v = rng.normal(size=(b, t, j)).astype(np.float32)
    g = rng.uniform(0.8, 1.0, (b, t)).astype(np.float32)
    exe = compiled(gated_attention(*sizes), schedule)
    kernels = str(exe.ir["outline"])
    assert kernels.count("redfuse.kernel") == 1
    assert is_streamed(exe) == (schedule == "stream")
    state, want = np.zeros((b, i, j)), np.empty((b, t, j))
    for step in range(t):
        state = g[:, step, None, None] * state + k[:, step, :, None] * v[:, step, None, :]
        want[:, step] = np.einsum("bi,bij->bj", q[:, step].astype(np.float64), state)
    assert error(exe(q, k, v, g), want) < 1e-5


@redfuse.combiner(identity=float("-inf"))
def logaddexp(left, right):
    top, low = maximum(left, right), where(left > right, right, left)
    return top + log(1 + where(top == float("-inf"), 0.0, exp(low - top)))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("shape", "axis"), (((4, 9001), 1), ((None, None), 1), ((5001, 6), 0)))
def test_a_running_logsumexp_by_a_declared_reducer(schedule: str, shape: tuple, axis: int) -> None:
    exe = compiled(redfuse.scan(logaddexp, shape, axis=axis), schedule)
    assert is_streamed(exe) == (schedule == "stream")
    sizes = [n or s for n, s in zip(shape, (3, 299), strict=True)]
    x = np.random.default_rng(5).normal(size=sizes).astype(np.float32) * 10
    want = np.logaddexp.accumulate(x.astype(np.float64), axis)
    assert error(exe(x), want) < 1e-5
