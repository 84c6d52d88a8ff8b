"""Math functions of generated code against double precision."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from native_programs import elementwise

TINY = float(np.finfo(np.float32).tiny)


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Errors in units in the last place of f32."""
    unit = np.spacing(np.abs(exact.astype(np.float32)).clip(TINY)).astype(np.float64)
    return np.abs(got.astype(np.float64) - exact) / unit


def everywhere() -> np.ndarray:
    """f32 over all bit patterns (every 16001st), denser where functions have their shape."""
    patterns = np.arange(0, 2**32, 16001, dtype=np.uint64).astype(np.uint32).view(np.float32)
    random = np.random.default_rng(0)
    dense = [random.uniform(-s, s, 100003) for s in (1, 10, 110)]
    small = 10.0 ** random.uniform(-38, 0, 100003) * random.choice([-1, 1], 100003)
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1.0,
        -1.0,
        88.72283,
        88.72284,
        -87.33655,
        -103.97,
        -104.1,
        1e-45,
    ]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return np.concatenate([patterns, *dense, small, special]).astype(np.float32)


erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS = {
    # name: (exact, largest error in ulps where the result is normal)
    "exp": (np.exp, 2.0),
    "exp2": (np.exp2, 2.1),
    "expm1": (np.expm1, 2.0),
    "log": (np.log, 1.5),
    "log2": (np.log2, 2.0),
    "log10": (np.log10, 3.0),
    "log1p": (np.log1p, 2.0),
    "tanh": (np.tanh, 2.0),
    "erf": (erf, 3.0),
    "sqrt": (np.sqrt, 0.501),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2.0),
    "sin": (np.sin, 1.0),
    "cos": (np.cos, 1.0),
}


@pytest.mark.parametrize("cpu", ["", "x86-64-v3"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_f32_functions(name: str, cpu: str) -> None:
    exact, limit = FUNCTIONS[name]
    x = everywhere()
    if name in ("sin", "cos"):
        x = x[np.abs(x) < 1e6]
    with np.errstate(all="ignore"):
        want = exact(x.astype(np.float64))
        rounded = want.astype(np.float32)
    got = elementwise(f"%e = math.{name} %v : T", cpu=cpu)(x)
    assert np.array_equal(np.isnan(got), np.isnan(rounded))
    assert np.array_equal(np.isinf(got), np.isinf(rounded))
    assert np.array_equal(np.sign(got[np.isinf(got)]), np.sign(rounded[np.isinf(got)]))
    normal = np.isfinite(rounded) & (np.abs(want) >= TINY)
    errors = ulps(got[normal], want[normal])
    print(f"{name}: largest error {errors.max():.2f} ulp at {x[normal][errors.argmax()]!r}")
    assert errors.max() <= limit
    # Where the result is subnormal or zero: a few of the smallest units.
    rest = np.isfinite(rounded) & (np.abs(want) < TINY)
    assert np.all(np.abs(got[rest].astype(np.float64) - want[rest]) <= 2 * 2.0**-149)


@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 13, 32])
def test_exp_for_all_vector_lengths(lanes: int, cpu: str) -> None:
    x = np.linspace(-110, 95, 1009).astype(np.float32)
    x[[3, 500]] = np.nan, -np.inf
    got = elementwise("%e = math.exp %v : T", lanes=lanes, cpu=cpu)(x)
    want = elementwise("%e = math.exp %v : T")(x)
    if cpu == "x86-64-v2":  # no fused multiply-add: fma is a call of libm, as exact
        assert np.allclose(got, want, rtol=3e-7, atol=0, equal_nan=True)
    else:
        assert np.array_equal(got, want, equal_nan=True)


def test_exp_of_minus_infinity_is_zero() -> None:
    x = np.full(37, -np.inf, np.float32)
    assert np.all(elementwise("%e = math.exp %v : T")(x) == 0)


F64 = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "erf": erf,
}


@pytest.mark.parametrize("name", F64)
def test_f64_functions(name: str) -> None:
    random = np.random.default_rng(1)
    x = np.concatenate([random.uniform(1e-3, 20, 5003), 10.0 ** random.uniform(-300, 0, 1009)])
    got = elementwise(f"%e = math.{name} %v : T", "f64", lanes=8)(x)
    np.testing.assert_allclose(got, F64[name](x), rtol=2e-15)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", ["exp", "tanh", "log", "rsqrt"])
