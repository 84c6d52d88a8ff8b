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
