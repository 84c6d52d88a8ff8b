"""What each program of ``test/found`` must do: a table of arguments and results by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16
FAILS = "ExecutionError"
Arrays = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    """A call: its arguments, and its exact results, FAILS, or None for those of the reference in
    fp64. ``in_fp64``: the exact results of the program whose floats are all f64, where they are
    others."""

    arguments: Arrays
    results: Arrays | str | None = None
    in_fp64: Arrays | None = None


@dataclasses.dataclass(frozen=True)
class Found:
    """A program's calls, made when they are wanted; ``refused``: instead, what the error of its
    compilation names; ``smaller``: replacements in the text that make it quick to run."""

    cases: Callable[[], list[Case]] = list
    refused: str = ""
    smaller: tuple[tuple[str, str], ...] = ()

    def text(self, text: str) -> str:
        """The program to run."""
        for long, short in self.smaller:
            text = text.replace(long, short)
        return text


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _first_greatest(x: np.ndarray) -> Arrays:
    """As the source says it: `cmpf ogt` is false for what is not a number."""
    best, where = np.float32(-np.inf), 0
    for at, value in enumerate(x):
        if value > best:
            best, where = value, at
    return np.array(best, np.float32), np.array(where, np.int32)


def _argmax_nan() -> list[Case]:
    n, i = np.nan, np.inf
    rows = [(1, n, 3, 2), (n, n, n, n), (3, 2, 1, n), (n, -1, -2, -3), (-i, n, -i, n), (2, 2, 1, 2),
            (-i, -i, -i, -i), (0.0, -0.0, -1, n), (i, n, i, 1)]  # fmt: skip
    return [Case((f32(*row),), _first_greatest(f32(*row))) for row in rows]


def _argmax_round() -> list[Case]:
    """Whole numbers: their sums are exact in f32 and not in bf16, so rounding makes equals."""
    cases = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.integers(-9, 10, (64, 64))
        y = rng.integers(-9, 10, (4096, 64))
        exact = (x @ y.T).astype(np.float64)
        rounded = exact.astype(np.float32).astype(BF16).astype(np.float32)
        first, unrounded = rounded.argmax(1), exact.argmax(1)
        cases.append(Case((x.astype(BF16), y.astype(BF16)), (first,), (unrounded,)))
    assert any((case.results[0] != case.in_fp64[0]).any() for case in cases)
    return cases


def _extract() -> list[Case]:
    x = normal(40)
    right = [Case((x, i), (x[i],)) for i in (0, 17, 39)]
    return right + [Case((x, i), FAILS) for i in (40, 41, -1, 1000000, 2**62, -(2**62))]


def _empty_assertion() -> list[Case]:
    full = [Case((np.ones(n, bool), 2), (np.array(2 + n),)) for n in (0, 4, 7)]
    return full + [Case((np.ones(n, bool), 2), FAILS) for n in (1, 3)]


def _elements_of_any_size() -> list[Case]:
    low, high = -(2**52), 2**62

    def case(x: int, at: int) -> Case:
        put = np.where(np.arange(4) == at, low, high)
        return Case((x, at), (np.array([2, low, x]), put, np.full(2, high), np.full(3, low),
                              np.full(4, high)))  # fmt: skip

    return [case(7, 0), case(-1, 3), Case((7, 4), FAILS)]


def _dead_that_asserts() -> list[Case]:
    some, nothing = normal(1, 4), normal(0, 4)
    right = [Case((x, n), (np.array([n]),)) for x, n in ((some, 0), (some, 5), (nothing, 0))]
    return right + [Case((nothing, n), FAILS) for n in (1, 7)]


def _pad_that_asserts() -> list[Case]:
    def wanted(x: np.ndarray) -> np.ndarray:
        return np.concatenate([f32(2), x, f32(2, 2)])

    right = [
        Case((x, n), (wanted(x),)) for x in (normal(0), normal(1)) for n in (0, 4 - 3 - len(x))
    ]
    return right + [Case((normal(1), n), FAILS) for n in (-1, 1, 2**40)]


def _pad_of_other() -> list[Case]:
    def wanted(x: np.ndarray, n: int) -> np.ndarray:
        return np.concatenate([np.ones(n), x, np.ones(1)])

    draws = [normal(3 - n, dtype=np.float64) for n in range(4)]
    right = [Case((x, n), (wanted(x, n),)) for n, x in enumerate(draws)]
    wrong = [(n, m) for n in (0, 1, 40) for m in (0, 1, 2, 4, 9000) if n + m != 3]
    return right + [Case((normal(n, dtype=np.float64), m), FAILS) for n, m in wrong]


def _nothing_beside() -> list[Case]:
    def case(*n: int) -> Case:
        x, y, z = (normal(*shape) for shape in ((0, n[0]), (2, 0, n[1]), (n[2], 0)))
        return Case((x, y, z), (x, normal(2, 0), np.ones((n[2] + 1, 2), np.float32)))

    return [case(*n) for n in ((0, 0, 0), (1, 3, 2), (5, 0, 7))]


def _pad_of_known() -> list[Case]:
    x = np.zeros((0, 2), np.float32)
    calls = [(1, n) for n in (0, 3)] + [(2, 1)]
    right = [Case((x, normal(3, w), n), (np.array([1, w + n]),)) for w, n in calls]
    return [*right, Case((x, normal(3, 3), 0), FAILS), Case((x, normal(3, 1), -1), FAILS)]


def _pack_more() -> list[Case]:
    packed = np.full((34, 3), 2.5, np.float32)
    packed.reshape(-1)[:4] = x = normal(4)
    return [Case((x, 2.5), (packed,))]


def _never() -> list[Case]:
    return [Case((normal(3, n, dtype=np.float64),), FAILS) for n in (0, 1, 5)]


def _never_of_one() -> list[Case]:
    return [Case((normal(n, 2),), FAILS) for n in (0, 1, 5)]


def _slice_of_known() -> list[Case]:
    y = np.zeros(2, np.float32)
    draws = [normal(m, 4, k, dtype=np.float64) for m, k in ((1, 1), (3, 2), (5, 7))]
    right = [Case((x, y), (x[:1, :3, 0],)) for x in draws]
    return [*right, Case((normal(0, 4, 2, dtype=np.float64), y), FAILS)]


def _pack_of_known() -> list[Case]:
    rng = np.random.default_rng(5)

    def draw(n: int) -> np.ndarray:
        return rng.integers(-128, 128, (2, 2, n), np.int8)

    def wanted(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x.reshape(2, 6), np.ones((1, 6), np.int8)]).T[None]

    right = [Case((x,), (wanted(x),)) for x in (draw(3), draw(3))]
    return right + [Case((draw(n),), FAILS) for n in (0, 1, 2, 4, 6, 100)]


def _maximum_from_nan() -> list[Case]:
    def draw(seed: int) -> np.ndarray:
        x = normal(5, 9, seed=seed)
        x[0], x[1, seed], x[2, 1:] = np.nan, np.nan, np.nan
        return x

    return [Case((x,), (np.fmax.reduce(x, axis=1),)) for x in map(draw, range(3))]


def _slice_of_no_rows() -> list[Case]:
    return [Case((normal(0, 5), n), FAILS) for n in (-6, -1, 0, 1, 2, 2**62)]


def _slice_between_ones() -> list[Case]:
    draws = [normal(3, m, seed=m) for m in (2, 4, 7)]
    right = [Case((x,), (x[1:, 1].reshape(1, 2),)) for x in draws]
    return [*right, Case((normal(3, 1),), FAILS), Case((normal(3, 0),), FAILS)]


def _slice_at_negative() -> list[Case]:
    return [Case((normal(m, 2),), FAILS) for m in (1, 2, 3, 7)]


def _expand_below_nothing() -> list[Case]:
    return [Case((normal(4, 6), n), FAILS) for n in (-1, 0, 5, 200)]


def _least_index() -> list[Case]:
    x = normal(4, 6)
    return [Case((x, False), (np.full((2, 2), 2, np.float32),)), Case((x, True), FAILS)]


def _pad_to_nothing() -> list[Case]:
    return [Case((n,), FAILS) for n in (-1, 0, 1, 2**62)]


def _pad_for_nobody() -> list[Case]:
    def case(rows: int, values: list[int], fails: bool = False) -> Case:
        table = np.array(values, np.int32)
        return Case((np.ones(rows), table), FAILS if fails else (table,))

    return [
        case(3, [*range(9)]), case(0, [5, 4, 3, 2, 1, 0]), case(4, [*range(5)], fails=True),
        case(0, [], fails=True), case(1, [0, 1, 2, 3, 4, 5, 7], fails=True),
    ]  # fmt: skip


def _row_of_nothing() -> list[Case]:
    nothing = Case((np.zeros((0, 2**28), np.float32), f32()), (np.zeros((0, 2), np.float32),))
    a = np.arange(15, dtype=np.float32).reshape(3, 5)
    row = Case((a, f32(1, 2, 3)), (np.full((3, 2), a[0].sum()),))
    return [nothing, row, Case((a[:0], f32(1)), FAILS)]


def _steps() -> list[Case]:
    x = normal(4)
    right = [Case((x, n), (np.full((n, 1), x[3]),)) for n in (0, 1, 2)]
    return right + [Case((x, n), FAILS) for n in (-1, 3, 2**62)]


def _one_for_many() -> list[Case]:
    x = normal(3, 5)
    right = [Case((x, n), (np.full(3, x[0, n]),)) for n in (0, 1, 4)]
    return right + [Case((x, n), FAILS) for n in (-1, 5)]


def _changed_beside_result() -> list[Case]:
    x = normal()
    all_three = np.full(3, x, np.float32)
    changed = all_three.copy()
    changed[1] = 3
    return [Case((x,), (all_three.reshape(1, 3), changed))]


def _loop_that_grows() -> list[Case]:
    x, cases = normal(4), []
    for m in (0, 1, 3, 6):
        y = normal(m, seed=m)
        cases += [Case((x, y, n), (np.concatenate([x[:1], y]) if n else x,)) for n in (0, 1, 3)]
    return cases


def _loops_hand_on() -> list[Case]:
    cases = [Case((np.zeros(0, np.int64), n), FAILS) for n in (0, 1)]
    for n in (0, 1, 3):
        x = np.array([7, 5, 4])
        cases.append(Case((x, n), (np.array([n - 1, 5, 4]) if n else x,)))
    return cases


def _slice_of_nothing() -> list[Case]:
    nothing = np.zeros(0, np.int64)
    right = [Case((nothing, n, 0), (nothing,)) for n in (0, 1, 2)]
    return right + [Case((nothing, n, 0), FAILS) for n in (-1, 3)]


def _unpack_less() -> list[Case]:
    return [Case((normal(n, 1),), FAILS) for n in (0, 1, 4)]


def _copy_in_branch() -> list[Case]:
    def wanted(x: np.ndarray, take: bool) -> np.ndarray:
        result = x.copy() if take else np.full_like(x, 2.5)
        result[0, 0] = 2.5
        return result

    right = [
        Case((x, take, 2.5), (wanted(x, take),))
        for x in (normal(1, 4), normal(7, 4))
        for take in (True, False)
    ]
    nothing = normal(0, 4)
    return [*right, Case((nothing, True, 2.5), FAILS), Case((nothing, False, 2.5), (nothing,))]


def _insert() -> list[Case]:
    x = normal(40)
    right = [Case((x, n), (np.where(np.arange(40) < n, np.float32(1), x),)) for n in (-3, 0, 7, 40)]
    return right + [Case((x, n), FAILS) for n in (41, 60, 100000000)]


def _gather() -> list[Case]:
    x, i = normal(40), np.array([0, 39, 5, 5, 7, 0, 12, 38, 1])
    wrong = [np.where(np.arange(9) == 4, bad, i) for bad in (40, -1, 1000000, 2**40, -(2**63))]
    return [Case((x, i), (x[i],))] + [Case((x, bad), FAILS) for bad in wrong]


def _constant_gather() -> list[Case]:
    places = np.array([7, 6, 0, 1, 5, 2, 3, 3])
    wrong = [np.where(np.arange(8) == 2, bad, places) for bad in (8, 15, -1, 2**33)]
    return [Case((places,), (places.astype(np.int32),))] + [Case((bad,), FAILS) for bad in wrong]


def _two_bits() -> list[Case]:
    x = f32(0, 1, 2, 3, 4, 5.75, 6.5, 1023)
    return [Case((x,), ((x.astype(np.uint32) % 4).astype(np.int8),))]


def _pack() -> list[Case]:
    cases = []
    for n in (0, 1, 3):
        x = normal(n, 16, 4)
        # [outer, 4, 8, 1]: element [o, c, i, 0] is row 8 o + i, column c.
        packed = x.reshape(2 * n, 8, 4).transpose(0, 2, 1)[..., None]
        cases.append(Case((x, 2 * n), (packed,)))
        cases += [Case((x, d), FAILS) for d in (2 * n - 1, 0, -1) if d < 2 * n]
    return cases


def _unpack() -> list[Case]:
    cases = []
    for rows in (0, 1, 5):
        x = normal(rows, 8)
        cases += [Case((x, n), (x.reshape(-1)[:n],)) for n in {8 * rows, max(0, 8 * rows - 3)}]
        cases += [Case((x, n), FAILS) for n in (8 * rows + 1, 8 * rows + 1000, -1)]
    return cases


def _reshape() -> list[Case]:
    x = normal(12)
    right = [(3, 4), (12, 1), (1, 12), (2, 6)]
    wrong = [(3, 5), (-3, -4), (100, 100), (2, 5), (0, 12), (2**32, 2**32), (-12, 1)]
    return [
        *(Case((x, np.array(s)), (x.reshape(s),)) for s in right),
        *(Case((x, np.array(s)), FAILS) for s in wrong),
        Case((normal(0), np.array([0, 5])), (np.zeros((0, 5), np.float32),)),
    ]


def _scan_total() -> list[Case]:
    """Any sum will do, if the total is the last of the running ones."""
    return [Case((normal(3, 33, 17, seed=seed, dtype=np.float64),)) for seed in range(3)]


def _product() -> list[Case]:
    return [Case((normal(40, 72, seed=s, dtype=BF16), normal(56, 72, seed=9 + s, dtype=BF16)))
            for s in range(3)]  # fmt: skip


def _rows(seeds: int = 2) -> list[Case]:
    return [Case((normal(64, 96, seed=seed),)) for seed in range(seeds)]


FOUND = {
    "argmax_nan": Found(_argmax_nan),
    "argmax_round": Found(_argmax_round),
    "changed_beside_result": Found(_changed_beside_result),
    "copy_in_branch": Found(_copy_in_branch),
    "dead_that_asserts": Found(_dead_that_asserts),
    "divided_by_nothing": Found(refused="MLIR's parser does not survive this program"),
    "elements_of_any_size": Found(_elements_of_any_size),
    "empty_assertion": Found(_empty_assertion),
    "expand_below_nothing": Found(_expand_below_nothing),
    "extract_oob": Found(_extract),
    "gather_clamp": Found(_gather),
    "i2_store_abort": Found(_two_bits),
    "i4_const_gather": Found(_constant_gather),
    "i4_constant": Found(lambda: [Case((), (np.arange(8, dtype=np.float32),))]),
    "insert_oob": Found(_insert),
    "least_index": Found(_least_index),
    "least_of_normalised": Found(lambda: [Case((normal(3, 4, 48, seed=s),)) for s in range(3)]),
    "ln16": Found(_rows),
    "loop_that_grows": Found(_loop_that_grows),
    "loops_hand_on": Found(_loops_hand_on),
    "maximum_from_nan": Found(_maximum_from_nan),
    "never_of_these_extents": Found(_never),
    "never_of_one_extent": Found(_never_of_one),
    "nothing_beside_nothing": Found(_nothing_beside),
    "one_for_many": Found(_one_for_many),
    "pack_oob": Found(_pack),
    "pack_more": Found(_pack_more),
    "pad_of_known": Found(_pad_of_known),
    "pack_of_known": Found(_pack_of_known),
    "pad_of_other_extent": Found(_pad_of_other),
    "pad_that_asserts": Found(_pad_that_asserts),
    "pad_to_nothing": Found(_pad_to_nothing),
    "product_lse_bf16": Found(
        _product, smaller=(("1024", "40"), ("4096", "72"), ("2048", "56"))
    ),
    "reshape_oob": Found(_reshape),
    "pad_for_nobody": Found(_pad_for_nobody),
    "row_of_nothing": Found(_row_of_nothing),
    "scan_total": Found(_scan_total),
    "shape_overflow": Found(refused="4294967296x4294967296"),
    "slice_between_ones": Found(_slice_between_ones),
    "slice_at_negative": Found(_slice_at_negative),
    "slice_of_known": Found(_slice_of_known),
    "slice_of_no_rows": Found(_slice_of_no_rows),
    "slice_of_nothing": Found(_slice_of_nothing),
    "sm15": Found(_rows),
    "steps_between_ones": Found(_steps),
    "transpose_of_one": Found(refused="MLIR's parser does not survive this program"),
    "unpack_less": Found(_unpack_less),
    "unpack_oob": Found(_unpack),
    "vector_print": Found(refused="vector.print"),
}  # fmt: skip
