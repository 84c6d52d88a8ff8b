"""Programs of floats of 8 bits."""

from __future__ import annotations


def conversion(source: str, target: str, count: int) -> str:
    """Each element converted."""
    op = "extf" if source.startswith("f8") else "truncf"
    a, b = f"tensor<{count}x{source}>", f"tensor<{count}x{target}>"
    return f"""
#map = affine_map<(i) -> (i)>
func.func @main(%x: {a}) -> {b} {{
  %e = tensor.empty() : {b}
  %y = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
      ins(%x : {a}) outs(%e : {b}) {{
  ^bb0(%p: {source}, %q: {target}):
    %r = arith.{op} %p : {source} to {target}
    linalg.yield %r : {target}
  }} -> {b}
  return %y : {b}
}}
"""
