"""Sorts, k-th values and top-k of many ranks: of values that hurt, on the CPU and on simulated GPUs, equal
in every bit to a stable order of the same elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import redfuse
from drivers.simulated import execute

FLOATS = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


@dataclass(frozen=True)
class Case:
    """Ranks [start, start + count) of rows of ``length`` elements."""

    rows: int
    length: int
    start: int
    count: int
    dtype: str = "f32"
    descending: bool = False
    kind: str = "normal"
    is_open: bool = False

    def __str__(self) -> str:
        order = "down" if self.descending else "up"
        ranks = f"{self.start}+{self.count}of{self.length}"
        size = "-open" if self.is_open else ""
        return f"{self.kind}-{self.dtype}-{self.rows}x{ranks}-{order}{size}"

    def program(self) -> str:
        """The program: a sort, and a slice of it."""
        t = self.dtype
        n = "?" if self.is_open else str(self.length)
        k = "?" if self.is_open and self.count == self.length else str(self.count)
        if t in INTEGERS:
            stays = f"arith.cmpi {'sge' if self.descending else 'sle'}, %a, %b : {t}"
            order = f"%s = {stays}"
        else:
            last = "%a" if self.descending else "%b"
            order = (
                f"%o = arith.cmpf {'oge' if self.descending else 'ole'}, %a, %b : {t}\n"
                f"    %u = arith.cmpf uno, {last}, {last} : {t}\n"
                "    %s = arith.ori %o, %u : i1"
            )
        x, p = f"tensor<{self.rows}x{n}x{t}>", f"tensor<{self.rows}x{n}xi64>"
        v, i = f"tensor<{self.rows}x{k}x{t}>", f"tensor<{self.rows}x{k}xi64>"
        c = "%n" if k == "?" else k
        size = "%n" if self.is_open else ""
        return f"""
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: {x}) -> ({v}, {i}) {{
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : {x}
  %e = tensor.empty({size}) : {p}
  %p = linalg.generic {{indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}}
      outs(%e : {p}) {{
  ^bb0(%o: i64):
    %j = linalg.index 1 : index
    %w = arith.index_cast %j : index to i64
    linalg.yield %w : i64
  }} -> {p}
  %r:2 = tm_tensor.sort dimension(1) outs(%x, %p : {x}, {p}) {{
  ^bb0(%a: {t}, %b: {t}, %q: i64, %z: i64):
    {order}
    tm_tensor.yield %s : i1
  }} -> {x}, {p}
  %v = tensor.extract_slice %r#0[0, {self.start}] [{self.rows}, {c}] [1, 1] : {x} to {v}
  %i = tensor.extract_slice %r#1[0, {self.start}] [{self.rows}, {c}] [1, 1] : {p} to {i}
  return %v, %i : {v}, {i}
}}
"""

    def data(self, seed: int) -> np.ndarray:
        """Rows of the kind."""
        random = np.random.default_rng(seed)
        shape = (self.rows, self.length)
        dtype: Any = FLOATS.get(self.dtype) or INTEGERS[self.dtype]
        if self.dtype in INTEGERS:
            limits = np.iinfo(dtype)
            x = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
            return random.integers(-3, 3, shape).astype(dtype) if self.kind == "ties" else x
        x = random.standard_normal(shape)
        if self.kind == "ties":
            x = random.integers(-3, 4, shape) * 0.5
            x = np.where((x == 0) & (random.random(shape) < 0.5), -0.0, x)
        elif self.kind == "special":
            pool = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]
            x = np.where(random.random(shape) < 0.6, random.choice(pool, shape), x)
        elif self.kind == "equal":
            x = np.full(shape, 1.5)
        elif self.kind == "ascending":
            x = np.sort(x, -1)
        elif self.kind == "descending":
            x = -np.sort(-x, -1)
        elif self.kind == "period":  # the share of one thread has all that is large
            x = np.where(np.arange(self.length) % 512 == 3, x + 100, x)
        return x.astype(dtype)

    def expected(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a stable sort says, NaN being the largest."""
        wide = x if self.dtype in INTEGERS else x.astype(np.float64)
        places = []
        for row in wide:
            codes = np.unique(row, return_inverse=True, equal_nan=True)[1].reshape(-1)
            places.append(np.argsort(-codes if self.descending else codes, kind="stable"))
        index = np.stack(places)[:, self.start : self.start + self.count]
        return np.take_along_axis(x, index, -1), index


def bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(np.uint8)


def compare(case: Case, seed: int, target: str) -> list[str]:
    """Runs it; what was launched."""
    x = case.data(seed)
    values, places = case.expected(x)
    exe = redfuse.compile(case.program(), target=target, options={"cache": False})
    launched: list[str] = []
    if target == "cpu":
        got = exe(x)
    else:
        got, launched = execute(exe, [x], [values, places], seed)
    np.testing.assert_array_equal(np.asarray(got[1]), places)
    np.testing.assert_array_equal(bits(np.asarray(got[0])), bits(values))
    return launched


SMALL = [
    Case(3, 1, 0, 1), Case(5, 2, 0, 2), Case(7, 3, 0, 3, descending=True),
    Case(3, 17, 0, 17), Case(4, 31, 0, 31, kind="ties"), Case(2, 64, 0, 64, descending=True),
    Case(3, 127, 63, 1), Case(2, 331, 0, 331, kind="special"),
    Case(3, 331, 330, 1, kind="ties"), Case(2, 512, 0, 511, kind="equal", descending=True),
    Case(2, 1000, 99, 7, kind="special", descending=True),
    Case(1, 1024, 0, 1024, kind="descending"), Case(1, 1201, 600, 1, kind="ties"),
]  # fmt: skip
TYPES = [
    Case(2, 203, 0, 203, dtype, descending, kind)
    for dtype in (*FLOATS, *INTEGERS)
    for descending in (False, True)
    for kind in (("ties",) if dtype in INTEGERS else ("ties", "special"))
]
FOUND = [
    Case(2, 3000, 0, 40, kind=kind, descending=descending)
    for kind in ("normal", "ties", "special", "equal", "ascending", "descending", "period")
    for descending in (False, True)
] + [Case(1, 9001, 0, 300, "bf16", True, "ties"), Case(1, 3000, 0, 40, "f64", True)]
PIECES = [
    Case(2, 40000, 0, 24, kind=kind, descending=True) for kind in ("ties", "special", "ascending")
]
MERGED = [
    Case(2, 8195, 0, 8195, "f64", kind="ties"), Case(1, 20011, 5000, 9000, kind="special"),
    Case(1, 17000, 0, 17000, "bf16", True, "ties"),
]  # fmt: skip
OPEN = [
    Case(2, 300, 0, 300, kind="ties", is_open=True),
    Case(2, 5000, 0, 5000, kind="special", is_open=True, descending=True),
    Case(3, 2000, 0, 40, kind="ties", is_open=True, descending=True),
]


@pytest.mark.parametrize("case", [*SMALL, *TYPES, *FOUND, *MERGED, *OPEN], ids=str)
@pytest.mark.sample(5)
def test_on_the_cpu(case: Case) -> None:
    for seed in range(3):
        compare(case, seed, "cpu")


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", [*SMALL, *TYPES], ids=str)
def test_rows_sorted_in_registers(case: Case) -> None:
    assert "select_0" in compare(case, 0, "cuda:sm_90a")


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", FOUND, ids=str)
def test_ranks_found_by_a_threshold(case: Case) -> None:
    assert "select_0" in compare(case, 0, "cuda:sm_90a")


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", PIECES, ids=str)
def test_ranks_of_pieces_of_few_rows(case: Case) -> None:
    assert compare(case, 0, "cuda:sm_90a")[:2] == ["select_0", "select_1"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", [*MERGED, *OPEN], ids=str)
def test_rows_merged(case: Case) -> None:
    compare(case, 0, "cuda:sm_90a")
