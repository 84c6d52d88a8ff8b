"""fp64 references and the judgement of errors."""

import math

import ml_dtypes
import numpy as np
import pytest
import redfuse
from redfuse import check
from redfuse.frontends import mlir as mlir_frontend
from redfuse.reference import Reference, reference, to_f64
from redfuse.runtime.specs import Signature, TensorSpec


def widened(text: str) -> str:
    return to_f64(mlir_frontend.read(text))


def test_types_constants_and_casts_are_widened() -> None:
    text = widened("""
    func.func @main(%x: tensor<2xbf16>) -> tensor<2xf32> {
      %inf = arith.constant 0xFF800000 : f32
      %third = arith.constant 0.333333343 : f32
      %d = arith.constant dense<[1.5, -2.5]> : tensor<2xf16>
      %s = arith.constant dense<0.1> : tensor<2xf32>
      %e = tensor.empty() : tensor<2xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
          affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x, %d, %s : tensor<2xbf16>, tensor<2xf16>, tensor<2xf32>) outs(%e : tensor<2xf32>) {
      ^bb0(%a: bf16, %b: f16, %c: f32, %o: f32):
        %0 = arith.extf %a : bf16 to f32
        %1 = arith.maximumf %0, %inf : f32
        %2 = arith.truncf %1 : f32 to f16
        %3 = arith.addf %2, %b : f16
        %4 = arith.extf %3 : f16 to f32
        %5 = arith.mulf %4, %third : f32
        %6 = arith.addf %5, %c : f32
        linalg.yield %6 : f32
      } -> tensor<2xf32>
      return %r : tensor<2xf32>
    }""")
    assert "f32" not in text
    assert "bf16" not in text
    assert "arith.truncf" not in text
    assert "0xFFF0000000000000 : f64" in text
    assert f"{np.float64(np.float32(0.333333343)):.17g}"[:12] in text
    assert "dense<[1.500000e+00, -2.500000e+00]> : tensor<2xf16>" in text
    assert text.count("arith.extf") == 1, "the one behind the constant of several values"


def test_reference_is_exact_where_f32_is_not(scale: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    y = np.random.default_rng(1).standard_normal(5).astype(np.float32)
    (got,) = reference(scale, [x, y])
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, x.astype(np.float64) * y.astype(np.float64))


def test_reference_of_a_sum() -> None:
    text = """
    func.func @main(%x: tensor<1000xbf16>) -> tensor<f32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<f32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
          iterator_types = ["reduction"]} ins(%x : tensor<1000xbf16>) outs(%f : tensor<f32>) {
      ^bb0(%a: bf16, %o: f32):
        %0 = arith.extf %a : bf16 to f32
        %1 = arith.addf %0, %o : f32
        linalg.yield %1 : f32
      } -> tensor<f32>
      return %r : tensor<f32>
    }"""
    x = np.random.default_rng(0).standard_normal(1000).astype(ml_dtypes.bfloat16)
    (got,) = Reference(text)(x)
    assert got == pytest.approx(math.fsum(x.astype(np.float64)), abs=1e-12)


def test_reference_takes_arrays_without_dims() -> None:
    text = """
    func.func @main(%x: f32, %y: tensor<f32>) -> tensor<f32> {
      %0 = tensor.extract %y[] : tensor<f32>
      %1 = arith.mulf %x, %0 : f32
      %2 = tensor.from_elements %1 : tensor<f32>
      return %2 : tensor<f32>
    }"""
    x = np.float32(0.1)
    assert Reference(text)(x, np.array(3, np.float32)) == [float(x) * 3]


def test_a_program_that_reads_bits_has_no_reference() -> None:
    text = """func.func @main(%x: f32) -> i32 {
      %0 = arith.bitcast %x : f32 to i32
      return %0 : i32
    }"""
    with pytest.raises(redfuse.UnsupportedError, match=r"<text>:2:.*arith\.bitcast"):
        widened(text)


def signature(*outputs: TensorSpec) -> Signature:
    return Signature("main", (TensorSpec("f32", (4,)),), outputs)


FLOATS = signature(TensorSpec("f32", (4,)))
WANT = np.array([1.0, -4.0, 0.5, 0.0])


@pytest.mark.parametrize(
    ("got", "error", "ok"),
    [
        (WANT, 0.0, True),
        (WANT + np.array([0, 0, 2e-05, 0]), 5e-6, True),
        (WANT + np.array([0, 0, 4.4e-05, 0]), 1.1e-5, False),
        (WANT + np.array([0, np.nan, 0, 0]), math.inf, False),
        (WANT + np.array([0, np.inf, 0, 0]), math.inf, False),
    ],
)
def test_errors_are_relative_to_the_largest_value(got: np.ndarray, error: float, ok: bool) -> None:
    (outcome,) = check.compare([got], [WANT], FLOATS)
    assert outcome.error == pytest.approx(error, rel=1e-3)
    assert outcome.ok == ok


def test_nans_and_infinities_must_be_where_they_should() -> None:
    want = np.array([np.nan, np.inf, -np.inf, 2.0])
    assert check.compare([want.copy()], [want], FLOATS)[0].ok
    for at, value in [(0, 0.0), (1, -np.inf), (1, 3e38), (2, np.nan), (3, np.nan), (3, np.inf)]:
        got = want.copy()
        got[at] = value
        (outcome,) = check.compare([got], [want], FLOATS)
        assert not outcome.ok
        assert outcome.worst is not None
        assert outcome.worst[0] == (at,)


def test_shapes_and_empty_outputs() -> None:
    assert not check.compare([np.zeros(3)], [WANT], FLOATS)[0].ok
    assert check.compare([np.zeros(0)], [np.zeros(0)], FLOATS)[0].ok
    zeros = np.zeros(4)
    assert check.compare([zeros], [zeros], FLOATS)[0].ok
    assert not check.compare([zeros + 1e-30], [zeros], FLOATS)[0].ok


def test_the_coarsest_float_type_rules() -> None:
    mixed = Signature("main", (TensorSpec("bf16", (4,)),), (TensorSpec("f32", (4,)),))
    assert check.compare([WANT * 1.01], [WANT], mixed)[0].ok
    assert not check.compare([WANT * 1.03], [WANT], mixed)[0].ok


def test_an_ill_conditioned_program_gets_more_and_says_why() -> None:
    got = WANT * (1 + 5e-5)
    (outcome,) = check.compare([got], [WANT], FLOATS, lambda: [1e-5])
    assert outcome.ok
    assert "roundoff" in outcome.note
    assert not check.compare([WANT * (1 + 2e-4)], [WANT], FLOATS, lambda: [1.0])[0].ok
    assert not check.compare([got], [WANT], FLOATS, lambda: [1e-9])[0].ok


def test_indices_may_differ_between_equal_values_only() -> None:
    kinds = signature(TensorSpec("f32", (2, 3)), TensorSpec("i64", (2, 3)))
    values = np.array([[3.0, 2.0, 2.0], [5.0, 4.0, 1.0]])
    want = np.array([[7, 1, 4], [0, 2, 3]])
    tied = np.array([[7, 4, 1], [0, 2, 3]])
    wrong = np.array([[7, 1, 4], [2, 0, 3]])
    elsewhere = np.array([[7, 1, 9], [0, 2, 3]])
    assert check.compare([values, want], [values, want], kinds)[1].ok
    outcome = check.compare([values, tied], [values, want], kinds)[1]
    assert outcome.ok
    assert "equal values" in outcome.note
    for bad in (wrong, elsewhere):
        assert not check.compare([values, bad], [values, want], kinds)[1].ok
