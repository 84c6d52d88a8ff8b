"""Updates at positions that are data, as torch-mlir writes index_put, index_add and scatter."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse

ADD = "%a = arith.addf %old, %new : f32\n    tm_tensor.yield %a : f32"
WRITE = "tm_tensor.yield %new : f32"
WAYS = pytest.mark.parametrize("fuse", [True, False])


def program(updates: str, positions: str, output: str, dims: str, region: str) -> str:
    return f"""
func.func @main(%u: {updates}, %i: {positions}, %o: {output}) -> {output} {{
  %s = tm_tensor.scatter {{dimension_map = array<i64: {dims}>}} unique_indices(false)
      ins(%u, %i : {updates}, {positions}) outs(%o : {output}) {{
  ^bb0(%new: f32, %old: f32):
    {region}
  }} -> {output}
  return %s : {output}
}}"""


ROWS = ("tensor<?x1x?xf32>", "tensor<?x1xi64>", "tensor<?x?xf32>", "0")


def made(text: str, fuse: bool) -> redfuse.Executable:
    return redfuse.compile(text, options={"cache": False, "fuse": fuse})


@WAYS
@pytest.mark.parametrize("count", [0, 1, 23])
def test_sums_of_rows(count: int, fuse: bool) -> None:
    """The gradient of an embedding: positions repeat."""
    rng = np.random.default_rng(count)
    positions = rng.integers(0, 7, (count, 1))
    updates = rng.normal(size=(count, 1, 5)).astype(np.float32)
    start = rng.normal(size=(7, 5)).astype(np.float32)
    expected = start.astype(np.float64)
    np.add.at(expected, positions[:, 0], updates[:, 0])
    got = made(program(*ROWS, ADD), fuse)(updates, positions, start)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@WAYS
def test_the_last_of_equal_positions_stays(fuse: bool) -> None:
    positions = np.array([[2, 1], [0, 0], [2, 1]], np.int32)
    updates = np.array([1, 2, 3], np.float32)
    text = program("tensor<3xf32>", "tensor<3x2xi32>", "tensor<3x2xf32>", "0, 1", WRITE)
    start = np.zeros((3, 2), np.float32)
    got = made(text, fuse)(updates, positions, start)
    np.testing.assert_array_equal(got, [[2, 0], [0, 0], [0, 3]])
    np.testing.assert_array_equal(start, 0)


@WAYS
def test_windows_start_at_positions(fuse: bool) -> None:
    """A slice with an extent of its own in the dim that positions speak of."""
    text = program("tensor<2x3x4xf32>", "tensor<2x1xi64>", "tensor<9x4xf32>", "0", WRITE)
    updates = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    expected = np.zeros((9, 4), np.float32)
    expected[5:8], expected[1:4] = updates
    positions = np.array([[5], [1]])
    got = made(text, fuse)(updates, positions, np.zeros((9, 4), np.float32))
    np.testing.assert_array_equal(got, expected)


@WAYS
@pytest.mark.parametrize("position", [-1, 7, 1 << 40])
def test_a_position_outside_is_an_error(position: int, fuse: bool) -> None:
    executable = made(program(*ROWS, ADD), fuse)
    updates, start = np.ones((1, 1, 5), np.float32), np.ones((7, 5), np.float32)
    with pytest.raises(
        redfuse.ExecutionError, match=r":\d+:\d+: tm_tensor.scatter: a position outside"
    ):
        executable(updates, np.array([[position]]), start)
