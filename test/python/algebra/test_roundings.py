"""A rounding is applied before what it decides: by every schedule, the unfused program included."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
import rounding_programs
from redfuse.options import SCHEDULES
from redfuse.runtime.specs import numpy_dtype

SHAPES = [(5, 331, 40), (3, 64, 97), (1, 2000, 16)]


@pytest.mark.sample(4)
@pytest.mark.parametrize("schedule", [*SCHEDULES, "unfused"])
@pytest.mark.parametrize("name", rounding_programs.EXACT)
def test_what_a_rounding_decides(name: str, schedule: str) -> None:
    options = {"fuse": False} if schedule == "unfused" else {"schedule": schedule}
    for seed, shape in enumerate(SHAPES):
        text = rounding_programs.program(name, *shape)
        exe = redfuse.compile(text, target="cpu", options={"cache": False, **options})
        a, b = rounding_programs.operands(*shape, seed)
        *got, total = exe(a, b)
        *want, exact = rounding_programs.expected(name, a, b)
        for mine, true in zip(got, want, strict=True):
            np.testing.assert_array_equal(mine, true)
        # A sum of exponentials may be of the products as they are: half a unit of bf16 apart.
        np.testing.assert_allclose(total, exact, rtol=2.0**-8)


def overflows(kind: str, is_infinite: str) -> str:
    """How many of the products are infinite when they are rounded."""
    text = rounding_programs.program("above", 4, 200, 24, kind)
    return text.replace("arith.constant 271.5", f"arith.constant {is_infinite}").replace(
        "cmpf ogt", "cmpf oeq"
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_a_rounding_makes_infinite_counts(schedule: str) -> None:
    """f16 ends at 65504, which is no more than some products."""
    exe = redfuse.compile(
        overflows("f16", "0x7F800000"), target="cpu", options={"schedule": schedule, "cache": False}
    )
    random = np.random.default_rng(0)
    a = random.integers(30, 80, (4, 24)).astype(np.float16)
    b = random.integers(30, 80, (200, 24)).astype(np.float16)
    with np.errstate(over="ignore"):
        rounded = (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float16)
    count = np.isposinf(rounded).sum(-1)
    assert count.any()
    np.testing.assert_array_equal(exe(a, b)[0], count)


NARROW = """
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<3x900xbf16>) -> tensor<3xi64> {
  %o = tensor.empty() : tensor<3xi64>
  %r = redfuse.cascade {indexing_maps = [#x, #r]}
      ins(%x : tensor<3x900xbf16>) outs(%o : tensor<3xi64>) {
  ^bb0(%v: bf16):
    %m = redfuse.reduce maximumf %v over [1] into [0] : bf16
    %d = arith.subf %v, %m : bf16
    %e = math.exp %d : bf16
    %i = redfuse.index 1
    %j = arith.index_cast %i : index to i64
    %b:2 = redfuse.reduce argmax %e, %j over [1] into [0] : bf16, i64
    redfuse.yield %b#1 : i64
  } -> tensor<3xi64>
  return %r : tensor<3xi64>
}"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_arithmetic_in_16_bits_makes_ties(schedule: str) -> None:
    """exp(x - max) in bf16 is 1 for more than the largest x."""
    exe = redfuse.compile(NARROW, target="cpu", options={"schedule": schedule, "cache": False})
    x = np.random.default_rng(1).uniform(-1e-3, 1e-3, (3, 900)).astype(numpy_dtype("bf16"))
    apart = (x.astype(np.float32) - x.astype(np.float32).max(-1, keepdims=True)).astype(x.dtype)
    raised = np.exp(apart.astype(np.float32)).astype(x.dtype).astype(np.float32)
    assert (raised.argmax(-1) != x.astype(np.float32).argmax(-1)).any()
    np.testing.assert_array_equal(exe(x), raised.argmax(-1))
