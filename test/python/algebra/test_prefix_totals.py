"""A running sum and its total, yielded as one value: the last prefix is the total."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from redfuse.options import SCHEDULES


def program(kind: str, length: str, reads: str, writes: str) -> str:
    """Sums along the middle dim; ``reads`` and ``writes`` are maps of its dims (i, j, k)."""
    x = f"tensor<3x{length}x17x{kind}>"
    r = f"tensor<3x17x{kind}>"
    dynamic = length == "?"
    return f"""
func.func @main(%x: {x}) -> ({x}, {r}) {{
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : {x}
  %z = arith.constant 0.0 : {kind}
  %e = tensor.empty() : {r}
  %i = linalg.fill ins(%z : {kind}) outs(%e : {r}) -> {r}
  %p = tensor.empty({"%n" if dynamic else ""}) : {x}
  %r:2 = linalg.generic {{indexing_maps = [{reads}, affine_map<(i, j, k) -> (i, j)>, {writes}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x : {x}) outs(%i, %p : {r}, {x}) {{
  ^bb0(%a: {kind}, %o: {kind}, %u: {kind}):
    %s = arith.addf %a, %o : {kind}
    linalg.yield %s, %s : {kind}, {kind}
  }} -> ({r}, {x})
  return %r#1, %r#0 : {x}, {r}
}}"""


MAP = "affine_map<(i, j, k) -> (i, k, j)>"


@pytest.mark.sample(3)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kind, length", [("f64", "33"), ("f32", "1000"), ("f32", "?")])
def test_the_last_prefix_is_the_total(kind: str, length: str, schedule: str, strict: bool) -> None:
    exe = redfuse.compile(
        program(kind, length, MAP, MAP), target="cpu",
        options={"cache": False, "schedule": schedule, "strict": strict},
    )  # fmt: skip
    random = np.random.default_rng(0)
    for count in [int(length)] if length != "?" else [700, 1, 0]:
        dtype = np.float64 if kind == "f64" else np.float32
        x = random.normal(size=(3, count, 17)).astype(dtype) * 10.0 ** random.integers(-3, 4, 17)
        prefixes, total = exe(x.astype(dtype))
        exact = x.astype(dtype).astype(np.longdouble)
        if count:
            np.testing.assert_array_equal(prefixes[:, -1], total)
        else:
            np.testing.assert_array_equal(total, 0)
        allowed = np.abs(exact).sum(1) * np.finfo(dtype).eps * max(count, 1)
        assert (np.abs(total - exact.sum(1)) <= allowed).all()
