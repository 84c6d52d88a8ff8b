"""Sums that lose digits, or leave the range of f32, in the careless order: by every schedule."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from redfuse.options import SCHEDULES

ROWS, LENGTH = 5, 700

WEIGHTED = f"""
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%a: tensor<{ROWS}x{LENGTH}xf32>, %b: tensor<{ROWS}x{LENGTH}xf32>)
    -> tensor<{ROWS}xf32> {{
  %o = tensor.empty() : tensor<{ROWS}xf32>
  %r = redfuse.cascade {{indexing_maps = [#x, #x, #r]}}
      ins(%a, %b : tensor<{ROWS}x{LENGTH}xf32>, tensor<{ROWS}x{LENGTH}xf32>)
      outs(%o : tensor<{ROWS}xf32>) {{
  ^bb0(%x: f32, %v: f32):
    BODY
    redfuse.yield %y : f32
  }} -> tensor<{ROWS}xf32>
  return %r : tensor<{ROWS}xf32>
}}"""
VARIANCE = """
    %w = arith.mulf %v, %v : f32
    %wx = arith.mulf %w, %x : f32
    %s = redfuse.reduce add %wx over [1] into [0] : f32
    %n = redfuse.reduce add %w over [1] into [0] : f32
    %c = arith.divf %s, %n : f32
    %d = arith.subf %x, %c : f32
    %q = arith.mulf %d, %d : f32
    %p = arith.mulf %w, %q : f32
    %t = redfuse.reduce add %p over [1] into [0] : f32
    %y = arith.divf %t, %n : f32"""
SCALED = """
    %k = math.absf %v : f32
    %m = redfuse.reduce maximumf %k over [1] into [0] : f32
    %z = arith.divf %x, %m : f32
    %q = arith.mulf %z, %z : f32
    %y = redfuse.reduce add %q over [1] into [0] : f32"""

EXPONENTIALS = """
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %p = arith.mulf %w, %v : f32
    %y = redfuse.reduce add %p over [1] into [0] : f32"""


def compiled(body: str, schedule: str) -> redfuse.Executable:
    return redfuse.compile(WEIGHTED.replace("BODY", body), options={"schedule": schedule})


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("place", [0, 350, LENGTH - 1])
def test_one_weight_above_all_others(schedule: str, place: int) -> None:
    """The mean is next to one element, far from the others, wherever it comes."""
    rng = np.random.default_rng(place)
    a, b = rng.standard_normal((2, ROWS, LENGTH)).astype(np.float32)
    a[:, place], b[:, place] = 1e4, 1e5
    x, w = a.astype(np.float64), np.square(b, dtype=np.float64)
    mean = (w * x).sum(1, keepdims=True) / w.sum(1, keepdims=True)
    want = (w * np.square(x - mean)).sum(1) / w.sum(1)
    got = np.asarray(compiled(VARIANCE, schedule)(a, b), np.float64)
    assert np.abs(got / want - 1).max() < 1e-3


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
def test_squares_of_what_is_scaled(schedule: str, scale: float) -> None:
    """x^2 leaves the range of f32 where (x/d)^2 does not."""
    a, b = np.random.default_rng(1).standard_normal((2, ROWS, LENGTH)).astype(np.float32)
    a, b = a * np.float32(scale), b * np.float32(scale)
    ratio = a.astype(np.float64) / np.abs(b).max(1, keepdims=True)
    got = np.asarray(compiled(SCALED, schedule)(a, b), np.float64)
    assert np.abs(got / np.square(ratio).sum(1) - 1).max() < 1e-5


TIED = f"""
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%a: tensor<{ROWS}x{LENGTH}xf32>)
    -> (tensor<{ROWS}xf32>, tensor<{ROWS}xi64>) {{
  %o = tensor.empty() : tensor<{ROWS}xf32>
  %p = tensor.empty() : tensor<{ROWS}xi64>
  %r:2 = redfuse.cascade {{indexing_maps = [#x, #r, #r]}} ins(%a : tensor<{ROWS}x{LENGTH}xf32>)
      outs(%o, %p : tensor<{ROWS}xf32>, tensor<{ROWS}xi64>) {{
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %j = redfuse.index 1
    %k = arith.index_cast %j : index to i64
    %v, %q = redfuse.reduce argmax %w, %k over [1] into [0] : f32, i64
    redfuse.yield %v, %q : f32, i64
  }} -> tensor<{ROWS}xf32>, tensor<{ROWS}xi64>
  return %r#0, %r#1 : tensor<{ROWS}xf32>, tensor<{ROWS}xi64>
}}"""


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_values_that_rounding_makes_equal(schedule: str, strict: bool) -> None:
    """Several weights round to the largest one: the index is one of theirs, and the first with
    ``strict``. A row with NaN has weights of NaN only, of which none is selected."""
    a = np.random.default_rng(2).uniform(-9, -1, (ROWS, LENGTH)).astype(np.float32)
    a[:, 100], a[:, 400], a[:, 600] = -1e-9, 0, -2e-9  # exp(-1e-9) is 1 in f32
    a[1, 650] = np.nan
    a[2, 5] = np.inf
    a[3] = -np.inf
    exe = redfuse.compile(TIED, options={"schedule": schedule, "strict": strict})
    value, index = (np.asarray(v) for v in exe(a))
    assert (value[1:4] == -np.inf).all()
    assert (index[1:4] == 0).all()
    for row in (0, 4):
        assert np.isfinite(value[row])
        assert index[row] in ([100] if strict else [100, 400, 600])


@pytest.mark.parametrize("lazy", [1, 8])
@pytest.mark.parametrize("schedule", ["stream", "split"])
def test_maxima_that_grow_slowly_and_at_once(schedule: str, lazy: int) -> None:
    """With pivots that stay while the maximum grows by little."""
    a = np.random.default_rng(3).standard_normal((ROWS, LENGTH)).astype(np.float32)
    a[0] += np.linspace(0, 90, LENGTH, dtype=np.float32)
    a[1, 350:] += 600
    a[2, -1] = 600
    a[3, :350] = -np.inf
    text = WEIGHTED.replace("BODY", EXPONENTIALS)
    given = {"schedule": schedule, "lazy": lazy, "splits": 3 if schedule == "split" else 0}
    exe = redfuse.compile(text, options=given)
    b = np.random.default_rng(4).standard_normal((ROWS, LENGTH)).astype(np.float32)
    x = a.astype(np.float64)
    e = np.exp(x - x.max(1, keepdims=True))
    want = (e * b).sum(1) / e.sum(1)
    assert np.abs(np.asarray(exe(a, b), np.float64) - want).max() < 1e-5
    assert "powers of 2 less, kept" in exe.explain()


@pytest.mark.parametrize("lazy", [-1, 9])
def test_too_lazy(lazy: int) -> None:
    with pytest.raises(redfuse.ArgumentError, match="'lazy': expected 0 to 8"):
        redfuse.Options(lazy=lazy)


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("schedule", ["resident", "stream"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 19), (4, 1000)])
def test_products_beyond_their_maximum(rows, columns, schedule, opt_level) -> None:
    """Scores near 1e12 are scaled, and subtracted from their maximum: a product that is rounded
    in one loop and not in the other would be far above it."""
    text = f"""
    #s = affine_map<(i, j) -> (i, j)>
    #r = affine_map<(i, j) -> (i)>
    func.func @main(%x: tensor<{rows}x{columns}xf32>) -> tensor<{rows}xf32> {{
      %c = arith.constant 0.35 : f32
      %low = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<{rows}xf32>
      %m0 = linalg.fill ins(%low : f32) outs(%e : tensor<{rows}xf32>) -> tensor<{rows}xf32>
      %m = linalg.generic {{indexing_maps = [#s, #r], iterator_types = ["parallel", "reduction"]}}
          ins(%x : tensor<{rows}x{columns}xf32>) outs(%m0 : tensor<{rows}xf32>) {{
      ^bb0(%a: f32, %o: f32):
        %p = arith.mulf %a, %c : f32
        %r = arith.maximumf %p, %o : f32
        linalg.yield %r : f32
      }} -> tensor<{rows}xf32>
      %s0 = linalg.fill ins(%zero : f32) outs(%e : tensor<{rows}xf32>) -> tensor<{rows}xf32>
      %s = linalg.generic {{indexing_maps = [#s, #r, #r], iterator_types = ["parallel", "reduction"]}}
          ins(%x, %m : tensor<{rows}x{columns}xf32>, tensor<{rows}xf32>)
          outs(%s0 : tensor<{rows}xf32>) {{
      ^bb0(%a: f32, %b: f32, %o: f32):
        %p = arith.mulf %a, %c : f32
        %d = arith.subf %p, %b : f32
        %x0 = math.exp %d : f32
        %r = arith.addf %x0, %o : f32
        linalg.yield %r : f32
      }} -> tensor<{rows}xf32>
      return %s : tensor<{rows}xf32>
    }}
    """
    exe = redfuse.compile(
        text, options={"schedule": schedule, "opt_level": opt_level, "cache": False}
    )
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
        x *= np.float32(1e12)
        scaled = x * np.float32(0.35)
        exact = np.exp((scaled - scaled.max(1, keepdims=True)).astype(np.float64)).sum(1)
        np.testing.assert_allclose(exe(x), exact, rtol=1e-6)


def normalised_times(weights: str, over: str) -> str:
    """Rows less their means, over their deviations, times weights (columns of a matrix for "k")."""
    extent = "5x7" if over else "5"
    return f"""
    #x = affine_map<(i, j, k) -> (i, j)>
    #w = affine_map<(i, j, k) -> (j{over})>
    #y = affine_map<(i, j, k) -> (i{over})>
    func.func @main(%a: tensor<5x37xf32>, %b: tensor<{weights}xf32>) -> tensor<{extent}xf32> {{
      %o = tensor.empty() : tensor<{extent}xf32>
      %r = redfuse.cascade {{indexing_maps = [#x, #w, #y]}}
          ins(%a, %b : tensor<5x37xf32>, tensor<{weights}xf32>) outs(%o : tensor<{extent}xf32>) {{
      ^bb0(%x: f32, %w: f32):
        %n = arith.constant 37.0 : f32
        %s = redfuse.reduce add %x over [1] into [0] : f32
        %mu = arith.divf %s, %n : f32
        %d = arith.subf %x, %mu : f32
        %q = arith.mulf %d, %d : f32
        %v = redfuse.reduce add %q over [1] into [0] : f32
        %rs = math.rsqrt %v : f32
        %z = arith.mulf %d, %rs : f32
        %p = arith.mulf %z, %w : f32
        %t = redfuse.reduce add %p over [1] into [0{", 2" if over else ""}] : f32
        redfuse.yield %t : f32
      }} -> tensor<{extent}xf32>
      return %r : tensor<{extent}xf32>
    }}""".replace("(i, j, k)", "(i, j, k)" if over else "(i, j)")


def classes_differ(text: str, options: dict, weights: np.ndarray) -> tuple[int, int]:
    """In how many results the class is not the source's; and where it is not NaN either."""
    x = np.random.default_rng(8).standard_normal((5, 37)).astype(np.float32)
    z = x - x.mean(1, keepdims=True)
    with np.errstate(invalid="ignore"):
        want = z @ weights
    got = np.asarray(redfuse.compile(text, options=options)(x, weights))
    same = (np.isnan(got) & np.isnan(want)) | (np.isfinite(got) & np.isfinite(want)) | (got == want)
    return (~same).sum(), (~same & ~np.isnan(got)).sum()


@pytest.mark.parametrize("schedule", [*SCHEDULES, "strict"])
@pytest.mark.parametrize("signs", [(1,), (-1,), (1, 1), (1, -1)])
def test_infinite_weights_after_a_norm(schedule: str, signs: tuple[int, ...]) -> None:
    """The source's class, but that the fold of a matrix product can give NaN for an infinity."""
    options = {"strict": True} if schedule == "strict" else {"schedule": schedule}
    for at in range(0, 36, 5):
        vector = np.linspace(-1, 1, 37, dtype=np.float32)
        vector[at : at + len(signs)] = np.array(signs) * np.inf
        assert classes_differ(normalised_times("37", ""), options, vector)[0] == 0
        matrix = np.random.default_rng(at).standard_normal((37, 7)).astype(np.float32)
        matrix[:, 3] = vector
        wrong, other = classes_differ(normalised_times("37x7", ", k"), options, matrix)
        assert other == 0
        assert wrong == 0 or schedule in ("stream", "split")
