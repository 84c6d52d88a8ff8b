"""Sums over rows and columns of what needs reductions of every row, whose blocks have splits of the
rows: run by the simulator, on the CPU too, and compared with the fp64 references."""

from __future__ import annotations

from pathlib import Path

import pytest
import redfuse
from drivers.simulated import small
from redfuse import check
from redfuse.bench.builder import Program
from redfuse.reference import Reference
from redfuse.store.data import random_inputs

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(3)

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"

MAPS = """
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> ()>
#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
"""


def filled(name: str, kind: str, value: str) -> str:
    return f"""
  %{name}_v = arith.constant {value} : f32
  %{name}_e = tensor.empty() : tensor<{kind}>
  %{name} = linalg.fill ins(%{name}_v : f32) outs(%{name}_e : tensor<{kind}>) -> tensor<{kind}>"""


def largest_of_rows(m: int, n: int) -> str:
    return f"""{filled("low", f"{m}xf32", "0xFF800000")}
  %m = linalg.generic {{indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<{m}x{n}xf32>) outs(%low : tensor<{m}xf32>) {{
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %b : f32
    linalg.yield %s : f32
  }} -> tensor<{m}xf32>"""


def distances(m: int, n: int) -> str:
    """The sum of squares of how far elements are below the largest of their row."""
    return f"""{MAPS}
func.func @main(%x: tensor<{m}x{n}xf32>) -> tensor<f32> {{{largest_of_rows(m, n)}{filled("zero", "f32", "0.0")}
  %r = linalg.generic {{indexing_maps = [#x, #r, #all], iterator_types = ["reduction", "reduction"]}}
      ins(%x, %m : tensor<{m}x{n}xf32>, tensor<{m}xf32>) outs(%zero : tensor<f32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %b, %a : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %q, %c : f32
    linalg.yield %s : f32
  }} -> tensor<f32>
  return %r : tensor<f32>
}}
"""


def sum_of_largest(m: int, n: int) -> str:
    """All threads have the rows, and all merge what blocks made of theirs."""
    return f"""{MAPS}
func.func @main(%x: tensor<{m}x{n}xf32>) -> tensor<f32> {{{largest_of_rows(m, n)}{filled("zero", "f32", "0.0")}
  %r = linalg.generic {{indexing_maps = [#i, #none], iterator_types = ["reduction"]}}
      ins(%m : tensor<{m}xf32>) outs(%zero : tensor<f32>) {{
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  }} -> tensor<f32>
  return %r : tensor<f32>
}}
"""


@pytest.mark.parametrize("program", [distances, sum_of_largest])
@pytest.mark.parametrize(("m", "n"), [(7, 40), (37, 131), (64, 512), (3, 2100)])
@pytest.mark.parametrize("options", [{}, {"schedule": "split", "splits": 5}], ids=["auto", "split"])
def test_of_rows(program: object, m: int, n: int, options: dict, tmp_path: Path) -> None:
    small(program(m, n), tmp_path, options)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["moe_routing", "ffn_relu", "multi_consumer", "conv_bias_relu"])
def test_splits_of_products(name: str, tmp_path: Path) -> None:
    """They are kernels of their own before the plans, and are not split once more behind them."""
    small((CORPUS / f"{name}.mlir").read_text(), tmp_path, {"schedule": "split"})


@pytest.mark.parametrize("options", [{}, {"schedule": "split", "splits": 3}], ids=["auto", "split"])
@pytest.mark.parametrize("seed", range(3))
def test_on_the_cpu(options: dict, seed: int) -> None:
    text = distances(37, 131)
    exe = redfuse.compile(text, target="cpu", options=options)
    inputs = random_inputs(exe.signature, seed)
    expected = [Reference(text)(*inputs)[0]]
    outcomes = check.compare([exe(*inputs)], expected, exe.signature)
    assert all(outcome.ok for outcome in outcomes), "; ".join(map(str, outcomes))


def test_rows_that_no_block_holds_have_a_kernel() -> None:
    """One kernel for both would be one block."""
    exe = redfuse.compile(sum_of_largest(4096, 50257), target="cuda:sm_90a")
    assert len(exe.explain(json=True)["kernels"]) == 2


def test_means_of_more_elements_than_f32_has_numbers_for() -> None:
    """4097 x 16381 is no f32. What is nearest to it makes a mean none the less, and no second pass."""
    p = Program()
    x = p.argument(4097, 16381)
    away = p.binary("subf", x, p.mean(x, [0, 1], keepdim=True))
    exe = redfuse.compile(p.text(p.mean(p.square(away), [0, 1])), target="cuda:sm_90a")
    (kernel,) = exe.explain(json=True)["kernels"]
    assert kernel["schedule"]["kind"] == "split"


def test_why_tiles_are_in_memory() -> None:
    p = Program()
    text = p.text(*p.topk_last(p.argument(64, 2000, dtype="f32"), 8))
    exe = redfuse.compile(text, target="cuda:sm_90a", options={"schedule": "stream"})
    (kernel,) = exe.explain(json=True)["kernels"]
    why = kernel["registers"]["refused"]
    assert f"tiles     in memory, not registers: {why}" in exe.explain()
