"""Functions and classes of floats of 8 and 16 bits, fused and op by op, against f64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import redfuse
from redfuse.options import Options

F8 = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
DTYPES = {**F8, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "absf": np.abs, "atan": np.arctan, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos,
    "erf": lambda x: np.array([math.erf(v) for v in x]), "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor, "log": np.log, "log1p": np.log1p,
    "log2": np.log2, "roundeven": np.rint, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin,
    "sqrt": np.sqrt, "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip


def program(kind: str, count: int, body: str, result: str = "") -> str:
    """``body`` makes %r of the element %p, and %q of another argument."""
    result = result or kind
    a, b = f"tensor<{count}x{kind}>", f"tensor<{count}x{result}>"
    return f"""
#map = affine_map<(i) -> (i)>
func.func @main(%x: {a}, %y: {a}) -> {b} {{
  %e = tensor.empty() : {b}
  %z = linalg.generic {{indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}}
      ins(%x, %y : {a}, {a}) outs(%e : {b}) {{
  ^bb0(%p: {kind}, %q: {kind}, %o: {result}):
    {body}
    linalg.yield %r : {result}
  }} -> {b}
  return %z : {b}
}}
"""


def compiled(text: str, fuse: bool) -> Any:
    return redfuse.compile(text, options=Options(fuse=fuse, cache=False, opt_level=1))


def every(kind: str) -> np.ndarray:
    """All numbers of a type, or of a longer one many, with those that are special."""
    if kind in F8:
        return np.arange(256, dtype=np.uint8).view(DTYPES[kind])
    if kind in ("f16", "bf16"):
        return np.arange(65536, dtype=np.uint16).view(DTYPES[kind])
    tiny = np.finfo(DTYPES[kind]).tiny
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny, tiny / 2, -tiny / 4, tiny * 2]
    return np.array([*special, 1.0, -3.0, np.finfo(DTYPES[kind]).max], DTYPES[kind])


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "op by op"])
@pytest.mark.parametrize("kind", F8)
@pytest.mark.sample(3)
def test_functions(kind: str, fuse: bool) -> None:
    """In f32, and rounded: one unit beside the exact result where that is nearly a tie."""
    x = every(kind)
    wide = x.astype(np.float64)
    for name, function in FUNCTIONS.items():
        exe = compiled(program(kind, len(x), f"%r = math.{name} %p : {kind}"), fuse)
        got = np.asarray(exe(x, x)).astype(np.float64)
        with np.errstate(all="ignore"):
            exact = function(wide)
            least, most = ((exact * f).astype(np.float32).astype(DTYPES[kind]).astype(np.float64)
                           for f in (1 - 1e-6, 1 + 1e-6))  # fmt: skip
        right = (got == least) | (got == most) | (np.isnan(got) & np.isnan(least))
        assert right.all(), (name, wide[~right], got[~right], exact[~right])


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "op by op"])
@pytest.mark.parametrize("kind", F8)
def test_multiply_add_is_rounded_once(kind: str, fuse: bool) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal(512).astype(np.float32).astype(DTYPES[kind]) for _ in range(2))
    exe = compiled(program(kind, 512, f"%r = math.fma %p, %q, %p : {kind}"), fuse)
    a, b = x.astype(np.float64), y.astype(np.float64)
    exact = a * b + a  # of so few digits that f32 holds it
    np.testing.assert_array_equal(
        np.asarray(exe(x, y)).astype(np.float64),
        exact.astype(np.float32).astype(DTYPES[kind]).astype(np.float64),
    )


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "op by op"])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.sample(3)
def test_classes(kind: str, fuse: bool) -> None:
    """What is subnormal in a short type is normal in a longer one, and is asked in the short."""
    x = every(kind)
    wide = x.astype(np.float64)
    tiny = float(ml_dtypes.finfo(DTYPES[kind]).tiny)
    with np.errstate(all="ignore"):
        expected = {
            "isinf": np.isinf(wide), "isnan": np.isnan(wide), "isfinite": np.isfinite(wide),
            "isnormal": np.isfinite(wide) & (np.abs(wide) >= tiny),
        }  # fmt: skip
    for name, right in expected.items():
        body = f"%r = math.{name} %p : {kind}"
        got = np.asarray(compiled(program(kind, len(x), body, "i1"), fuse)(x, x))
        np.testing.assert_array_equal(got.astype(bool), right, err_msg=name)


@pytest.mark.parametrize("target", ["cuda:sm_90a", "rocm:gfx942"])
@pytest.mark.parametrize("kind", ["f8E4M3FN", "f16", "f32"])
def test_gpus_have_them(kind: str, target: str) -> None:
    """Down to PTX and LLVM IR, for which no assembler is needed."""
    from redfuse import lowering, pipelines
    from redfuse.frontends import mlir

    chip = target.partition(":")[2]
    stages = pipelines.fused_rocm if "rocm" in target else pipelines.fused_gpu
    last = "rocdl" if "rocm" in target else "nvvm"
    for body in (f"%c = math.isinf %p : {kind}", f"%c = math.isnormal %p : {kind}"):
        text = program(kind, 64, f"{body}\n    %r = arith.select %c, %p, %q : {kind}")
        options = Options(cache=False)
        lowering.lower_stages(mlir.read(text), options, stages(options), last, chip)
    text = program(kind, 64, f"%r = math.fma %p, %q, %p : {kind}")
    lowering.lower_stages(mlir.read(text), options, stages(options), last, chip)
