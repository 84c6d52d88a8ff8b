"""The index of an extremum, however its comparison is spelled: NaN, ties, initial values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import redfuse
from redfuse.options import SCHEDULES

SPELLINGS = list(
    itertools.product(
        ("ogt", "oge", "ugt", "uge", "olt", "ole", "ult", "ule"), (False, True), (False, True)
    )
)
STARTS = [(-np.inf, 0), (1.0, -7), (np.nan, 3)]


def bits(value: float) -> str:
    return f"0x{np.float32(value).view(np.uint32):08X}"


def generic(n: int, body: list[str], x: str, start: tuple[float, int]) -> list[str]:
    """Result number n: %v and %w from an element %a, its position %j, and %m and %k so far."""
    rows = x.split("x")[0]
    v, i = f"tensor<{rows}xf32>", f"tensor<{rows}xi32>"
    return [
        f"  %s{n} = arith.constant {bits(start[0])} : f32",
        f"  %t{n} = arith.constant {start[1]} : i32",
        f"  %p{n} = tensor.empty() : {v}",
        f"  %q{n} = tensor.empty() : {i}",
        f"  %f{n} = linalg.fill ins(%s{n} : f32) outs(%p{n} : {v}) -> {v}",
        f"  %g{n} = linalg.fill ins(%t{n} : i32) outs(%q{n} : {i}) -> {i}",
        f"  %r{n}:2 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, "
        "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = "
        f'["parallel", "reduction"]}} ins(%x : tensor<{x}xf32>) '
        f"outs(%f{n}, %g{n} : {v}, {i}) {{",
        "  ^bb0(%a: f32, %m: f32, %k: i32):",
        "    %at = linalg.index 1 : index",
        "    %j = arith.index_cast %at : index to i32",
        *[f"    {line}" for line in body],
        "    linalg.yield %v, %w : f32, i32",
        f"  }} -> ({v}, {i})",
    ]


def program(bodies: list[list[str]], shape: tuple[int, int], start: tuple[float, int]) -> str:
    x = "x".join(map(str, shape))
    lines = [line for n, body in enumerate(bodies) for line in generic(n, body, x, start)]
    types = ", ".join([f"tensor<{shape[0]}xf32>, tensor<{shape[0]}xi32>"] * len(bodies))
    values = ", ".join(f"%r{n}#0, %r{n}#1" for n in range(len(bodies)))
    return "\n".join(
        [
            f"func.func @main(%x: tensor<{x}xf32>) -> ({types}) {{",
            *lines,
            f"  return {values} : {types}",
            "}",
        ]
    )


def by_selects(predicate: str, is_swapped: bool, is_negated: bool) -> list[str]:
    sides = ("%m", "%a") if is_swapped else ("%a", "%m")
    kept = ("%m", "%a") if is_negated else ("%a", "%m")
    at = ("%k", "%j") if is_negated else ("%j", "%k")
    return [
        f"%c = arith.cmpf {predicate}, {sides[0]}, {sides[1]} : f32",
        f"%v = arith.select %c, {kept[0]}, {kept[1]} : f32",
        f"%w = arith.select %c, {at[0]}, {at[1]} : i32",
    ]


def is_true(predicate: str, a: float, b: float) -> bool:
    if np.isnan(a) or np.isnan(b):
        return predicate[0] == "u"
    return {"gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}[predicate[1:]]


def walked(
    row: np.ndarray, spelling: tuple[str, bool, bool], start: tuple[float, int]
) -> tuple[float, int]:
    """What the loop keeps."""
    predicate, is_swapped, is_negated = spelling
    value, index = start
    for j, x in enumerate(row):
        holds = is_true(predicate, *((value, x) if is_swapped else (x, value)))
        if holds != is_negated:
            value, index = x, j
    return value, index


def data(shape: tuple[int, int], seed: int) -> Iterator[np.ndarray]:
    """Rows full of ties: with NaN here and there, first, last, all over, and beside infinities."""
    random = np.random.default_rng(seed)
    x = random.integers(-3, 4, shape).astype(np.float32)
    yield x.copy()
    x[random.random(shape) < 0.1] = np.nan
    x[0, 0], x[1, -1], x[2] = np.nan, np.nan, np.nan
    x[3], x[4] = -np.inf, np.inf
    x[3, shape[1] // 2] = x[4, 1] = np.nan
    yield x


@pytest.mark.sample(4)
@pytest.mark.parametrize("schedule", [*SCHEDULES, "unfused"])
@pytest.mark.parametrize("start", STARTS, ids=["identity", "number", "nan"])
def test_selects_do_what_their_comparison_says(start: tuple[float, int], schedule: str) -> None:
    options = {"fuse": False} if schedule == "unfused" else {"schedule": schedule}
    shape = (6, 203)
    text = program([by_selects(*spelling) for spelling in SPELLINGS], shape, start)
    exe = redfuse.compile(text, target="cpu", options={"cache": False, "opt_level": 1, **options})
    for x in data(shape, 1):
        got = exe(x)
        for n, spelling in enumerate(SPELLINGS):
            want = [walked(row, spelling, start) for row in x]
            values, indices = (np.array(v) for v in zip(*want, strict=True))
            np.testing.assert_array_equal(got[2 * n], values, str(spelling))
            np.testing.assert_array_equal(got[2 * n + 1], indices, str(spelling))


def beside(op: str, predicate: str) -> list[str]:
    """As torch-mlir has it: the value by an op of its own."""
    return [
        f"%v = arith.{op} %a, %m : f32",
        f"%c = arith.cmpf {predicate}, %a, %m : f32",
        "%w = arith.select %c, %j, %k : i32",
    ]


BESIDE = {"maximumf": "ogt", "minimumf": "olt", "maxnumf": "ogt", "minnumf": "olt"}


@pytest.mark.sample(3)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("shape", [(6, 203), (7, 4096), (33, 5)], ids=str)
def test_beside_the_extremum_the_index_is_that_of_a_number(
    shape: tuple[int, int], schedule: str
) -> None:
    """maximumf hands a NaN on, and the index is that of the first of the largest numbers."""
    random = np.random.default_rng(2)
    for op, predicate in BESIDE.items():
        identity = -np.inf if op.startswith("max") else np.inf
        for start in [(identity, 0), (1.0, -7)]:
            text = program([beside(op, predicate)], shape, start)
            exe = redfuse.compile(
                text, target="cpu", options={"cache": False, "schedule": schedule}
            )
            for x in data(shape, int(random.integers(100))):
                value, index = exe(x)
                kept = [walked(row, (predicate, False, False), start) for row in x]
                numbers, indices = (np.array(v) for v in zip(*kept, strict=True))
                if op in ("maximumf", "minimumf"):
                    numbers = np.where(np.isnan(x).any(-1), np.nan, numbers)
                np.testing.assert_array_equal(value, numbers)
                np.testing.assert_array_equal(index, indices)


def until_nan(op: str, predicate: str, is_first: bool) -> list[str]:
    """A NaN is better than any number: the index is that of the first one, or the last one."""
    either = "%new" if is_first else "%nan"
    return [
        f"%v = arith.{op} %a, %m : f32",
        f"%c = arith.cmpf {predicate}, %a, %m : f32",
        "%nan = arith.cmpf uno, %a, %a : f32",
        "%had = arith.cmpf uno, %m, %m : f32",
        "%true = arith.constant true",
        "%none = arith.xori %had, %true : i1",
        "%new = arith.andi %nan, %none : i1",
        f"%d = arith.ori %c, {either} : i1",
        "%w = arith.select %d, %j, %k : i32",
    ]


@pytest.mark.sample(2)
@pytest.mark.parametrize("schedule", [*SCHEDULES, "unfused"])
@pytest.mark.parametrize("op", ["maximumf", "minimumf"])
def test_the_index_of_a_nan(op: str, schedule: str) -> None:
    """As PyTorch's argmax, argmin and pooling have it."""
    options = {"fuse": False} if schedule == "unfused" else {"schedule": schedule}
    identity = -np.inf if op == "maximumf" else np.inf
    predicate = BESIDE[op]
    for start in [(identity, 0), (1.0, -7)]:
        bodies = [until_nan(op, predicate, is_first) for is_first in (True, False)]
        text = program(bodies, (6, 203), start)
        exe = redfuse.compile(text, target="cpu", options={"cache": False, **options})
        for x in data((6, 203), 4):
            got = exe(x)
            numbers = [walked(row, (predicate, False, False), start) for row in x]
            for n, which in enumerate((0, -1)):
                places = [np.flatnonzero(np.isnan(row)) for row in x]
                want = [
                    (np.nan, nans[which]) if nans.size else number
                    for nans, number in zip(places, numbers, strict=True)
                ]
                values, indices = (np.array(v) for v in zip(*want, strict=True))
                np.testing.assert_array_equal(got[2 * n], values)
                np.testing.assert_array_equal(got[2 * n + 1], indices)


