"""Vector ops of generated code against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from native_programs import compile_text

CPUS = ["", "x86-64-v3", "x86-64-v2"]


def run(text: str, inputs: list[np.ndarray], outputs: list[np.ndarray], cpu: str) -> None:
    """Calls @f of ``text`` on memrefs of the arrays' shapes; the last ones are written."""
    names = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "bool": "i1", "int64": "index"}
    names |= {"int8": "i8", "int32": "i32", "float64": "f64"}
    specs = [[(names[a.dtype.name], a.shape) for a in arrays] for arrays in (inputs, outputs)]
    compile_text(text, cpu).function("f", *specs)(tuple(inputs), tuple(outputs))


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("shape", [(16, 16), (8, 8), (4, 4), (4, 16), (3, 5), (16, 6)])
def test_transpose(shape: tuple[int, int], cpu: str) -> None:
    m, n = shape
    x, y = random(m, n), np.zeros((n, m), np.float32)
    text = f"""
func.func @f(%x: memref<{m}x{n}xf32>, %y: memref<{n}x{m}xf32>) {{
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %z : memref<{m}x{n}xf32>, vector<{m}x{n}xf32>
  %t = vector.transpose %v, [1, 0] : vector<{m}x{n}xf32> to vector<{n}x{m}xf32>
  vector.transfer_write %t, %y[%c0, %c0] : vector<{n}x{m}xf32>, memref<{n}x{m}xf32>
  return
}}"""
    run(text, [x], [y], cpu)
    assert np.array_equal(y, x.T)


@pytest.mark.parametrize("cpu", CPUS)
def test_transfers_permute_broadcast_and_pad(cpu: str) -> None:
    x, y, z = random(5, 7), np.zeros((8, 8), np.float32), np.zeros((4, 7), np.float32)
    text = """
func.func @f(%x: memref<5x7xf32>, %y: memref<8x8xf32>, %w: memref<4x7xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 9.0 : f32
  %t = vector.transfer_read %x[%c0, %c0], %pad
    {permutation_map = affine_map<(i, j) -> (j, i)>} : memref<5x7xf32>, vector<8x8xf32>
  vector.transfer_write %t, %y[%c0, %c0] : vector<8x8xf32>, memref<8x8xf32>
  %b = vector.transfer_read %x[%c3, %c0], %pad
    {permutation_map = affine_map<(i, j) -> (0, j)>} : memref<5x7xf32>, vector<4x8xf32>
  vector.transfer_write %b, %w[%c0, %c0] : vector<4x8xf32>, memref<4x7xf32>
  return
}"""
    run(text, [x], [y, z], cpu)
    want = np.full((8, 8), 9, np.float32)
    want[:7, :5] = x.T
    assert np.array_equal(y, want)
    assert np.array_equal(z, np.broadcast_to(x[3], (4, 7)))


@pytest.mark.parametrize("cpu", CPUS)
def test_contraction(cpu: str) -> None:
    a, b, c = random(4, 8), random(8, 32), random(4, 32)
    d = np.zeros_like(c)
    text = """
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: memref<4x8xf32>, %b: memref<8x32xf32>, %c: memref<4x32xf32>,
             %d: memref<4x32xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %x = vector.transfer_read %a[%c0, %c0], %z : memref<4x8xf32>, vector<4x8xf32>
  %y = vector.transfer_read %b[%c0, %c0], %z : memref<8x32xf32>, vector<8x32xf32>
  %w = vector.transfer_read %c[%c0, %c0], %z : memref<4x32xf32>, vector<4x32xf32>
  %r = vector.contract {indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction"]} %x, %y, %w
    : vector<4x8xf32>, vector<8x32xf32> into vector<4x32xf32>
  vector.transfer_write %r, %d[%c0, %c0] : vector<4x32xf32>, memref<4x32xf32>
  return
}"""
    run(text, [a, b, c], [d], cpu)
    np.testing.assert_allclose(d, a.astype(float) @ b + c, rtol=1e-5, atol=1e-5)


