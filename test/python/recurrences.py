"""Programs with recurrences, prefixes and lists, for test_ordered.py and test_scan.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import redfuse

SCHEDULES = ("resident", "stream")


def compiled(source: str, schedule: str) -> Any:
    """The executable of ``source`` with one schedule."""
    return redfuse.compile(source, target="cpu", options={"schedule": schedule, "cache": False})


def is_streamed(exe: Any) -> bool:
    """Whether some kernel carries state from segment to segment."""
    return "redfuse.fold" in str(exe.ir["derive"])


def error(got: Any, expected: Any) -> float:
    """The largest difference over the largest magnitude; infinities and NaN must agree."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    assert got.shape == expected.shape
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_array_equal(got[~finite], expected[~finite])
    if not finite.any():
        return 0.0
    scale = max(1e-30, float(np.abs(expected[finite]).max()))
    return float(np.abs(got[finite] - expected[finite]).max()) / scale


def recurrence(shape: tuple[int | str, int | str], body: str, init: str = "0.0") -> str:
    """h_j from ``%h``, ``%x`` and ``%y`` by ``body`` (it yields ``%n``), as a linalg.generic."""
    rows, columns = shape
    kind, state = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    size = "" if rows != "?" else "%r"
    return f"""
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%a: {kind}, %b: {kind}) -> {state} {{
  %z = arith.constant {init} : f32
  %c0 = arith.constant 0 : index
  %r = tensor.dim %a, %c0 : {kind}
  %e = tensor.empty({size}) : {state}
  %i = linalg.fill ins(%z : f32) outs(%e : {state}) -> {state}
  %o = linalg.generic {{indexing_maps = [#m, #m, #r], iterator_types = ["parallel", "reduction"]}}
      ins(%a, %b : {kind}, {kind}) outs(%i : {state}) {{
  ^bb0(%x: f32, %y: f32, %h: f32):
    {body}
    linalg.yield %n : f32
  }} -> {state}
  return %o : {state}
}}
"""


def prefixes(shape: tuple[int | str, int | str], body: str, init: str = "0.0") -> str:
    """The same, of which every h_j is a result (``body`` also makes ``%q``, what is written)."""
    rows, columns = shape
    kind, state = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    sizes = ", ".join(n for n, s in (("%r", rows), ("%s", columns)) if s == "?")
    size = "%r" if rows == "?" else ""
    return f"""
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%a: {kind}, %b: {kind}) -> ({kind}, {state}) {{
  %z = arith.constant {init} : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tensor.dim %a, %c0 : {kind}
  %s = tensor.dim %a, %c1 : {kind}
  %e = tensor.empty({size}) : {state}
  %p = tensor.empty({sizes}) : {kind}
  %i = linalg.fill ins(%z : f32) outs(%e : {state}) -> {state}
  %o:2 = linalg.generic {{indexing_maps = [#m, #m, #r, #m],
      iterator_types = ["parallel", "reduction"]}}
      ins(%a, %b : {kind}, {kind}) outs(%i, %p : {state}, {kind}) {{
  ^bb0(%x: f32, %y: f32, %h: f32, %u: f32):
    {body}
    linalg.yield %n, %q : f32, f32
  }} -> ({state}, {kind})
  return %o#1, %o#0 : {kind}, {state}
}}
"""


def gated_attention(batch: int, steps: int, keys: int, values: int) -> str:
    """S_t = g_t * S_(t-1) + k_t v_t^T as loops that store every S, then o_t = q_t . S_t."""
    b, t, i, j = batch, steps, keys, values
    return f"""
#q = affine_map<(b, t, j, i) -> (b, t, i)>
#s = affine_map<(b, t, j, i) -> (b, t, i, j)>
#o = affine_map<(b, t, j, i) -> (b, t, j)>
func.func @main(%q: tensor<{b}x{t}x{i}xf32>, %k: tensor<{b}x{t}x{i}xf32>,
    %v: tensor<{b}x{t}x{j}xf32>, %g: tensor<{b}x{t}xf32>) -> tensor<{b}x{t}x{j}xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nb = arith.constant {b} : index
  %nt = arith.constant {t} : index
  %ni = arith.constant {i} : index
  %nj = arith.constant {j} : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{b}x{t}x{i}x{j}xf32>
  %all = scf.for %ib = %c0 to %nb step %c1 iter_args(%s0 = %e) -> tensor<{b}x{t}x{i}x{j}xf32> {{
    %r0 = scf.for %ii = %c0 to %ni step %c1 iter_args(%s1 = %s0) -> tensor<{b}x{t}x{i}x{j}xf32> {{
      %r1 = scf.for %ij = %c0 to %nj step %c1
          iter_args(%s2 = %s1) -> tensor<{b}x{t}x{i}x{j}xf32> {{
        %r2:2 = scf.for %it = %c0 to %nt step %c1
            iter_args(%h = %z, %s3 = %s2) -> (f32, tensor<{b}x{t}x{i}x{j}xf32>) {{
          %gt = tensor.extract %g[%ib, %it] : tensor<{b}x{t}xf32>
          %kt = tensor.extract %k[%ib, %it, %ii] : tensor<{b}x{t}x{i}xf32>
          %vt = tensor.extract %v[%ib, %it, %ij] : tensor<{b}x{t}x{j}xf32>
          %kv = arith.mulf %kt, %vt : f32
          %gh = arith.mulf %gt, %h : f32
          %n = arith.addf %gh, %kv : f32
          %w = tensor.insert %n into %s3[%ib, %it, %ii, %ij] : tensor<{b}x{t}x{i}x{j}xf32>
          scf.yield %n, %w : f32, tensor<{b}x{t}x{i}x{j}xf32>
        }}
        scf.yield %r2#1 : tensor<{b}x{t}x{i}x{j}xf32>
      }}
      scf.yield %r1 : tensor<{b}x{t}x{i}x{j}xf32>
    }}
    scf.yield %r0 : tensor<{b}x{t}x{i}x{j}xf32>
  }}
  %oe = tensor.empty() : tensor<{b}x{t}x{j}xf32>
  %of = linalg.fill ins(%z : f32) outs(%oe : tensor<{b}x{t}x{j}xf32>) -> tensor<{b}x{t}x{j}xf32>
  %o = linalg.generic {{indexing_maps = [#q, #s, #o],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%q, %all : tensor<{b}x{t}x{i}xf32>, tensor<{b}x{t}x{i}x{j}xf32>)
      outs(%of : tensor<{b}x{t}x{j}xf32>) {{
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %acc, %m : f32
    linalg.yield %n : f32
  }} -> tensor<{b}x{t}x{j}xf32>
  return %o : tensor<{b}x{t}x{j}xf32>
}}
"""
