"""Sums of millions of f32 keep their digits: of every 512 addends a sum of their own is made."""

from __future__ import annotations

import math

import numpy as np
import pytest
import redfuse

UNIT = 2.0**-24  # a rounding of f32, relative
ADDENDS = 512  # kAddends of lib/Codegen/CPU/Tuning.h
FEWEST = 8 * 4  # accumulators of a loop: lanes of the narrowest vectors, times copies

SUM = """
func.func @main(%x: tensor<{shape}xf32>) -> tensor<{rows}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{rows}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{rows}xf32>) -> tensor<{rows}xf32>
  %sum = linalg.reduce {{arith.addf}} ins(%x : tensor<{shape}xf32>)
      outs(%init : tensor<{rows}xf32>) dimensions = [{dims}]
  return %sum : tensor<{rows}xf32>
}}
"""
SQUARES = """
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<{rows}x{columns}xf32>) -> tensor<{rows}xf32> {{
  %zero = arith.constant 0.0 : f32
  %count = arith.constant {columns}.0 : f32
  %empty = tensor.empty() : tensor<{rows}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{rows}xf32>) -> tensor<{rows}xf32>
  %sum = linalg.reduce {{arith.addf}} ins(%x : tensor<{rows}x{columns}xf32>)
      outs(%init : tensor<{rows}xf32>) dimensions = [1]
  %squares = linalg.generic {{indexing_maps = [#rows, #row, #row],
      iterator_types = ["parallel", "reduction"]}}
      ins(%x, %sum : tensor<{rows}x{columns}xf32>, tensor<{rows}xf32>)
      outs(%init : tensor<{rows}xf32>) {{
  ^bb0(%value: f32, %total: f32, %to: f32):
    %mean = arith.divf %total, %count : f32
    %away = arith.subf %value, %mean : f32
    %square = arith.mulf %away, %away : f32
    %added = arith.addf %to, %square : f32
    linalg.yield %added : f32
  }} -> tensor<{rows}xf32>
  return %squares : tensor<{rows}xf32>
}}
"""


def bound(count: int) -> float:
    """Of a sum of positive numbers, relative. Roundings of additions are as good as random, so that
    a chain of n additions is off by the root of n of them; four times that is never met. The
    chains are those of 512 addends and that of the sums."""
    return 4 * UNIT * math.sqrt(ADDENDS + count / (FEWEST * ADDENDS))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "shape, dims",
    [
        ((2, 5_000_011), (1,)),
        ((2, 1009, 63, 67), (1, 2, 3)),
        ((1_000_003, 5), (0,)),
        ((3, 500), (1,)),
    ],
)
def test_a_sum(shape, dims, seed):
    rows = tuple(n for d, n in enumerate(shape) if d not in dims)
    x = np.random.default_rng(seed).random(shape, dtype=np.float32)
    text = SUM.format(shape="x".join(map(str, shape)), rows="x".join(map(str, rows)),
                      dims=", ".join(map(str, dims)))  # fmt: skip
    exact = x.sum(axis=dims, dtype=np.float64)
    error = np.abs(redfuse.compile(text)(x) - exact).max() / exact.max()
    assert error <= bound(x.size // exact.size)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("columns", [2_000_003, 16_777_216])
def test_squares_of_differences(columns, seed):
    x = np.random.default_rng(seed).random((2, columns), dtype=np.float32)
    exact = ((x - x.mean(axis=1, dtype=np.float64, keepdims=True)) ** 2).sum(axis=1)
    found = redfuse.compile(SQUARES.format(rows=2, columns=columns))(x)
    error = np.abs(found - exact).max() / exact.max()
    assert error <= bound(columns)


def test_infinities_and_nans_of_one_block_are_those_of_the_sum():
    x = np.ones((3, 100_003), dtype=np.float32)
    x[0, 70_001] = np.inf
    x[1, 5], x[1, 90_000] = np.inf, -np.inf
    x[2, 99_999] = np.nan
    with np.errstate(invalid="ignore"):
        expected = x.sum(axis=1)
    text = SUM.format(shape="3x100003", rows="3", dims="1")
    np.testing.assert_array_equal(redfuse.compile(text)(x), expected)
