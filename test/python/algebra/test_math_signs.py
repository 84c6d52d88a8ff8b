"""Zeros keep their sign, and infinities, NaN, subnormals and the largest numbers their class, in
every math function: vectors and scalars, fused and not, of every float type."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
import redfuse
from native_programs import elementwise
from redfuse.runtime.specs import numpy_dtype


def of(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    def one(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return np.vectorize(one, otypes=[np.float64])


def away(x: np.ndarray) -> np.ndarray:
    """Half-way numbers away from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "absf": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "cbrt": np.cbrt,
    "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "erf": of(math.erf), "erfc": of(math.erfc),
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor, "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "round": away,
    "roundeven": np.round, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
KINDS = ("f32", "f64", "f16", "bf16")


def special(kind: str) -> np.ndarray:
    """What functions get wrong, and numbers around it."""
    dtype = numpy_dtype(kind)
    info = ml_dtypes.finfo(dtype)
    sizes = [0, np.inf, np.nan, float(info.smallest_subnormal), float(info.smallest_normal),
             float(info.smallest_normal) / 2, float(info.max), 1, 0.5, 0.25, 1.5, 2.5, 3, 20, 700,
             float(info.eps), 1 + float(info.eps)]  # fmt: skip
    x = np.array([s * v for v in sizes for s in (1.0, -1.0)])
    with np.errstate(over="ignore"):
        return np.concatenate([x, np.linspace(-4, 4, 63)]).astype(dtype)


def check(name: str, kind: str, x: np.ndarray, got: np.ndarray, eps: float) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = FUNCTIONS[name](x.astype(np.float64))
        want = exact.astype(x.dtype).astype(np.float64)
    mine = got.astype(np.float64)
    where = f"{name} of {kind}"
    np.testing.assert_array_equal(np.isnan(mine), np.isnan(want), where)
    # One unit beside the largest number, either is right.
    largest = float(ml_dtypes.finfo(x.dtype).max)
    sure = ~np.isnan(want) & ~((np.abs(exact) > largest * 0.99) & np.isfinite(exact))
    np.testing.assert_array_equal(np.isinf(mine[sure]), np.isinf(want[sure]), where)
    # A result that underflows in one of two ways to compute it may be a zero of its sign.
    np.testing.assert_array_equal(np.signbit(mine[sure]), np.signbit(want[sure]), where)
    finite = sure & np.isfinite(want)
    tiny = float(ml_dtypes.finfo(x.dtype).smallest_normal)
    assert (np.abs(mine - want)[finite] <= eps * np.abs(want)[finite] + tiny).all(), where


def tolerance(kind: str) -> float:
    return 6 * float(ml_dtypes.finfo(numpy_dtype(kind)).eps)


def defined(name: str, kind: str) -> np.ndarray:
    """Without large angles, whose reduction is another matter."""
    x = special(kind)
    if name in ("sin", "cos", "tan"):
        x = x[~(np.isfinite(x) & (np.abs(x.astype(np.float64)) > 1e4))]
    return x


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(3)
def test_vectors_and_scalars(kind: str, lanes: int) -> None:
    for name in FUNCTIONS:
        x = defined(name, kind)
        check(name, kind, x, elementwise(f"%e = math.{name} %v : T", kind, lanes=lanes)(x),
              tolerance(kind))  # fmt: skip


def program(kind: str, names: list[str], count: int) -> str:
    t = f"tensor<{count}x{kind}>"
    lines = []
    for name in names:
        lines.append(f"""  %{name} = linalg.generic {{indexing_maps = [#m, #m],
      iterator_types = ["parallel"]}} ins(%x : {t}) outs(%e : {t}) {{
  ^bb0(%a: {kind}, %o: {kind}):
    %r = math.{name} %a : {kind}
    linalg.yield %r : {kind}
  }} -> {t}""")
    values, types = ", ".join(f"%{name}" for name in names), ", ".join([t] * len(names))
    body = "\n".join(lines)
    return f"""#m = affine_map<(i) -> (i)>
func.func @main(%x: {t}) -> ({types}) {{
  %e = tensor.empty() : {t}
{body}
  return {values} : {types}
}}"""


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_programs(kind: str, fuse: bool) -> None:
    names = [n for n in FUNCTIONS if n not in ("sin", "cos", "tan")]
    x = special(kind)
    text = program(kind, names, len(x))
    exe = redfuse.compile(text, target="cpu", options={"cache": False, "fuse": fuse})
    for name, got in zip(names, exe(x), strict=True):
        check(name, kind, x, got, tolerance(kind))
