"""Plans of products in explanations."""

from __future__ import annotations

import pytest
import redfuse
from redfuse.explain.render import contraction_text, packing_text

PRODUCT = """
func.func @main(%a: tensor<256x300xf32>, %b: tensor<300x128xf32>) -> tensor<256x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x128xf32>) -> tensor<256x128xf32>
  %r = linalg.matmul ins(%a, %b : tensor<256x300xf32>, tensor<300x128xf32>)
      outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
  return %r : tensor<256x128xf32>
}
"""


def test_packed_operands() -> None:
    exe = redfuse.compile(PRODUCT, target="cpu", options={"cache": False})
    (kernel,) = exe.explain(json=True)["kernels"]
    plan = kernel["packing"]
    assert set(plan) == {"tiles", "registers", "direct"}
    assert set(plan["tiles"]) <= {"i0", "i1", "i2"}
    assert f"product   {packing_text(plan)}" in exe.explain()


def test_contractions_of_a_gpu() -> None:
    """That matrix units of another kind have no plan is no news then."""
    exe = redfuse.compile(PRODUCT, target="cuda:sm_90a", options={"cache": False})
    (kernel,) = exe.explain(json=True)["kernels"]
    text = exe.explain()
    assert f"product   {contraction_text(kernel['contraction'])}" in text
    assert "no matrix units" not in text


def sort_of(columns: int) -> str:
    rows = f"tensor<8x{columns}xf32>"
    return f"""
func.func @main(%x: {rows}) -> {rows} {{
  %r = tm_tensor.sort dimension(1) outs(%x : {rows}) {{
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  }} -> {rows}
  return %r : {rows}
}}
"""


@pytest.mark.parametrize(("columns", "way"), [(512, "sort_rows"), (40000, "merge_runs")])
def test_how_a_gpu_sorts(columns: int, way: str) -> None:
    exe = redfuse.compile(sort_of(columns), target="cuda:sm_90a", options={"cache": False})
    (selection,) = exe.explain(json=True)["selections"]
    assert selection["way"] == way
    assert "  way       " in exe.explain()


def test_words() -> None:
    assert packing_text({"tiles": {}, "registers": [1, 1], "direct": False}) == (
        "of packed operands, in one tile, 1 rows by 1 vector in registers"
    )
    assert packing_text({"tiles": {"i1": 512}, "registers": [8, 3], "direct": True}) == (
        "of packed rows, columns read where they lie, tiles i1=512, "
        "8 rows by 3 vectors in registers"
    )
    plan = {"warps": [2, 1], "instructions": [4, 2], "slabs": 1, "splits": 3}
    assert contraction_text(plan) == (
        "by 2 x 1 warps of 4 x 2 matrix instructions each, 3 blocks share a sum"
    )
