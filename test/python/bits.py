"""Programs of rows whose number is not known."""

from __future__ import annotations

import dataclasses
from typing import Any

from redfuse.store.data import random_inputs


def _of_rows(columns: int, results: str, body: str, more: str = "") -> str:
    return f"""
func.func @main(%x: tensor<?x{columns}xf32>{more}) -> tensor<{results}xf32> {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x{columns}xf32>
  %e = tensor.empty(%n) : tensor<{results}xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<{results}xf32>) -> tensor<{results}xf32>
{body}
  return %r : tensor<{results}xf32>
}}
"""


def _sum(columns: int) -> str:
    return _of_rows(columns, "?", f"""
  %r = linalg.reduce {{arith.addf}} ins(%x : tensor<?x{columns}xf32>) outs(%i : tensor<?xf32>)
       dimensions = [1]""")  # fmt: skip


DYNAMIC_ROWS = {
    "sum": _sum(197),
    "sum_short": _sum(7),
    "softmax": _of_rows(101, "?x101", """
  %r = linalg.softmax dimension(1) ins(%x : tensor<?x101xf32>) outs(%e : tensor<?x101xf32>)
       -> tensor<?x101xf32>"""),
    "product": _of_rows(75, "?x33", """
  %p = linalg.matmul ins(%x, %w : tensor<?x75xf32>, tensor<75x33xf32>)
       outs(%i : tensor<?x33xf32>) -> tensor<?x33xf32>
  %r = linalg.softmax dimension(1) ins(%p : tensor<?x33xf32>) outs(%e : tensor<?x33xf32>)
       -> tensor<?x33xf32>""", ", %w: tensor<75x33xf32>"),
}  # fmt: skip


def arguments(signature: Any, rows: int, seed: int) -> list[Any]:
    """Random arrays, of so many rows where their number is not known."""
    specs = tuple(
        dataclasses.replace(spec, shape=tuple(rows if n is None else n for n in spec.shape))
        for spec in signature.inputs
    )
    return random_inputs(dataclasses.replace(signature, inputs=specs), seed)
