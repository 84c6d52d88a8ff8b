"""Reductions, products and normalised exponentials of every shape and type that could trip the
code generator: primes, ones, empty dims, rows longer than a tile, every axis, every width."""

from __future__ import annotations

import zlib

import ml_dtypes
import numpy
import pytest
import redfuse
from redfuse.reference import reference

TYPES = {
    "f32": numpy.float32,
    "f64": numpy.float64,
    "f16": numpy.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": numpy.int8,
    "i32": numpy.int32,
}
# Largest relative error, in the max norm: a few units of roundoff of the result's type, and for
# f32 and f64 those of a sum of some hundred terms.
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}


def check(program: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    """The fused program against fp64 of the unfused one; classes (NaN, inf) must agree."""
    random = numpy.random.default_rng(zlib.crc32(program.encode()))
    if dtype.startswith("i"):
        arguments = [random.integers(-3, 4, shape).astype(TYPES[dtype]) for shape in shapes]
    else:
        arguments = [random.standard_normal(shape).astype(TYPES[dtype]) for shape in shapes]
    executable = redfuse.compile(program, options={"cache": False})
    got = executable(*arguments)
    want = reference(program, arguments, opt_level=0)[0]
    assert got.shape == want.shape
    tolerance = TOLERANCE.get(got.dtype.name, 0)
    got, want = got.astype(numpy.float64), numpy.asarray(want, numpy.float64)
    finite = numpy.isfinite(want)
    assert (numpy.isfinite(got) == finite).all()
    assert (numpy.isnan(got) == numpy.isnan(want)).all()
    size = numpy.abs(want[finite]).max(initial=0)
    assert numpy.abs(got[finite] - want[finite]).max(initial=0) <= tolerance * size


def tensor(shape: list[int] | tuple[int, ...], dtype: str) -> str:
    return "tensor<" + "".join(f"{n}x" for n in shape) + dtype + ">"


ROWS = [
    ((7, 13), 1),
    ((7, 13), 0),
    ((1, 1), 1),
    ((3, 5, 17), 1),
    ((3, 5, 17), 0),
    ((2, 1000), 1),
    ((17, 0), 1),
    ((0, 5), 1),
    ((4, 100003), 1),
    ((5, 33, 64), 1),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize(("shape", "axis"), ROWS)
def test_normalised_exponentials(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    t = tensor(shape, dtype)
    program = f"""
    func.func @main(%x: {t}) -> {t} {{
      %e = tensor.empty() : {t}
      %r = linalg.softmax dimension({axis}) ins(%x : {t}) outs(%e : {t}) -> {t}
      return %r : {t}
    }}"""
    check(program, [shape], dtype)


AXES = [
    ((7, 13), [1]),
    ((7, 13), [0]),
    ((7, 13), [0, 1]),
    ((3, 5, 17), [0, 2]),
    ((65537,), [0]),
    ((0, 3), [0]),
    ((4, 0), [1]),
    ((129, 1000), [0]),
]
COMBINERS = [
    ("f32", "arith.addf", "0.0"),
    ("f32", "arith.addf", "3.0"),
    ("f32", "arith.maximumf", "0xFF800000"),
    ("f64", "arith.mulf", "1.0"),
    ("i32", "arith.addi", "0"),
    ("i32", "arith.maxsi", "-2147483648"),
    ("f16", "arith.addf", "0.0"),
    ("bf16", "arith.minimumf", "0x7F80"),
    ("i8", "arith.xori", "0"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("dtype", "combiner", "init"), COMBINERS)
@pytest.mark.parametrize(("shape", "axes"), AXES)
def test_reductions(
    shape: tuple[int, ...], axes: list[int], dtype: str, combiner: str, init: str
) -> None:
    t = tensor(shape, dtype)
    kept = [n for axis, n in enumerate(shape) if axis not in axes]
    o = tensor(kept, dtype)
    program = f"""
    func.func @main(%x: {t}) -> {o} {{
      %c = arith.constant {init} : {dtype}
      %e = tensor.empty() : {o}
      %f = linalg.fill ins(%c : {dtype}) outs(%e : {o}) -> {o}
      %r = linalg.reduce {{ {combiner} }} ins(%x : {t}) outs(%f : {o}) dimensions = {axes}
      return %r : {o}
    }}"""
    check(program, [shape], dtype)


SIZES = [
    (1, 1, 1),
    (3, 5, 7),
    (64, 64, 64),
    (17, 31, 129),
    (1, 100, 50),
    (100, 1, 50),
    (128, 96, 0),
    (65, 33, 1000),
    (0, 4, 5),
]
PRODUCTS = [
    ("f32", "f32"),
    ("f64", "f64"),
    ("bf16", "f32"),
    ("f16", "f32"),
    ("i8", "i32"),
    ("i32", "i32"),
]


@pytest.mark.parametrize(("dtype", "accumulator"), PRODUCTS)
@pytest.mark.parametrize(("m", "n", "k"), SIZES)
@pytest.mark.sample(3)
def test_products(m: int, n: int, k: int, dtype: str, accumulator: str) -> None:
    a, b, c = tensor((m, k), dtype), tensor((k, n), dtype), tensor((m, n), accumulator)
    zero = "0" if accumulator.startswith("i") else "0.0"
    program = f"""
    func.func @main(%a: {a}, %b: {b}) -> {c} {{
      %c = arith.constant {zero} : {accumulator}
      %e = tensor.empty() : {c}
      %f = linalg.fill ins(%c : {accumulator}) outs(%e : {c}) -> {c}
      %r = linalg.matmul ins(%a, %b : {a}, {b}) outs(%f : {c}) -> {c}
      return %r : {c}
    }}"""
    check(program, [(m, k), (k, n)], dtype)


BROADCAST = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %p = tensor.dim %y, %c0 : tensor<?x?xf32>
  %q = tensor.dim %y, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%p, %q) : tensor<?x?xf32>
  %exp = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<?x?xf32>
  %f = tensor.empty(%m, %n) : tensor<?x?xf32>
  %wide = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%f : tensor<?x?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %p1 = arith.cmpi eq, %p, %c1 : index
    %q1 = arith.cmpi eq, %q, %c1 : index
    %k = arith.select %p1, %c0, %i : index
    %l = arith.select %q1, %c0, %j : index
    %v = tensor.extract %exp[%k, %l] : tensor<?x?xf32>
    linalg.yield %v : f32
  } -> tensor<?x?xf32>
  %g = tensor.empty(%m) : tensor<?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%g : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#map, #map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %wide : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %ab = arith.mulf %a, %b : f32
    %v = arith.addf %o, %ab : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
def test_broadcasts_of_dynamic_extents_stay_out_of_the_way(target: str) -> None:
    """The product and its sums are one kernel; no buffer is looked up in memory to be freed."""
    exe = redfuse.compile(BROADCAST, target=target, options={"cache": False})
    assert [k["cascades"][0]["stages"] for k in exe.explanation["kernels"]].count([]) == 2
    assert len(exe.explanation["kernels"]) == 3
    assert "dealloc_helper" not in exe.ir["bufferize"]
    assert "memref.copy" not in exe.ir["bufferize"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (5, 1), (1, 1)])
@pytest.mark.parametrize("schedule", ["auto", "stream"])
def test_broadcasts_of_dynamic_extents(shape: tuple[int, int], schedule: str) -> None:
    random = numpy.random.default_rng(3)
    x = random.standard_normal((5, 7)).astype(numpy.float32)
    y = random.standard_normal(shape).astype(numpy.float32)
    run = redfuse.compile(BROADCAST, options={"cache": False, "schedule": schedule})
    want = (x * numpy.exp(y.astype(numpy.float64))).sum(1)
    assert numpy.abs(run(x, y) - want).max() < 1e-5 * numpy.abs(want).max()
    with pytest.raises(redfuse.ExecutionError, match="outside the tensor|neither 1 nor that of"):
        run(x, random.standard_normal((2, 7)).astype(numpy.float32))
