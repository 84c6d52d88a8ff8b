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
    assert set(plan) == {"tiles", "registers", "microkernel"}
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
    assert packing_text({"tiles": {}, "registers": [1, 1], "microkernel": "packed"}) == (
        "of packed operands, in one tile, 1 rows by 1 vector in registers"
    )
    assert packing_text({"tiles": {"i1": 512}, "registers": [8, 3], "microkernel": "outer"}) == (
        "of operands read where they lie, tiles i1=512, 8 rows by 3 vectors in registers"
    )
    plan = {"warps": [2, 1], "instructions": [4, 2], "slabs": 1, "splits": 3}
    assert contraction_text(plan) == (
        "by 2 x 1 warps of 4 x 2 matrix instructions each, 3 blocks share a sum"
    )


CHOICE = """
func.func @main(%x: tensor<8x512xbf16>, %w: tensor<2048x512xbf16>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x2048xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x2048xf32>) -> tensor<8x2048xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
      affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x512xbf16>, tensor<2048x512xbf16>) outs(%f : tensor<8x2048xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x2048xf32>
  %n = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%least : f32) outs(%n : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.reduce ins(%s : tensor<8x2048xf32>) outs(%i : tensor<8xf32>) dimensions = [1]
      (%a: f32, %b: f32) {
    %t = arith.maximumf %a, %b : f32
    linalg.yield %t : f32
  }
  return %m : tensor<8xf32>
}
"""


def test_merges_are_those_of_the_target() -> None:
    """A GPU's one kernel, with a schedule that was asked for, where a CPU has two."""
    assert len(redfuse.compile(CHOICE, options={"cache": False}).explain(json=True)["kernels"]) == 2
    exe = redfuse.compile(CHOICE, target="cuda:sm_90a", options={"cache": False})
    (kernel,) = exe.explain(json=True)["kernels"]
    assert "merge" in kernel["cascades"][0]
    schedule = "#redfuse.schedule<stream, grid = [0], tiles = [8, 64, 0], stream = [1]>"
    asked = redfuse.compile(
        CHOICE, target="cuda:sm_90a", options={"cache": False, "schedules": (schedule,)}
    )
    (kernel,) = asked.explain(json=True)["kernels"]
    assert kernel["cascades"][0]["merge"]["streamed"]


def test_bytes_that_kernels_move() -> None:
    """Each argument and result whole and once, of splits and their merge together; nothing where
    an extent is known at run time only."""
    exe = redfuse.compile(
        """
        func.func @main(%x: tensor<64x96xf32>, %y: tensor<?x96xf32>, %n: index) -> (tensor<64xf32>, tensor<?xf32>) {
          %zero = arith.constant 0.0 : f32
          %e = tensor.empty() : tensor<64xf32>
          %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
          %r = linalg.reduce ins(%x : tensor<64x96xf32>) outs(%f : tensor<64xf32>) dimensions = [1]
            (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
          %e2 = tensor.empty(%n) : tensor<?xf32>
          %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?xf32>) -> tensor<?xf32>
          %r2 = linalg.reduce ins(%y : tensor<?x96xf32>) outs(%f2 : tensor<?xf32>) dimensions = [1]
            (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
          return %r, %r2 : tensor<64xf32>, tensor<?xf32>
        }
        """,
        options={"cache": False},
    )
    known, unknown = exe.explain(json=True)["kernels"]
    assert known["moves"] == {"reads": 4 * 64 * 96, "writes": 4 * 64}
    assert unknown["moves"] == {"reads": None, "writes": None}
    text = exe.explain()
    assert "  moves     24.6 kB read and 256 bytes written at least" in text
    assert text.startswith("kernel ")  # no sum where one is not known
