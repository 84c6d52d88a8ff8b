"""Extents that a program promises and a call does not have: an error, never foreign memory."""

from __future__ import annotations

import numpy
import pytest
import redfuse

CAST = """
func.func @main(%x: tensor<?x?xf32>) -> tensor<?x8xf32> {
  %y = tensor.cast %x : tensor<?x?xf32> to tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %r = linalg.exp ins(%y : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
"""
SLICE = """
func.func @main(%x: tensor<?xf32>, %start: index, %size: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[%start] [%size] [2] : tensor<?xf32> to tensor<?xf32>
  %e = tensor.empty(%size) : tensor<?xf32>
  %r = linalg.exp ins(%y : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


def test_a_cast_names_the_extent_that_is_another() -> None:
    executable = redfuse.compile(CAST, options={"cache": False})
    x = numpy.linspace(-1, 1, 24, dtype=numpy.float32).reshape(3, 8)
    numpy.testing.assert_allclose(executable(x), numpy.exp(x), rtol=1e-6)
    with pytest.raises(
        redfuse.ExecutionError, match=r"<text>:3:\d+: tensor.cast: extent 1 is not 8"
    ):
        executable(x.reshape(4, 6))


@pytest.mark.parametrize(
    ("start", "size", "inside"),
    [
        *((0, 5, True), (1, 4, True), (0, 0, True), (10, 0, True), (8, 1, True)),
        *((1, 5, False), (9, 1, False), (-1, 1, False), (0, -1, False), (0, 6, False)),
    ],
)
def test_a_slice_stays_inside(start: int, size: int, inside: bool) -> None:
    executable = redfuse.compile(SLICE, options={"cache": False})
    x = numpy.linspace(-1, 1, 9, dtype=numpy.float32)
    if inside:
        want = numpy.exp(x[start : start + 2 * size : 2][:size])
        numpy.testing.assert_allclose(executable(x, start, size), want, rtol=1e-6)
        return
    with pytest.raises(redfuse.ExecutionError, match=r"dim 0 reaches outside|negative extent"):
        executable(x, start, size)
