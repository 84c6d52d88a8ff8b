"""Instructions of PTX against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from simulators.kernels import run_on_elements

A = np.array([1.5, -2.25, 0.0, 3e38, -1e-40, np.inf, np.nan, 7.0], np.float32)
B = np.array([2.0, 0.75, -0.0, 3e38, 1e-40, -np.inf, 1.0, np.nan], np.float32)
I = np.array([0, 1, -1, 2**31 - 1, -(2**31), 12345, -99, 64], np.int32)  # noqa: E741
J = np.array([3, -7, 5, 2, -1, 31, 33, 100], np.int32)

FLOATS = {
    "add.rn.f32": np.add, "sub.rn.f32": np.subtract, "mul.rn.f32": np.multiply,
    "div.rn.f32": np.divide, "max.f32": np.fmax, "min.f32": np.fmin,
    "max.NaN.f32": np.maximum, "min.NaN.f32": np.minimum,
    "add.rn.sat.f32": lambda a, b: np.nan_to_num(np.clip(a + b, 0, 1)),
}  # fmt: skip
INTEGERS = {
    "add.s32": np.add, "sub.s32": np.subtract, "mul.lo.s32": np.multiply,
    "min.s32": np.minimum, "max.s32": np.maximum, "and.b32": np.bitwise_and,
    "or.b32": np.bitwise_or, "max.relu.s32": lambda a, b: np.maximum(np.maximum(a, b), 0), "xor.b32": np.bitwise_xor,
    "mul.hi.s32": lambda a, b: (a.astype(np.int64) * b >> 32).astype(np.int32),
    "div.s32": lambda a, b: np.trunc(a.astype(np.float64) / b).astype(np.int64).astype(np.int32),
    "rem.s32": lambda a, b: np.fmod(a.astype(np.int64), b).astype(np.int32),
    # Shifts by more than there are bits.
    "shl.b32": lambda a, b: np.where(b.view(np.uint32) < 32, a << (b & 31), 0),
    "shr.s32": lambda a, b: np.where(b.view(np.uint32) < 32, a >> (b & 31), a >> 31),
    "shr.u32": lambda a, b: np.where(
        b.view(np.uint32) < 32, a.view(np.uint32) >> (b & 31).view(np.uint32), 0
    ).view(np.int32),
}  # fmt: skip


@pytest.mark.parametrize("op", FLOATS)
def test_floats(op: str) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run_on_elements(op, A, B), FLOATS[op](A, B))


@pytest.mark.parametrize("op", INTEGERS)
def test_integers(op: str) -> None:
    if op == "div.s32":  # of the smallest number by -1 there is none
        a, b = I[:4], J[:4]
    else:
        a, b = I, J
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run_on_elements(op, a, b), INTEGERS[op](a, b))


@pytest.mark.parametrize("kind", ["bf16x2", "f16x2"])
def test_signs_of_halves(kind: str) -> None:
    np.testing.assert_array_equal(
        run_on_elements(f"neg.{kind} %c, %a;", I, J),
        (I.view(np.uint32) ^ 0x80008000).view(np.int32),
    )
    np.testing.assert_array_equal(
        run_on_elements(f"abs.{kind} %c, %a;", I, J),
        (I.view(np.uint32) & 0x7FFF7FFF).view(np.int32),
    )


@pytest.mark.parametrize("kind", ["bf16x2", "f16x2"])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_arithmetic_of_halves(op: str, kind: str) -> None:
    got = run_on_elements(f"{op}.rn.{kind} %c, %a, %b;", I, J).view(np.uint16)
    half = ml_dtypes.bfloat16 if kind == "bf16x2" else np.float16
    a, b = (x.view(np.uint16).view(half).astype(np.float32) for x in (I, J))
    with np.errstate(all="ignore"):
        want = {"add": a + b, "sub": a - b, "mul": a * b}[op].astype(half)
    np.testing.assert_array_equal(got.view(half).astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize(("kind", "one"), [("bf16x2", 0x3F803F80), ("f16x2", 0x3C003C00)])
def test_fused_sums_of_halves(kind: str, one: int) -> None:
    got = run_on_elements(f"fma.rn.{kind} %c, %a, {one}, %b;", I, J)
    np.testing.assert_array_equal(got, run_on_elements(f"add.rn.{kind} %c, %a, %b;", I, J))


def test_products_in_parts() -> None:
    body = "mad.lo.cc.u32 %d, %a, %b, %a;\n madc.hi.u32 %c, %a, %b, 0;"
    a, b = (x.view(np.uint32).astype(object) for x in (I, J))
    expected = np.array((a * b + a) >> 32, np.uint32).view(np.int32)
    np.testing.assert_array_equal(run_on_elements(body, I, J), expected)


@pytest.mark.parametrize(
    ("op", "expected"),
    [("lt", A < B), ("ge", A >= B), ("equ", (A == B) | np.isnan(A) | np.isnan(B)),
     ("ne", (A != B) & ~np.isnan(A) & ~np.isnan(B)), ("num", ~(np.isnan(A) | np.isnan(B)))],
)  # fmt: skip
def test_comparisons(op: str, expected: np.ndarray) -> None:
    body = f"setp.{op}.f32 %p1, %a, %b;\n selp.b32 %c, 1, 0, %p1;"
    np.testing.assert_array_equal(run_on_elements(body, A, B, np.uint32), expected)


def test_fused_multiply_add_is_rounded_once() -> None:
    a = np.array([1 + 2**-12, 3.0], np.float32)
    b = np.array([1 - 2**-12, 5.0], np.float32)
    got = run_on_elements("fma.rn.f32 %c, %a, %b, 0fBF800000;", a, b)  # - 1
    np.testing.assert_array_equal(got, (a.astype(np.float64) * b - 1).astype(np.float32))


def test_conversions() -> None:
    with np.errstate(all="ignore"):
        near = A.astype(np.float32)
        body = "cvt.rni.s32.f32 %c, %a;"
        want = np.where(
            np.isnan(near), 0, np.clip(np.rint(near).astype(float), -(2**31), 2**31 - 1)
        )
        np.testing.assert_array_equal(run_on_elements(body, A, B, np.int32), want.astype(np.int32))
        body = "cvt.rn.bf16x2.f32 %c, %a, %b;"
        got = run_on_elements(body, A, B, np.uint32)
    for half, values in ((got >> 16, A), (got & 0xFFFF, B)):
        with np.errstate(all="ignore"):
            want = values.astype(ml_dtypes.bfloat16)
        halves = half.astype(np.uint16).view(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(halves.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_floats_of_8_bits(kind: str) -> None:
    small = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[kind]
    body = f"cvt.rn.satfinite.{kind}x2.f32 %rs9, %a, %b;\n cvt.u32.u16 %c, %rs9;"
    got = run_on_elements(body, A, B, np.uint32)
    most = float(ml_dtypes.finfo(small).max)
    for code, values in ((got >> 8, A), (got & 0xFF, B)):
        with np.errstate(all="ignore"):
            want = np.clip(values.astype(np.float32), -most, most).astype(small)
        codes = code.astype(np.uint8).view(small)
        np.testing.assert_array_equal(codes.astype(np.float32), want.astype(np.float32))
    pairs = np.arange(2**16, dtype=np.uint32)
    body = f"cvt.u16.u32 %rs9, %a;\n cvt.rn.f16x2.{kind}x2 %c, %rs9;"
    halves = run_on_elements(body, pairs, pairs, np.uint32).view(np.uint16).view(np.float16)
    want = pairs.astype(np.uint16).view(np.uint8).view(small).astype(np.float16)
    np.testing.assert_array_equal(halves, want)


def test_the_largest_integers_of_64_bits() -> None:
    a = np.array([1e30, -1e30, 2.0**62], np.float32)
    body = "cvt.rzi.s64.f32 %rd9, %a;\n shr.u64 %rd9, %rd9, 32;\n cvt.u32.u64 %c, %rd9;"
    got = run_on_elements(body, a, a, np.uint32)
    np.testing.assert_array_equal(got, [0x7FFFFFFF, 0x80000000, 0x40000000])


def test_bytes_by_digits() -> None:
    a = np.array([0x44332211], np.uint32)
    b = np.array([0x887766F5], np.uint32)
    for selector, want in ((0x7654, 0x887766F5), (0x0123, 0x11223344), (0x4C44, 0xF5FFF5F5)):
        got = run_on_elements(f"prmt.b32 %c, %a, %b, {selector};", a, b, np.uint32)
        assert got[0] == want
    for first, want in ((0, 0x44332211), (1, 0xF5443322), (3, 0x7766F544), (6, 0x66F54433)):
        got = run_on_elements(f"prmt.b32.f4e %c, %a, %b, {first};", a, b, np.uint32)
        assert got[0] == want


def test_words_out_of_two() -> None:
    a, b = np.array([0x44332211], np.uint32), np.array([0x887766F5], np.uint32)
    for way, by, want in (("l", 8, 0x7766F544), ("l", 0, 0x887766F5), ("l", 40, 0x7766F544), ("r", 8, 0xF5443322), ("r", 0, 0x44332211)):  # fmt: skip
        got = run_on_elements(f"shf.{way}.wrap.b32 %c, %a, %b, {by};", a, b, np.uint32)
        assert got[0] == want


def test_fields_of_bits() -> None:
    a = np.array([0xABCD1234, 0x0000FF00], np.uint32)
    got = run_on_elements("bfe.u32 %c, %a, 8, 8;", a, a, np.uint32)
    np.testing.assert_array_equal(got, (a >> 8) & 255)
    got = run_on_elements("bfe.s32 %c, %a, 8, 8;", a, a, np.int32)
    np.testing.assert_array_equal(got, ((a >> 8) & 255).astype(np.uint8).view(np.int8))


@pytest.mark.parametrize("distance", [1, 2, 4, 8, 16])
def test_shuffles(distance: int) -> None:
    a = np.arange(64, dtype=np.uint32) * 3
    got = run_on_elements(f"shfl.sync.bfly.b32 %c, %a, {distance}, 31, -1;", a, a, np.uint32)
    np.testing.assert_array_equal(got, a[np.arange(64) ^ distance])


def test_votes() -> None:
    a = np.zeros(64, np.uint32)
    a[3] = 1
    body = "setp.ne.b32 %p1, %a, 0;\n vote.sync.any.pred %p2, %p1, -1;\n selp.b32 %c, 1, 0, %p2;"
    got = run_on_elements(body, a, a, np.uint32)
    np.testing.assert_array_equal(got, np.arange(64) < 32)


def test_reductions_of_warps() -> None:
    a = np.arange(64, dtype=np.uint32) * 7 % 64 + np.uint32(2**32 - 30)  # of both signs
    for kind in ("min", "max"):
        got = run_on_elements(f"redux.sync.{kind}.s32 %c, %a, -1;", a, a, np.uint32)
        want = getattr(a.view(np.int32).reshape(2, 32), kind)(1).view(np.uint32)
        np.testing.assert_array_equal(got, want.repeat(32))


def test_branches_that_meet_again() -> None:
    """Threads of both sides go on together."""
    a = np.arange(40, dtype=np.uint32)
    body = """
    and.b32 %r20, %a, 1;
    setp.eq.b32 %p1, %r20, 0;
    @%p1 bra $EVEN;
    add.s32 %r21, %a, 100;
    bra $END;
$EVEN:
    mul.lo.s32 %r21, %a, 2;
$END:
    @!%p1 add.s32 %r21, %r21, 1;
    mov.b32 %c, %r21;"""
    got = run_on_elements(body, a, a, np.uint32)
    np.testing.assert_array_equal(got, np.where(a % 2 == 0, 2 * a, a + 101))
