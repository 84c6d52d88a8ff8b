"""Layer 1 keeps the meaning: programs compute the same before and after it.

Both forms are lowered by upstream passes alone, run, and compared with each other and with
what is wanted: the stored outputs of the corpus, or numpy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from upstream_run import error, execute, find_redfuse_opt, opt

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"


@pytest.fixture(scope="module")
def redfuse_opt() -> Path:
    return find_redfuse_opt()


@pytest.mark.sample(3)
@pytest.mark.parametrize("program", sorted(p.stem for p in CORPUS.glob("*.mlir")))
def test_same_results(program: str, redfuse_opt: Path) -> None:
    source = (CORPUS / f"{program}.mlir").read_text()
    stored = np.load(CORPUS / f"{program}.npz")
    inputs = [stored[k] for k in sorted(stored) if k.startswith("in")]
    wanted = [stored[k] for k in sorted(stored) if k.startswith("out")]
    normalized = opt(redfuse_opt, source, "--redfuse-normalize")
    after = execute(redfuse_opt, normalized, inputs)
    tolerance = 2e-2 if "bf16" in source else 1e-4
    for got, want in zip(after, wanted, strict=True):
        assert error(got, want) < tolerance
    for got, want in zip(after, execute(redfuse_opt, source, inputs), strict=True):
        assert error(got, want) < (1e-2 if "bf16" in source else 1e-5)


def normalized_form(redfuse_opt: Path, source: str) -> str:
    return opt(redfuse_opt, source, "--redfuse-normalize")


def check(
    redfuse_opt: Path, source: str, inputs: list[np.ndarray], wanted: list[np.ndarray]
) -> None:
    """`source` computes `wanted` as it is and normalised."""
    for program in (source, normalized_form(redfuse_opt, source)):
        for got, want in zip(execute(redfuse_opt, program, inputs), wanted, strict=True):
            assert error(got, want) < 1e-5


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=axis, keepdims=True)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("queries", "keys"), [(13, 17), (1, 1), (1, 7), (7, 1), (0, 5), (3, 0), (31, 64)]
)
def test_dynamic_attention(redfuse_opt: Path, queries: int, keys: int) -> None:
    rng = np.random.default_rng(queries * 100 + keys)
    q = rng.standard_normal((2, 2, queries, 32)).astype(np.float32)
    k, v = rng.standard_normal((2, 2, 2, keys, 32)).astype(np.float32)
    source = (CORPUS / "attention_dynamic.mlir").read_text()
    weights = softmax(np.float64(q) @ np.float64(k).swapaxes(-1, -2) / 8.0, -1)
    check(redfuse_opt, source, [q, k, v], [weights @ v])


def test_dynamic_broadcast_is_taken(redfuse_opt: Path) -> None:
    """A single key beside five values is repeated, as the program says."""
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((2, 2, n, 32)).astype(np.float32) for n in (3, 1, 5))
    source = (CORPUS / "attention_dynamic.mlir").read_text()
    repeated = np.repeat(np.float64(k), 5, axis=2)
    weights = softmax(np.float64(q) @ repeated.swapaxes(-1, -2) / 8.0, -1)
    check(redfuse_opt, source, [q, k, v], [weights @ v])


SOFTMAX = """
func.func @main(%x: tensor<?x7x?xf32>) -> tensor<?x7x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %a = tensor.dim %x, %c0 : tensor<?x7x?xf32>
  %b = tensor.dim %x, %c2 : tensor<?x7x?xf32>
  %e = tensor.empty(%a, %b) : tensor<?x7x?xf32>
  %r = linalg.softmax dimension(AXIS) ins(%x : tensor<?x7x?xf32>)
      outs(%e : tensor<?x7x?xf32>) -> tensor<?x7x?xf32>
  return %r : tensor<?x7x?xf32>
}
"""


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 7, 5), (1, 7, 1), (0, 7, 3), (11, 7, 0)])
@pytest.mark.sample(3)
def test_softmax(redfuse_opt: Path, axis: int, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32) * 30
    normalized = normalized_form(redfuse_opt, SOFTMAX.replace("AXIS", str(axis)))
    (got,) = execute(redfuse_opt, normalized, [x])
    assert error(got, softmax(np.float64(x), axis)) < 1e-5


LOOPS = """
func.func @main(%x: tensor<?x?xf32>, %w: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %o = tensor.empty(%m) : tensor<?xf32>
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%out = %o) -> tensor<?xf32> {
    %max = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %low) -> f32 {
      %e = tensor.extract %x[%i, %j] : tensor<?x?xf32>
      %s = arith.maximumf %acc, %e : f32
      scf.yield %s : f32
    }
    %sum:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %dot = %zero) -> (f32, f32) {
      %e = tensor.extract %x[%i, %j] : tensor<?x?xf32>
      %d = arith.subf %e, %max : f32
      %f = math.exp %d : f32
      %s = arith.addf %acc, %f : f32
      %y = tensor.extract %w[%j] : tensor<?xf32>
      %p = arith.mulf %f, %y : f32
      %t = arith.addf %dot, %p : f32
      scf.yield %s, %t : f32, f32
    }
    %v = arith.divf %sum#1, %sum#0 : f32
    %z = tensor.insert %v into %out[%i] : tensor<?xf32>
    scf.yield %z : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
