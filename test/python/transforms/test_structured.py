"""Structured operations that are no loops over maps: gathers, packs, tables, divisions."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse

WAYS = pytest.mark.parametrize("fuse", [True, False])


def made(text: str, fuse: bool) -> redfuse.Executable:
    return redfuse.compile(text, options={"cache": False, "fuse": fuse})


def gather(source: str, indices: str, dims: str, result: str) -> str:
    return f"""
func.func @main(%x: {source}, %i: {indices}) -> {result} {{
  %r = tensor.gather %x[%i] gather_dims([{dims}]) : ({source}, {indices}) -> {result}
  return %r : {result}
}}"""


@WAYS
def test_gathers(fuse: bool) -> None:
    x = np.random.default_rng(0).normal(size=(5, 6, 7)).astype(np.float32)
    at = np.array([[1, 4], [0, 6], [3, 2]])
    pairs = gather("tensor<5x6x7xf32>", "tensor<3x2xi64>", "0, 2", "tensor<3x6xf32>")
    np.testing.assert_array_equal(made(pairs, fuse)(x, at), x[at[:, 0], :, at[:, 1]])
    rows = gather("tensor<5x?x?xf32>", "tensor<?x1xi64>", "1", "tensor<?x5x1x?xf32>")
    got = made(rows, fuse)(x, at[:, :1].copy())
    np.testing.assert_array_equal(got, x[:, at[:, 0]].transpose(1, 0, 2)[:, :, None])


@WAYS
@pytest.mark.parametrize("index", [-1, 5, 1 << 50])
def test_a_gather_outside_is_an_error(index: int, fuse: bool) -> None:
    text = gather("tensor<?x4xf32>", "tensor<1x1xi64>", "0", "tensor<1x4xf32>")
    with pytest.raises(redfuse.ExecutionError, match=r":\d+:\d+: tensor.gather: an index outside"):
        made(text, fuse)(np.ones((5, 4), np.float32), np.array([[index]]))


@WAYS
def test_packed_and_unpacked(fuse: bool) -> None:
    text = """
func.func @main(%x: tensor<7x9xf32>) -> (tensor<2x3x4x4xf32>, tensor<7x9xf32>) {
  %pad = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<2x3x4x4xf32>
  %p = linalg.pack %x padding_value(%pad : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %e
      : tensor<7x9xf32> -> tensor<2x3x4x4xf32>
  %f = tensor.empty() : tensor<7x9xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %f
      : tensor<2x3x4x4xf32> -> tensor<7x9xf32>
  return %p, %u : tensor<2x3x4x4xf32>, tensor<7x9xf32>
}"""
    x = np.random.default_rng(0).normal(size=(7, 9)).astype(np.float32)
    padded = np.pad(x, ((0, 1), (0, 3)), constant_values=3)
    packed, back = made(text, fuse)(x)
    np.testing.assert_array_equal(packed, padded.reshape(2, 4, 3, 4).transpose(0, 2, 1, 3))
    np.testing.assert_array_equal(back, x)


@WAYS
@pytest.mark.parametrize("op", ["divsi", "remsi", "divui", "remui", "floordivsi", "ceildivsi"])
def test_divisions_without_a_result_end_no_process(op: str, fuse: bool) -> None:
    text = f"""
func.func @main(%x: tensor<19xi32>, %y: tensor<19xi32>) -> tensor<19xi32> {{
  %r = arith.{op} %x, %y : tensor<19xi32>
  return %r : tensor<19xi32>
}}"""
    x = np.random.default_rng(0).integers(0, 99, 19).astype(np.int32)
    y = np.random.default_rng(1).integers(1, 9, 19).astype(np.int32)
    y[::5] = 0
    x[2], y[2] = np.iinfo(np.int32).min, -1
    got = made(text, fuse)(x, y)
    fine = (y != 0) & (np.arange(19) != 2)
    whole = -(-x // np.maximum(y, 1)) if "ceil" in op else x // np.maximum(y, 1)
    expected = x % np.maximum(y, 1) if "rem" in op else whole
    np.testing.assert_array_equal(got[fine], expected[fine])


def test_a_result_that_is_no_array() -> None:
    text = "func.func @main(%x: f32) -> f32 {\n return %x : f32\n}"
    match = r"<text>:1:1: result 0 of main: .* tensor<f32> for one number, got f32"
    with pytest.raises(redfuse.UnsupportedError, match=match):
        redfuse.compile(text)


def test_a_missing_table_is_named() -> None:
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = arith.constant dense_resource<weights> : tensor<4xf32>
  %y = arith.mulf %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}"""
    with pytest.raises(redfuse.UnsupportedError, match="<text>:3:8: .*resource does not exist"):
        redfuse.compile(text, options={"cache": False})


def test_a_gather_of_which_only_the_check_is_left() -> None:
    """As in exported gradients: nobody needs what was gathered, but the labels are checked."""
    text = """
#of = affine_map<(i) -> (i)>
func.func @main(%x: tensor<4x9xf32>, %label: tensor<4xi64>) -> tensor<4x9xf32> {
  %c9 = arith.constant 9 : i64
  %e = tensor.empty() : tensor<4xf32>
  %unused = linalg.generic {indexing_maps = [#of, #of], iterator_types = ["parallel"]}
      ins(%label : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%l: i64, %o: f32):
    %small = arith.cmpi slt, %l, %c9 : i64
    cf.assert %small, "index must be smaller than dim size"
    %i = linalg.index 0 : index
    %j = arith.index_cast %l : i64 to index
    %v = tensor.extract %x[%i, %j] : tensor<4x9xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %f = tensor.empty() : tensor<4x9xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x9xf32>) outs(%f : tensor<4x9xf32>)
       -> tensor<4x9xf32>
  return %r : tensor<4x9xf32>
}"""
    executable = made(text, True)
    assert len(executable.explanation["kernels"]) == 1
    x = np.random.default_rng(0).normal(size=(4, 9)).astype(np.float32)
    want = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(executable(x, np.array([0, 8, 3, 1])), want, rtol=1e-5)
    with pytest.raises(redfuse.ExecutionError, match="must be smaller than dim size"):
        executable(x, np.array([0, 9, 3, 1]))