def test_half_precision_is_computed_in_f32(name: str, dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else np.float16
    x = np.random.default_rng(2).uniform(0.01, 8, 1003).astype(kind)
    got = elementwise(f"%e = math.{name} %v : T", dtype)(x)
    want = FUNCTIONS[name][0](x.astype(np.float64)).astype(np.float32).astype(kind)
    # One rounding of a value that is right to f32: at most the neighbour.
    bits = np.abs(got.view(np.int16).astype(int) - want.view(np.int16).astype(int))
    assert bits.max() <= 1
    assert np.mean(bits == 0) > 0.99


@pytest.mark.parametrize("n", [-8, -3, -1, 0, 1, 2, 3, 7, 8])
def test_constant_powers(n: int) -> None:
    x = np.random.default_rng(3).uniform(-3, 3, 1003).astype(np.float32)
    got = elementwise(f"%k = arith.constant {n} : i32\n%e = math.fpowi %v, %k : T, i32", lanes=1)(x)
    np.testing.assert_allclose(got, x.astype(np.float64) ** n, rtol=1e-6)


@pytest.mark.parametrize("n", [0.5, -0.5])
def test_half_powers(n: float) -> None:
    """Zeros, infinities and negative numbers as C's pow has them."""
    x = np.random.default_rng(3).uniform(0, 3, 1003).astype(np.float32)
    x[:6] = 0.0, -0.0, np.inf, -np.inf, np.nan, -1.0
    got = elementwise(f"%k = arith.constant dense<{n}> : T\n%e = math.powf %v, %k : T")(x)
    want = np.sqrt(np.abs(x.astype(np.float64)))
    want[5] = np.nan
    with np.errstate(divide="ignore"):
        want = want if n > 0 else 1 / want
    np.testing.assert_allclose(got, want, rtol=2e-7)
    assert np.array_equal(np.signbit(got[:4]), np.signbit(want[:4]))


def test_powers_of_any_exponent() -> None:
    x = np.random.default_rng(4).uniform(0.1, 3, 1003).astype(np.float32)
    got = elementwise("%p = arith.constant dense<2.7> : T\n%e = math.powf %v, %p : T")(x)
    np.testing.assert_allclose(got, x.astype(np.float64) ** np.float32(2.7), rtol=3e-7)


CONVERSIONS = {"x86-64-v2": "software", "x86-64-v3": "f16c", "": "this machine"}


@pytest.mark.parametrize("cpu", CONVERSIONS, ids=CONVERSIONS.values())
@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_rounding_to_half_precision(half: str, wide: str, cpu: str) -> None:
    """All half values, the middles between neighbours and just beside them: ties to even."""
    kind = ml_dtypes.bfloat16 if half == "bf16" else np.float16
    big = np.float32 if wide == "f32" else np.float64
    every = (
        np.arange(0, 0x7C00 if half == "f16" else 0x7F80, dtype=np.uint16)
        .view(kind)
        .astype(np.float64)
    )
    every = every[every >= float(ml_dtypes.finfo(kind).tiny)]  # bf16 instructions flush subnormals
    middles = ((every[1:] + every[:-1]) / 2).astype(big)
    up, down = np.nextafter(middles, big(np.inf)), np.nextafter(middles, big(0))
    x = np.concatenate([every.astype(big), middles, up, down])
    x = np.concatenate([x, -x, np.array([np.inf, -np.inf, np.nan], big)])
    got = elementwise("%e = arith.truncf %v : T to U", wide, half, cpu=cpu)(x)
    with np.errstate(all="ignore"):
        want = x.astype(kind)
    if half == "bf16" and wide == "f64":  # ml_dtypes rounds twice, by way of f32
        low, high = every[:-1].astype(kind), every[1:].astype(kind)
        even = np.where(low.view(np.uint16) % 2 == 0, low, high)
        positive = np.concatenate([every.astype(kind), even, high, low])
        want = np.concatenate([positive, -positive, np.array([np.inf, -np.inf, np.nan], kind)])
    assert np.array_equal(np.isnan(got), np.isnan(want))
    same = ~np.isnan(want)
    assert np.array_equal(got[same].view(np.uint16), want[same].view(np.uint16))
    back = elementwise("%e = arith.extf %v : T to U", half, wide, cpu=cpu)(want)
    assert np.array_equal(back[same], want[same].astype(big))
