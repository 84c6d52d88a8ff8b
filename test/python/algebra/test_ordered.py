"""Declared reducers, affine recurrences and lists of best values, resident and streamed."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from recurrences import SCHEDULES, compiled, error, is_streamed, recurrence
from redfuse.combining import exp, maximum, sqrt, where

INF = float("inf")
AFFINE = {
    "a*h + b": "%t = arith.mulf %x, %h : f32\n%n = arith.addf %t, %y : f32",
    "b + h*a": "%t = arith.mulf %h, %x : f32\n%n = arith.addf %y, %t : f32",
    "(h - b)*a": "%t = arith.subf %h, %y : f32\n%n = arith.mulf %t, %x : f32",
    "fma": "%n = math.fma %x, %h, %y : f32",
    "b - h*a": "%t = arith.mulf %x, %h : f32\n%n = arith.subf %y, %t : f32",
    "-(a*h) - b": "%t = arith.mulf %x, %h : f32\n%m = arith.negf %t : f32\n"
    "%n = arith.subf %m, %y : f32",
    "h/2 + b": "%c = arith.constant 2.0 : f32\n%t = arith.divf %h, %c : f32\n"
    "%n = arith.addf %t, %y : f32",
    "masked": "%zero = arith.constant 0.0 : f32\n%p = arith.cmpf olt, %y, %zero : f32\n"
    "%t = arith.mulf %x, %h : f32\n%u = arith.addf %t, %y : f32\n"
    "%n = arith.select %p, %h, %u : f32",
}


def step(name: str, h: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return {
        "a*h + b": lambda: a * h + b,
        "b + h*a": lambda: a * h + b,
        "(h - b)*a": lambda: (h - b) * a,
        "fma": lambda: a * h + b,
        "b - h*a": lambda: b - h * a,
        "-(a*h) - b": lambda: -(a * h) - b,
        "h/2 + b": lambda: h / 2 + b,
        "masked": lambda: np.where(b < 0, h, a * h + b),
    }[name]()


def data(rows: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.5, 1.0, (rows, n)).astype(np.float32)
    return a, rng.normal(size=(rows, n)).astype(np.float32)


def expected(name: str, a: np.ndarray, b: np.ndarray, init: float = 0.0) -> np.ndarray:
    h = np.full(a.shape[0], init)
    with np.errstate(all="ignore"):
        for j in range(a.shape[1]):
            h = step(name, h, a[:, j].astype(np.float64), b[:, j].astype(np.float64))
    return h


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", AFFINE)
def test_affine_recurrences(name: str, schedule: str) -> None:
    a, b = data(5, 9001)
    exe = compiled(recurrence((5, 9001), AFFINE[name], "1.5"), schedule)
    assert is_streamed(exe) == (schedule == "stream")
    assert "unknown combiner" not in exe.explain()
    assert error(exe(a, b), expected(name, a, b, 1.5)) < 2e-6


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_affine_recurrences_of_any_length(schedule: str) -> None:
    exe = compiled(recurrence(("?", "?"), AFFINE["a*h + b"], "3.0"), schedule)
    for rows, n in ((1, 1), (3, 0), (4, 1), (2, 7), (1, 4097), (17, 5003), (0, 3)):
        a, b = data(rows, n, seed=n)
        assert error(exe(a, b), expected("a*h + b", a, b, 3.0)) < 2e-6, (rows, n)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("at", (0, 1, 4095, 4096, 4097, 8999))
def test_a_special_value_has_the_class_of_the_source(schedule: str, at: int) -> None:
    """One infinite or NaN factor or summand, wherever it stands and with zeros around it."""
    a, b = data(6, 9000)
    a[0, at], a[1, at], b[2, at], b[3, at] = np.inf, np.nan, -np.inf, np.nan
    a[4, at] = 0
    a[5, : at + 1], b[5, : at + 1] = 2.0, 0  # powers of two that overflow, of nothing
    for init in ("0.0", "2.0"):
        exe = compiled(recurrence((6, 9000), AFFINE["a*h + b"], init), schedule)
        want = expected("a*h + b", a, b, float(init)).astype(np.float32)
        error(exe(a, b), want)


def test_an_undeclared_combiner_is_a_loop_that_says_how_to_declare_it() -> None:
    body = "%t = arith.mulf %h, %h : f32\n%n = arith.addf %t, %y : f32"
    exe = compiled(recurrence((3, 9), body), "stream")
    a, b = data(3, 9)
    b *= np.float32(0.1)
    h = np.zeros(3)
    for j in range(9):
        h = h * h + b[:, j]
    assert error(exe(a, b), h) < 1e-4
    assert "redfuse.combiner" in exe.explain()


# Declared reducers -------------------------------------------------------------------------------


@redfuse.combiner(identity=(-INF, 0.0))
def logsumexp(left, right):
    (m, s), (n, t) = left, right
    top = maximum(m, n)
    base = where(top == -INF, 0.0, top)
    return top, s * exp(m - base) + t * exp(n - base)


@redfuse.combiner(identity=(1.0, 0.0), ordered=True)
def affine(left, right):
    (a, b), (c, d) = left, right
    return a * c, b * c + d


@redfuse.combiner(
    identity=(0.0, 0.0, 0.0),
    sample=lambda rng: (
        rng.integers(1, 9, 99).astype(float),
        rng.normal(size=99),
        rng.uniform(0, 9, 99),
    ),
)
def moments(left, right):
    (n, u, s), (m, v, t) = left, right
    total = n + m
    d = v - u
    part = where(total == 0, 0.0, m / where(total == 0, 1.0, total))
    return total, u + d * part, s + t + d * d * n * part


@redfuse.combiner(identity=-(2**31))
def greatest(left, right):
    return maximum(left, right)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("shape", ((7, 9001), (None, None), (9001, 5)))
def test_a_declared_logsumexp(schedule: str, shape: tuple) -> None:
    axis = 0 if shape[0] == 9001 else 1
    exe = compiled(redfuse.reduction(logsumexp, shape, axis=axis), schedule)
    assert is_streamed(exe) == (schedule == "stream")
    sizes = [n or s for n, s in zip(shape, (3, 4999), strict=True)]
    x = np.random.default_rng(1).normal(size=sizes).astype(np.float32) * 30
    x[0, :] = -np.inf
    top, total = exe(x, np.ones_like(x))
    assert error(top, x.max(axis)) == 0
    base = np.where(np.isinf(top), 0, top).astype(np.float64)
    want = np.exp(x.astype(np.float64) - np.expand_dims(base, axis)).sum(axis)
    assert error(total, want) < 1e-5


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_ordered_reducer_keeps_its_order(schedule: str) -> None:
    a, b = data(5, 9001)
    exe = compiled(redfuse.reduction(affine, (5, 9001)), schedule)
    assert error(exe(a, b)[1], expected("a*h + b", a, b)) < 1e-5
    swapped = compiled(redfuse.reduction(affine, (9001, 5), axis=0), schedule)
    made = swapped(np.ascontiguousarray(a.T), np.ascontiguousarray(b.T))
    assert error(made[1], expected("a*h + b", a, b)) < 1e-5


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_moments_in_one_pass(schedule: str) -> None:
    x = (1e4 + np.random.default_rng(2).normal(size=(3, 20011))).astype(np.float32)
    exe = compiled(redfuse.reduction(moments, (3, 20011)), schedule)
    count, mean, squares = exe(np.ones_like(x), x, np.zeros_like(x))
    assert (count == 20011).all()
    assert error(mean, x.astype(np.float64).mean(1)) < 1e-6
    assert error(squares / count, x.astype(np.float64).var(1)) < 1e-3


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("dtype", ("i32", "i64"))
def test_integers(schedule: str, dtype: str) -> None:
    x = np.random.default_rng(3).integers(0, 1000, (6, 5000)).astype(dtype.replace("i", "int"))
    exe = compiled(redfuse.reduction(greatest, (6, 5000), dtype), schedule)
    np.testing.assert_array_equal(exe(x), x.max(1))


@pytest.mark.parametrize("n", (0, 1, 2, 17))
def test_short_rows(n: int) -> None:
    exe = compiled(redfuse.reduction(logsumexp, (4, n)), "stream")
    x = np.random.default_rng(4).normal(size=(4, n)).astype(np.float32)
    top, total = exe(x, np.ones_like(x))
    if n == 0:
        assert (top == -np.inf).all() and (total == 0).all()
    else:
        want = np.exp(x.astype(np.float64) - x.max(1, keepdims=True)).sum(1)
        assert error(top, x.max(1)) == 0 and error(total, want) < 1e-6


@pytest.mark.parametrize(
    ("function", "identity", "what"),
    (
        (lambda a, b: (a + b) / 2, 0.0, "not associative"),
        (lambda a, b: a + b, 1.0, "not neutral on the left"),
        (lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0), "not commutative"),
        (lambda a, b: (a[0],), (0.0, 0.0), "returned 1 parts, expected 2"),
    ),
)
def test_a_wrong_declaration_is_found(function, identity, what: str) -> None:
    with pytest.raises(redfuse.ArgumentError, match=what):
        redfuse.combiner(identity=identity)(function)


def test_what_a_combiner_cannot_do_is_said() -> None:
    def branching(a, b):
        return a if a > b else b

    with pytest.raises((redfuse.ArgumentError, ValueError)):
        redfuse.combiner(identity=-INF)(branching)
    roots = redfuse.combiner(identity=0.0, sample=lambda rng: (rng.uniform(0, 1, 9),))(
        lambda a, b: sqrt(a * a + b * b)
    )
    with pytest.raises(redfuse.ArgumentError, match="sqrt of i32"):
        redfuse.reduction(roots, (3, 4), "i32")
    with pytest.raises(redfuse.ArgumentError, match="axis 2"):
        redfuse.reduction(roots, (3, 4), axis=2)
    with pytest.raises(redfuse.ArgumentError, match="unknown type"):
        redfuse.reduction(roots, (3, 4), "f8")


# Lists of best values ----------------------------------------------------------------------------


def best(k: int, rows: int, n: int, tile: int) -> str:
    schedule = f"schedule = #redfuse.schedule<stream, grid=[0], tiles=[2, {tile}, 0], stream=[1]>,"
    return f"""