"""


@pytest.mark.parametrize("shape", [(5, 13), (1, 1), (17, 1), (0, 4)])
def test_loops(redfuse_opt: Path, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(7)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in (shape, shape[1:]))
    check(redfuse_opt, LOOPS, [x, w], [softmax(np.float64(x), 1) @ w])
    normalized = normalized_form(redfuse_opt, LOOPS)
    assert "scf.for" not in normalized
    assert "tensor.extract " not in normalized


PRODUCT = """
func.func @main(%a: tensor<5x?xf32>, %b: tensor<?x4xf32>, %c: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %n = tensor.dim %a, %c1 : tensor<5x?xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%ck = %c) -> tensor<4x5xf32> {
    %r1 = scf.for %i = %c0 to %c5 step %c1 iter_args(%ci = %ck) -> tensor<4x5xf32> {
      %r2 = scf.for %j = %c0 to %c4 step %c1 iter_args(%cj = %ci) -> tensor<4x5xf32> {
        %x = tensor.extract %a[%i, %k] : tensor<5x?xf32>
        %y = tensor.extract %b[%k, %j] : tensor<?x4xf32>
        %z = tensor.extract %cj[%j, %i] : tensor<4x5xf32>
        %p = arith.mulf %x, %y : f32
        %s = arith.subf %z, %p : f32
        %w = tensor.insert %s into %cj[%j, %i] : tensor<4x5xf32>
        scf.yield %w : tensor<4x5xf32>
      }
      scf.yield %r2 : tensor<4x5xf32>
    }
    scf.yield %r1 : tensor<4x5xf32>
  }
  return %r : tensor<4x5xf32>
}
"""


@pytest.mark.parametrize("depth", [0, 1, 9])
def test_accumulating_loops(redfuse_opt: Path, depth: int) -> None:
    rng = np.random.default_rng(depth)
    a, b, c = (rng.standard_normal(s).astype(np.float32) for s in ((5, depth), (depth, 4), (4, 5)))
    check(redfuse_opt, PRODUCT, [a, b, c], [c - (np.float64(a) @ b).T])
    assert "scf.for" not in normalized_form(redfuse_opt, PRODUCT)


SLICES = """
func.func @main(%x: tensor<6x24xf32>) -> (tensor<6x8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<6x8xf32>
  %a = tensor.extract_slice %x[0, 0] [6, 8] [1, 1] : tensor<6x24xf32> to tensor<6x8xf32>
  %b = tensor.extract_slice %x[0, 8] [6, 8] [1, 2] : tensor<6x24xf32> to tensor<6x8xf32>
  %c = tensor.extract_slice %x[4, 3] [1, 8] [1, 1] : tensor<6x24xf32> to tensor<8xf32>
  %m = linalg.mul ins(%a, %b : tensor<6x8xf32>, tensor<6x8xf32>)
      outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %o = tensor.empty() : tensor<8xf32>
  %n = linalg.exp ins(%c : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
  return %m, %n : tensor<6x8xf32>, tensor<8xf32>
}
"""


def test_slices(redfuse_opt: Path) -> None:
    x = np.random.default_rng(9).standard_normal((6, 24)).astype(np.float32)
    check(redfuse_opt, SLICES, [x], [x[:, :8] * x[:, 8::2], np.exp(x[4, 3:11])])


TOPK = """
func.func @main(%x: tensor<?x?xELEMENT>) -> (tensor<?xKxELEMENT>, tensor<?xKxi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xELEMENT>
  %m = tensor.dim %x, %c1 : tensor<?x?xELEMENT>
  %e = tensor.empty(%n, %m) : tensor<?x?xi64>
  %i = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x?xi64>) {
  ^bb0(%out: i64):
    %p = linalg.index 1 : index
    %q = arith.index_cast %p : index to i64
    linalg.yield %q : i64
  } -> tensor<?x?xi64>
  %s:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<?x?xELEMENT>, tensor<?x?xi64>) {
  ^bb0(%a: ELEMENT, %b: ELEMENT, %c: i64, %d: i64):
    %o = ORDER, %a, %b : ELEMENT
    tm_tensor.yield %o : i1
  } -> tensor<?x?xELEMENT>, tensor<?x?xi64>
  %v = tensor.extract_slice %s#0[0, 0] [%n, K] [1, 1] : tensor<?x?xELEMENT> to tensor<?xKxELEMENT>
  %w = tensor.extract_slice %s#1[0, 0] [%n, K] [1, 1] : tensor<?x?xi64> to tensor<?xKxi64>
  return %v, %w : tensor<?xKxELEMENT>, tensor<?xKxi64>
}
"""


@pytest.mark.parametrize(("k", "shape"), [(1, (4, 9)), (5, (3, 5)), (6, (2, 31)), (3, (0, 4))])
@pytest.mark.parametrize(
    ("element", "order", "sign"),
    [
        ("f32", "arith.cmpf oge", -1),
        ("f32", "arith.cmpf ole", 1),
        ("i32", "arith.cmpi sgt", -1),
    ],
)
@pytest.mark.sample(3)
def test_topk(
    redfuse_opt: Path, k: int, shape: tuple[int, int], element: str, order: str, sign: int
) -> None:
    """Few different values, so that ties are broken: by position, but for a strict order."""
    source = TOPK.replace("ELEMENT", element).replace("ORDER", order).replace("K", str(k))
    x = (
        np.random.default_rng(k)
        .integers(-4, 5, shape)
        .astype(element.replace("f", "float").replace("i", "int"))
    )
    strict = order.endswith("gt")
    by = np.argsort(sign * x[:, ::-1] if strict else sign * x, axis=1, kind="stable")
    by = shape[1] - 1 - by if strict else by
    wanted = [np.take_along_axis(x, by, 1)[:, :k], by[:, :k]]
    check(redfuse_opt, source, [x], wanted)
    assert "tm_tensor.topk" in normalized_form(redfuse_opt, source)