REDUCTIONS = {
    "add": np.sum,
    "mul": np.prod,
    "maximumf": np.max,
    "minimumf": np.min,
    "maxnumf": np.fmax.reduce,
    "minnumf": np.fmin.reduce,
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("lanes", [1, 3, 8, 12, 16, 64])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_horizontal_reductions(kind: str, lanes: int, cpu: str) -> None:
    text = f"""
func.func @f(%x: memref<{lanes}xf32>, %y: memref<f32>) {{
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<{lanes}xf32>, vector<{lanes}xf32>
  %r = vector.reduction <{kind}>, %v : vector<{lanes}xf32> into f32
  memref.store %r, %y[] : memref<f32>
  return
}}"""
    x, y = random(lanes), np.zeros((), np.float32)
    for spoil in (False, True) if kind[-1] == "f" else (False,):
        if spoil:
            x[lanes // 2] = np.nan
        run(text, [x], [y], cpu)
        want = REDUCTIONS[kind](x.astype(float))
        np.testing.assert_allclose(y, want, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dim", [0, 1])
def test_multi_reductions(dim: int, cpu: str) -> None:
    x, y = random(6, 16), np.zeros(16 if dim == 0 else 6, np.float32)
    n = y.size
    text = f"""
func.func @f(%x: memref<6x16xf32>, %y: memref<{n}xf32>) {{
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %a = arith.constant dense<1.0> : vector<{n}xf32>
  %v = vector.transfer_read %x[%c0, %c0], %z : memref<6x16xf32>, vector<6x16xf32>
  %r = vector.multi_reduction <add>, %v, %a [{dim}] : vector<6x16xf32> to vector<{n}xf32>
  vector.transfer_write %r, %y[%c0] : vector<{n}xf32>, memref<{n}xf32>
  return
}}"""
    run(text, [x], [y], cpu)
    np.testing.assert_allclose(y, 1 + x.astype(float).sum(axis=dim), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("active", [0, 1, 7, 16])
def test_masks(active: int, cpu: str) -> None:
    """Beyond the mask nothing is read or written: the arrays end there."""
    x, y = random(max(active, 1)), np.full(max(active, 1), -1, np.float32)
    text = f"""
func.func @f(%n: index, %x: memref<{x.size}xf32>, %y: memref<{x.size}xf32>, %s: memref<f32>) {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %z = arith.constant dense<0.0> : vector<16xf32>
  %m = vector.create_mask %n : vector<16xi1>
  %v = vector.maskedload %x[%c0], %m, %z
    : memref<{x.size}xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  vector.maskedstore %y[%c0], %m, %v : memref<{x.size}xf32>, vector<16xi1>, vector<16xf32>
  %r = vector.mask %m {{ vector.reduction <add>, %v, %zero : vector<16xf32> into f32 }}
    : vector<16xi1> -> f32
  memref.store %r, %s[] : memref<f32>
  return
}}"""
    s = np.zeros((), np.float32)
    function = compile_text(text, cpu).function(
        "f", ["index", ("f32", x.shape)], [("f32", y.shape), ("f32", ())]
    )
    function((active, x), (y, s))
    assert np.array_equal(y[:active], x[:active]) and np.all(y[active:] == -1)
    np.testing.assert_allclose(s, x[:active].astype(float).sum(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_gather(dtype: str, cpu: str) -> None:
    x = random(100) if dtype == "float32" else random(100) > 0
    where = np.random.default_rng(1).integers(0, 100, 16)
    y = np.zeros(16, dtype)
    t = "f32" if dtype == "float32" else "i1"
    none = "0.0" if t == "f32" else "false"
    text = f"""
func.func @f(%x: memref<100x{t}>, %i: memref<16xindex>, %y: memref<16x{t}>) {{
  %c0 = arith.constant 0 : index
  %m = arith.constant dense<true> : vector<16xi1>
  %p = arith.constant dense<{none}> : vector<16x{t}>
  %k = vector.load %i[%c0] : memref<16xindex>, vector<16xindex>
  %v = vector.gather %x[%c0] [%k], %m, %p
    : memref<100x{t}>, vector<16xindex>, vector<16xi1>, vector<16x{t}> into vector<16x{t}>
  vector.store %v, %y[%c0] : memref<16x{t}>, vector<16x{t}>
  return
}}"""
    run(text, [x, where], [y], cpu)
    assert np.array_equal(y, x[where])


@pytest.mark.parametrize("cpu", CPUS)
def test_views_and_strided_copies(cpu: str) -> None:
    x, y = random(6, 10), np.zeros((3, 5), np.float32)
    text = """
func.func @f(%x: memref<6x10xf32>, %y: memref<3x5xf32>) {
  %s = memref.subview %x[1, 2] [3, 4] [2, 2]
    : memref<6x10xf32> to memref<3x4xf32, strided<[20, 2], offset: 12>>
  %d = memref.subview %y[0, 1] [3, 4] [1, 1]
    : memref<3x5xf32> to memref<3x4xf32, strided<[5, 1], offset: 1>>
  memref.copy %s, %d : memref<3x4xf32, strided<[20, 2], offset: 12>>
    to memref<3x4xf32, strided<[5, 1], offset: 1>>
  %flat = memref.collapse_shape %y [[0, 1]] : memref<3x5xf32> into memref<15xf32>
  %c0 = arith.constant 0 : index
  %v = arith.constant 7.0 : f32
  memref.store %v, %flat[%c0] : memref<15xf32>
  return
}"""
    run(text, [x], [y], cpu)
    want = np.zeros((3, 5), np.float32)
    want[:, 1:] = x[1:6:2, 2:10:2]
    want[0, 0] = 7
    assert np.array_equal(y, want)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("kind", [ml_dtypes.bfloat16, np.float16])
def test_half_precision_arithmetic(kind: type, cpu: str) -> None:
    """Products of halves summed in f32, one at a time and in vectors."""
    x, y = random(64).astype(kind), random(64)[::-1].astype(kind)
    t = "bf16" if kind is ml_dtypes.bfloat16 else "f16"
    out, vectors = np.zeros((), np.float32), np.zeros(16, np.float32)
    text = f"""
func.func @f(%x: memref<64x{t}>, %y: memref<64x{t}>, %o: memref<f32>, %w: memref<16xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<16xf32>
  %s = scf.for %i = %c0 to %c64 step %c1 iter_args(%a = %zero) -> f32 {{
    %l = memref.load %x[%i] : memref<64x{t}>
    %r = memref.load %y[%i] : memref<64x{t}>
    %lw = arith.extf %l : {t} to f32
    %rw = arith.extf %r : {t} to f32
    %p = arith.mulf %lw, %rw : f32
    %n = arith.addf %a, %p : f32
    scf.yield %n : f32
  }}
  memref.store %s, %o[] : memref<f32>
  %v = scf.for %i = %c0 to %c64 step %c16 iter_args(%a = %zeros) -> vector<16xf32> {{
    %l = vector.load %x[%i] : memref<64x{t}>, vector<16x{t}>
    %r = vector.load %y[%i] : memref<64x{t}>, vector<16x{t}>
    %lw = arith.extf %l : vector<16x{t}> to vector<16xf32>
    %rw = arith.extf %r : vector<16x{t}> to vector<16xf32>
    %n = math.fma %lw, %rw, %a : vector<16xf32>
    scf.yield %n : vector<16xf32>
  }}
  vector.store %v, %w[%c0] : memref<16xf32>, vector<16xf32>
  return
}}"""
    run(text, [x, y], [out, vectors], cpu)
    products = x.astype(float) * y.astype(float)
    np.testing.assert_allclose(out, products.sum(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(vectors, products.reshape(4, 16).sum(0), rtol=1e-5, atol=1e-5)
