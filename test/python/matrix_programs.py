"""Products of matrices of narrow numbers, as text."""

from __future__ import annotations


def sums(
    kind: str, wide: str, extend: tuple[str, str], rows: int, columns: int, length: int
) -> str:
    """A product of narrow numbers that are made wide by these ops."""
    a, b, c = f"{rows}x{length}x{kind}", f"{length}x{columns}x{kind}", f"{rows}x{columns}x{wide}"
    mul, add = ("muli", "addi") if wide[0] == "i" else ("mulf", "addf")
    zero = "0" if wide[0] == "i" else "0.0"
    lines = [
        f"%{to} = arith.{op} %{of} : {kind} to {wide}"
        for of, to, op in zip("xy", "uv", extend, strict=True)
        if op
    ]
    u, v = ("u", "v") if lines else ("x", "y")
    body = "\n    ".join(lines)
    return f"""
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%a: tensor<{a}>, %b: tensor<{b}>) -> tensor<{c}> {{
  %zero = arith.constant {zero} : {wide}
  %e = tensor.empty() : tensor<{c}>
  %z = linalg.fill ins(%zero : {wide}) outs(%e : tensor<{c}>) -> tensor<{c}>
  %p = linalg.generic {{indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{a}>, tensor<{b}>) outs(%z : tensor<{c}>) {{
  ^bb0(%x: {kind}, %y: {kind}, %s: {wide}):
    {body}
    %w = arith.{mul} %{u}, %{v} : {wide}
    %t = arith.{add} %s, %w : {wide}
    linalg.yield %t : {wide}
  }} -> tensor<{c}>
  return %p : tensor<{c}>
}}
"""


def positive_weights(dim: int, last: int) -> str:
    """relu(q k') v of any numbers of rows and of keys, in bf16 but for the sums."""
    q, v = f"?x{dim}xbf16", f"?x{last}xbf16"
    return f"""
#i = affine_map<(m, n, k) -> (m, k)>
#j = affine_map<(m, n, k) -> (n, k)>
#t = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
#s = affine_map<(m, n) -> (m, n)>
func.func @main(%q: tensor<{q}>, %k: tensor<{q}>, %v: tensor<{v}>) -> tensor<?x{last}xf32> {{
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %q, %c0 : tensor<{q}>
  %n = tensor.dim %k, %c0 : tensor<{q}>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.generic {{indexing_maps = [#i, #j, #o],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%q, %k : tensor<{q}>, tensor<{q}>) outs(%z : tensor<?x?xf32>) {{
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %u = arith.extf %x : bf16 to f32
    %w = arith.extf %y : bf16 to f32
    %p = arith.mulf %u, %w : f32
    %r = arith.addf %sum, %p : f32
    linalg.yield %r : f32
  }} -> tensor<?x?xf32>
  %h = tensor.empty(%m, %n) : tensor<?x?xbf16>
  %p = linalg.generic {{indexing_maps = [#s, #s], iterator_types = ["parallel", "parallel"]}}
      ins(%s : tensor<?x?xf32>) outs(%h : tensor<?x?xbf16>) {{
  ^bb0(%x: f32, %y: bf16):
    %r = arith.maximumf %x, %zero : f32
    %t = arith.truncf %r : f32 to bf16
    linalg.yield %t : bf16
  }} -> tensor<?x?xbf16>
  %f = tensor.empty(%m) : tensor<?x{last}xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<?x{last}xf32>) -> tensor<?x{last}xf32>
  %o = linalg.generic {{indexing_maps = [#i, #t, #o],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%p, %v : tensor<?x?xbf16>, tensor<{v}>) outs(%g : tensor<?x{last}xf32>) {{
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %u = arith.extf %x : bf16 to f32
    %w = arith.extf %y : bf16 to f32
    %r = arith.mulf %u, %w : f32
    %t = arith.addf %sum, %r : f32
    linalg.yield %t : f32
  }} -> tensor<?x{last}xf32>
  return %o : tensor<?x{last}xf32>
}}
"""
