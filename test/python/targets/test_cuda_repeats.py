"""Results that are the same along a dim: each repetition is written, whichever kernel makes them.

Heads of keys that several heads of queries share are such results of a product.
"""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from drivers.simulated import execute
from redfuse.store.data import random_inputs

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(4)

K, HEADS = 64, 3
# Of results: extents, and the map from their dims to those of the product, rows and columns, or to
# rows, heads and the columns of each. R is what is repeated.
PLACES = {
    "first": (("R", "M", "N"), "(r, m, n) -> (m, n)"),
    "middle": (("M", "R", "N"), "(m, r, n) -> (m, n)"),
    "last": (("M", "N", "R"), "(m, n, r) -> (m, n)"),
    "two": (("R", "M", "2", "N"), "(r, m, s, n) -> (m, n)"),
    "heads": (("H", "R", "M", "D"), "(h, r, m, d) -> (m, h, d)"),
}


def program(place: str, dtype: str, rows: int, columns: int, repeated: int) -> str:
    """A product of a matrix of rows and a transposed one of columns, repeated."""
    names, read_map = PLACES[place]
    extents = {"R": repeated, "M": rows, "N": columns, "H": HEADS, "D": columns // HEADS, "2": 2}
    result = "x".join(str(extents[n]) for n in names) + f"x{dtype}"
    small, wide = f"{rows}x{columns}x{dtype}", f"{rows}x{columns}xf32"
    narrow = (
        ""
        if dtype == "f32"
        else f"""
    %e = tensor.empty() : tensor<{small}>
    %n = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>,
        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%p : tensor<{wide}>) outs(%e : tensor<{small}>) {{
    ^bb0(%a: f32, %o: {dtype}):
      %c = arith.truncf %a : f32 to {dtype}
      linalg.yield %c : {dtype}
    }} -> tensor<{small}>"""
    )
    value, shape = ("%p" if dtype == "f32" else "%n"), small
    split = ""
    if place == "heads":
        shape = f"{rows}x{HEADS}x{columns // HEADS}x{dtype}"
        split = f"""
    %s = tensor.expand_shape {value} [[0], [1, 2]]
      output_shape [{rows}, {HEADS}, {columns // HEADS}] : tensor<{small}> into tensor<{shape}>"""
        value = "%s"
    extend = [f"%{x}w = arith.extf %{x} : {dtype} to f32" if dtype != "f32" else "" for x in "xy"]
    x, y = ("%xw", "%yw") if dtype != "f32" else ("%x", "%y")
    dims = read_map.split(" -> ")[0]
    kinds = ", ".join(['"parallel"'] * len(names))
    return f"""
  func.func @main(%l: tensor<{rows}x{K}x{dtype}>, %r: tensor<{columns}x{K}x{dtype}>)
      -> tensor<{result}> {{
    %zero = arith.constant 0.0 : f32
    %i = tensor.empty() : tensor<{wide}>
    %f = linalg.fill ins(%zero : f32) outs(%i : tensor<{wide}>) -> tensor<{wide}>
    %p = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%l, %r : tensor<{rows}x{K}x{dtype}>, tensor<{columns}x{K}x{dtype}>)
      outs(%f : tensor<{wide}>) {{
    ^bb0(%x: {dtype}, %y: {dtype}, %o: f32):
      {extend[0]}
      {extend[1]}
      %m = arith.mulf {x}, {y} : f32
      %q = arith.addf %o, %m : f32
      linalg.yield %q : f32
    }} -> tensor<{wide}>{narrow}{split}
    %t = tensor.empty() : tensor<{result}>
    %u = linalg.generic {{indexing_maps = [affine_map<{read_map}>, affine_map<{dims} -> {dims}>],
        iterator_types = [{kinds}]}}
      ins({value} : tensor<{shape}>) outs(%t : tensor<{result}>) {{
    ^bb0(%a: {dtype}, %o: {dtype}):
      linalg.yield %a : {dtype}
    }} -> tensor<{result}>
    return %u : tensor<{result}>
  }}"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["cuda:sm_90a", "cuda:sm_80"])
@pytest.mark.parametrize(("rows", "columns"), [(128, 192), (131, 72), (3, 96)])
@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("place", PLACES)
def test_a_product_is_repeated(
    place: str, dtype: str, rows: int, columns: int, target: str
) -> None:
    text = program(place, dtype, rows, columns, 4)
    exe = redfuse.compile(text, target=target, options={"cache": False})
    inputs = random_inputs(exe.signature, 7)
    left, right = (np.asarray(x).astype(np.float64) for x in inputs)
    product = left @ right.T
    names, read_map = PLACES[place]
    if place == "heads":
        product = product.reshape(rows, HEADS, -1).transpose(1, 0, 2)[:, None]
        product = product.repeat(4, 1)
    else:
        dims, kept = (part.strip("()").split(", ") for part in read_map.split(" -> "))
        at = tuple(slice(None) if d in kept else None for d in dims)
        shape = tuple({"M": rows, "N": columns, "R": 4, "2": 2}[n] for n in names)
        product = np.broadcast_to(product[at], shape)
    want = np.full(product.shape, np.nan, inputs[0].dtype)
    (got,), _ = execute(exe, inputs, [want])
    # A rounding of the result, and sums of K products of at most their own rounding in f32.
    unit = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 0.0}[dtype]
    bound = unit * np.abs(product) + 4 * K * 2.0**-24 * (np.abs(left) @ np.abs(right.T)).max()
    assert (np.abs(np.asarray(got).astype(np.float64) - product) <= bound).all()
