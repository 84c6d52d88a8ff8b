"""Loops of the host that carry tensors: what one round made is read in the next."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
"""
SINKHORN = f"""
func.func @main(%x: tensor<9x13xf32>, %rounds: index) -> tensor<9x13xf32> {{{HEAD}
  %e = tensor.empty() : tensor<9x13xf32>
  %e9 = tensor.empty() : tensor<9xf32>
  %e13 = tensor.empty() : tensor<13xf32>
  %z9 = linalg.fill ins(%zero : f32) outs(%e9 : tensor<9xf32>) -> tensor<9xf32>
  %z13 = linalg.fill ins(%zero : f32) outs(%e13 : tensor<13xf32>) -> tensor<13xf32>
  %p = linalg.exp ins(%x : tensor<9x13xf32>) outs(%e : tensor<9x13xf32>) -> tensor<9x13xf32>
  %r = scf.for %k = %c0 to %rounds step %c1 iter_args(%q = %p) -> (tensor<9x13xf32>) {{
    %s = linalg.reduce {{arith.addf}} ins(%q : tensor<9x13xf32>) outs(%z9 : tensor<9xf32>)
         dimensions = [1]
    %sb = linalg.broadcast ins(%s : tensor<9xf32>) outs(%e : tensor<9x13xf32>) dimensions = [1]
    %d = linalg.div ins(%q, %sb : tensor<9x13xf32>, tensor<9x13xf32>)
         outs(%e : tensor<9x13xf32>) -> tensor<9x13xf32>
    %t = linalg.reduce {{arith.addf}} ins(%d : tensor<9x13xf32>) outs(%z13 : tensor<13xf32>)
         dimensions = [0]
    %tb = linalg.broadcast ins(%t : tensor<13xf32>) outs(%e : tensor<9x13xf32>) dimensions = [0]
    %u = linalg.div ins(%d, %tb : tensor<9x13xf32>, tensor<9x13xf32>)
         outs(%e : tensor<9x13xf32>) -> tensor<9x13xf32>
    %same = arith.cmpi eq, %k, %c1 : index
    %y = scf.if %same -> (tensor<9x13xf32>) {{
      scf.yield %q : tensor<9x13xf32>
    }} else {{
      scf.yield %u : tensor<9x13xf32>
    }}
    scf.yield %y : tensor<9x13xf32>
  }}
  return %r : tensor<9x13xf32>
}}
"""
SWAP = f"""
func.func @main(%x: tensor<11xf32>, %y: tensor<11xf32>, %rounds: index)
    -> (tensor<11xf32>, tensor<11xf32>) {{{HEAD}
  %r:2 = scf.for %k = %c0 to %rounds step %c1 iter_args(%a = %x, %b = %y)
      -> (tensor<11xf32>, tensor<11xf32>) {{
    %e = tensor.empty() : tensor<11xf32>
    %s = linalg.softmax dimension(0) ins(%a : tensor<11xf32>) outs(%e : tensor<11xf32>)
         -> tensor<11xf32>
    scf.yield %b, %s : tensor<11xf32>, tensor<11xf32>
  }}
  return %r#0, %r#1 : tensor<11xf32>, tensor<11xf32>
}}
"""
ONLINE = f"""
func.func @main(%x: tensor<4x64xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{{HEAD}
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %m0 = linalg.fill ins(%least : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %l0 = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r:2 = scf.for %k = %c0 to %c64 step %c16 iter_args(%m = %m0, %l = %l0)
      -> (tensor<4xf32>, tensor<4xf32>) {{
    %p = tensor.extract_slice %x[0, %k] [4, 16] [1, 1] : tensor<4x64xf32> to tensor<4x16xf32>
    %n = linalg.reduce {{arith.maximumf}} ins(%p : tensor<4x16xf32>) outs(%m : tensor<4xf32>)
         dimensions = [1]
    %old = linalg.map ins(%l, %m, %n : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
           outs(%e : tensor<4xf32>) (%a: f32, %b: f32, %c: f32, %o: f32) {{
      %d = arith.subf %b, %c : f32
      %w = math.exp %d : f32
      %f = arith.mulf %a, %w : f32
      linalg.yield %f : f32
    }}
    %new = linalg.generic {{
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                         affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}}
        ins(%p, %n : tensor<4x16xf32>, tensor<4xf32>) outs(%old : tensor<4xf32>) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %d = arith.subf %a, %b : f32
      %w = math.exp %d : f32
      %f = arith.addf %o, %w : f32
      linalg.yield %f : f32
    }} -> tensor<4xf32>
    scf.yield %n, %new : tensor<4xf32>, tensor<4xf32>
  }}
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}}
"""
SWAP_ANY = SWAP.replace("tensor<11xf32>", "tensor<?xf32>").replace(
    "%e = tensor.empty()", "%n = tensor.dim %x, %c0 : tensor<?xf32>\n    %e = tensor.empty(%n)"
)
PRODUCTS = f"""
func.func @main(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %rounds: index)
    -> tensor<?x?xf32> {{{HEAD}
  %r = scf.for %k = %c0 to %rounds step %c1 iter_args(%a = %x) -> (tensor<?x?xf32>) {{
    %s = arith.mulf %a, %y : tensor<?x?xf32>
    scf.yield %s : tensor<?x?xf32>
  }}
  return %r : tensor<?x?xf32>
}}
"""
BRANCH_ANY = f"""
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %rounds: index) -> tensor<?xf32> {{{HEAD}
  %some = arith.cmpi ne, %rounds, %c0 : index
  %r = scf.if %some -> (tensor<?xf32>) {{
    %s = math.exp %x : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }} else {{
    scf.yield %y : tensor<?xf32>
  }}
  %t = arith.addf %r, %r : tensor<?xf32>
  return %t : tensor<?xf32>
}}
"""


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("rounds", [0, 1, 2, 7])
def test_balanced_rows_and_columns(rounds: int, fuse: bool) -> None:
    exe = redfuse.compile(SINKHORN, options={"fuse": fuse})
    x = np.random.default_rng(rounds).standard_normal((9, 13)).astype(np.float32)
    want = np.exp(x.astype(np.float64))
    for number in range(rounds):
        if number != 1:
            want = want / want.sum(1, keepdims=True)
            want = want / want.sum(0, keepdims=True)
    for _ in range(3):
        np.testing.assert_allclose(exe(x, rounds), want, rtol=1e-5)


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 50])
def test_tensors_that_change_places(rounds: int, fuse: bool) -> None:
    exe = redfuse.compile(SWAP, options={"fuse": fuse})
    x, y = np.random.default_rng(rounds).standard_normal((2, 11)).astype(np.float32)
    a, b = x.astype(np.float64), y.astype(np.float64)
    for _ in range(rounds):
        a, b = b, softmax(a)
    for got, want, given in zip(exe(x, y, rounds), (a, b), (x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
        assert np.isfinite(given).all()


def test_an_online_softmax_written_as_a_loop() -> None:
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32) * 9
    largest, total = redfuse.compile(ONLINE)(x)
    np.testing.assert_array_equal(largest, x.max(1))
    want = np.exp(x.astype(np.float64) - x.max(1, keepdims=True)).sum(1)
    np.testing.assert_allclose(total, want, rtol=1e-5)


@pytest.mark.parametrize("fuse", [True, False])
def test_branches_have_extents_of_their_own(fuse: bool) -> None:
    exe = redfuse.compile(BRANCH_ANY, options={"fuse": fuse})
    x, y = np.float32([0, 1, 2]), np.float32([3, 4])
    np.testing.assert_allclose(exe(x, y, 1), 2 * np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(exe(x, y, 0), y + y)


@pytest.mark.parametrize("fuse", [True, False])
def test_tensors_of_any_extents_that_change_places(fuse: bool) -> None:
    exe = redfuse.compile(SWAP_ANY, options={"fuse": fuse})
    x, y = np.random.default_rng(0).standard_normal((2, 7)).astype(np.float32)
    a, b = exe(x, y, 3)
    np.testing.assert_allclose(a, softmax(y.astype(np.float64)), rtol=1e-5)
    np.testing.assert_allclose(b, softmax(softmax(x.astype(np.float64))), rtol=1e-5)