func.func @main(%a: tensor<{rows}x{n}xf32>) -> (tensor<{rows}x{k}xf32>, tensor<{rows}x{k}xi64>) {{
  %e = tensor.empty() : tensor<{rows}x{k}xf32>
  %f = tensor.empty() : tensor<{rows}x{k}xi64>
  %o:2 = redfuse.cascade {{{schedule if tile else ""} indexing_maps = [
      affine_map<(i, j, r) -> (i, j)>, affine_map<(i, j, r) -> (i, r)>,
      affine_map<(i, j, r) -> (i, r)>]}}
      ins(%a : tensor<{rows}x{n}xf32>) outs(%e, %f : tensor<{rows}x{k}xf32>, tensor<{rows}x{k}xi64>) {{
  ^bb0(%x: f32):
    %j = redfuse.index 1
    %i = arith.index_cast %j : index to i64
    %p, %q = redfuse.reduce topk %x, %i over [1] into [0, 2] : f32, i64
    redfuse.yield %p, %q : f32, i64
  }} -> tensor<{rows}x{k}xf32>, tensor<{rows}x{k}xi64>
  return %o#0, %o#1 : tensor<{rows}x{k}xf32>, tensor<{rows}x{k}xi64>
}}
"""


@pytest.mark.parametrize(("k", "n"), ((1, 71), (4, 71), (5, 5), (7, 71), (6, 4), (3, 1), (2, 0)))
@pytest.mark.sample(3)
def test_lists_are_the_same_however_they_are_cut(k: int, n: int) -> None:
    """Values and indices, ties, NaN, rows of -inf, and fewer elements than places."""
    rng = np.random.default_rng(n)
    x = rng.integers(-4, 4, (6, n)).astype(np.float32)
    if n > 2:
        x[0, n // 2], x[0, n - 1] = np.nan, np.nan
        x[1], x[2] = -np.inf, np.inf
        x[3] = 1
    whole = compiled(best(k, 6, n, 0), "resident")(x)
    m = min(k, n)
    key = np.where(np.isnan(x), np.inf, x)
    order = np.lexsort((np.broadcast_to(np.arange(n), x.shape), -key, ~np.isnan(x)), axis=-1)
    np.testing.assert_array_equal(whole[1][:, :m], order[:, :m])
    assert (whole[1][:, m:] == -1).all() and (whole[0][:, m:] == -np.inf).all()
    for tile in (1, 2, 3, 5, 64):
        exe = compiled(best(k, 6, n, tile), "stream")
        assert is_streamed(exe)
        values, indices = exe(x)
        np.testing.assert_array_equal(indices, whole[1])
        np.testing.assert_array_equal(values, whole[0])