SELECTED = """
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<6x300xf32>) -> (tensor<6xf32>, tensor<6xi64>) {
  %o = tensor.empty() : tensor<6xf32>
  %p = tensor.empty() : tensor<6xi64>
  %r:2 = redfuse.cascade {indexing_maps = [#x, #r, #r]}
      ins(%x : tensor<6x300xf32>) outs(%o, %p : tensor<6xf32>, tensor<6xi64>) {
  ^bb0(%v: f32):
    %m = redfuse.reduce maximumf %v over [1] into [0] : f32
    %d = arith.subf %v, %m : f32
    %e = math.exp %d : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %i = redfuse.index 1
    %j = arith.index_cast %i : index to i64
    %b:2 = redfuse.reduce argmax %w, %j over [1] into [0] : f32, i64
    redfuse.yield %b#0, %b#1 : f32, i64
  } -> tensor<6xf32>, tensor<6xi64>
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xi64>
}"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_selection_by_weights_has_no_nan(schedule: str) -> None:
    """Rows of NaN have no largest weight: the reduction's own identity."""
    exe = redfuse.compile(SELECTED, target="cpu", options={"cache": False, "schedule": schedule})
    x = np.random.default_rng(3).normal(size=(6, 300)).astype(np.float32)
    x[1, 7], x[2], x[3] = np.nan, -np.inf, np.nan
    value, index = exe(x)
    wide = x[[0, 4, 5]].astype(np.float64)
    raised = np.exp(wide - wide.max(-1, keepdims=True))
    np.testing.assert_array_equal(index[[0, 4, 5]], wide.argmax(-1))
    np.testing.assert_allclose(value[[0, 4, 5]], (raised / raised.sum(-1, keepdims=True)).max(-1),
                               rtol=1e-5)  # fmt: skip
    np.testing.assert_array_equal(value[1:4], -np.inf)
