"""Tiled programs compute what they computed whole: upstream's drivers on redfuse ops."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse  # noqa: F401  (registers the dialect)
from mlir import ir
from mlir.passmanager import PassManager
from tensor_program import run

ATTENTION_LIKE = """
func.func @main(%s: tensor<{I}x{J}xf64>, %v: tensor<{J}x{D}xf64>, %init: tensor<{I}x{D}xf64>) -> tensor<{I}x{D}xf64> {{
  %o = redfuse.cascade {{indexing_maps = [
         affine_map<(i, j, d) -> (i, j)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, d)>]}}
       ins(%s, %v : tensor<{I}x{J}xf64>, tensor<{J}x{D}xf64>) outs(%init : tensor<{I}x{D}xf64>) {{
  ^bb0(%x: f64, %y: f64):
    %i = redfuse.index 0
    %j = redfuse.index 1
    %ok = arith.cmpi ule, %j, %i : index
    %low = arith.constant -1.0e300 : f64
    %z = arith.select %ok, %x, %low : f64
    %m = redfuse.reduce maximumf %z over [1] into [0] : f64
    %c = arith.subf %z, %m : f64
    %e = math.exp %c : f64
    %l = redfuse.reduce add %e over [1] into [0] : f64
    %w = arith.divf %e, %l : f64
    %p = arith.mulf %w, %y : f64
    %r = redfuse.reduce add %p over [1] into [0, 2] : f64
    redfuse.yield %r : f64
  }} -> tensor<{I}x{D}xf64>
  return %o : tensor<{I}x{D}xf64>
}}"""

WINDOW = """
func.func @main(%x: tensor<33xf64>, %w: tensor<3xf64>, %init: tensor<16xf64>) -> tensor<16xf64> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>,
      affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i + 5)>, affine_map<(i, k) -> (15 - i)>,
      affine_map<(i, k) -> (i)>]}
    ins(%x, %w, %x, %x : tensor<33xf64>, tensor<3xf64>, tensor<33xf64>, tensor<33xf64>) outs(%init : tensor<16xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64, %d: f64):
    %p = arith.mulf %a, %b : f64
    %s = redfuse.reduce add %p over [1] into [0] : f64
    %u = arith.mulf %s, %c : f64
    %v = arith.subf %u, %d : f64
    redfuse.yield %v : f64
  } -> tensor<16xf64>
  return %r : tensor<16xf64>
}"""

# A running maximum, the sum of exponentials and a weighted sum of rows, by position.
FOLD = """
func.func @main(%x: tensor<{I}x{J}xf64>, %y: tensor<{J}x{D}xf64>, %m0: tensor<{I}xf64>, %l0: tensor<{I}xf64>,
                %o0: tensor<{I}x{D}xf64>) -> (tensor<{I}xf64>, tensor<{I}xf64>, tensor<{I}x{D}xf64>) {{
  %st:3 = redfuse.fold {{indexing_maps = [affine_map<(i, j, d) -> (i, j)>, affine_map<(i, j, d) -> (j, d)>,
            affine_map<(i, j, d) -> (i)>, affine_map<(i, j, d) -> (i)>, affine_map<(i, j, d) -> (i, d)>],
            over = array<i64: 1>, identities = [-1.0e300 : f64, 0.0 : f64, 0.0 : f64]}}
          ins(%x, %y : tensor<{I}x{J}xf64>, tensor<{J}x{D}xf64>)
          outs(%m0, %l0, %o0 : tensor<{I}xf64>, tensor<{I}xf64>, tensor<{I}x{D}xf64>)
  step {{
  ^bb0(%e: f64, %v: f64, %m: f64, %l: f64, %o: f64):
    %j = redfuse.index 1
    %i = redfuse.index 0
    %ij = arith.addi %i, %j : index
    %n = arith.index_cast %ij : index to i64
    %pos = arith.sitofp %n : i64 to f64
    %scale = arith.constant 0.01 : f64
    %bias = arith.mulf %pos, %scale : f64
    %s = arith.addf %e, %bias : f64
    %ms = redfuse.reduce maximumf %s over [1] into [0] : f64
    %m1 = arith.maximumf %m, %ms : f64
    %d = arith.subf %m, %m1 : f64
    %f = math.exp %d : f64
    %c = arith.subf %s, %m1 : f64
    %g = math.exp %c : f64
    %ls = redfuse.reduce add %g over [1] into [0] : f64
    %lt = arith.mulf %l, %f : f64
    %l1 = arith.addf %lt, %ls : f64
    %p = arith.mulf %g, %v : f64
    %os = redfuse.reduce add %p over [1] into [0, 2] : f64
    %ot = arith.mulf %o, %f : f64
    %o1 = arith.addf %ot, %os : f64
    redfuse.yield %m1, %l1, %o1 : f64, f64, f64
  }} merge {{
  ^bb0(%ma: f64, %la: f64, %oa: f64, %mb: f64, %lb: f64, %ob: f64):
    %m = arith.maximumf %ma, %mb : f64
    %da = arith.subf %ma, %m : f64
    %db = arith.subf %mb, %m : f64
    %sa = math.exp %da : f64
    %sb = math.exp %db : f64
    %lx = arith.mulf %la, %sa : f64
    %ly = arith.mulf %lb, %sb : f64
    %l = arith.addf %lx, %ly : f64
    %ox = arith.mulf %oa, %sa : f64
    %oy = arith.mulf %ob, %sb : f64
    %o = arith.addf %ox, %oy : f64
    redfuse.yield %m, %l, %o : f64, f64, f64
  }} -> tensor<{I}xf64>, tensor<{I}xf64>, tensor<{I}x{D}xf64>
  return %st#0, %st#1, %st#2 : tensor<{I}xf64>, tensor<{I}xf64>, tensor<{I}x{D}xf64>
}}"""

ARGMAX = """
func.func @main(%x: tensor<{I}x{J}xf64>, %m0: tensor<{I}xf64>, %p0: tensor<{I}xindex>) -> (tensor<{I}xf64>, tensor<{I}xindex>) {{
  %st:2 = redfuse.fold {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [-1.0e300 : f64, 1000000 : index]}}
          ins(%x : tensor<{I}x{J}xf64>) outs(%m0, %p0 : tensor<{I}xf64>, tensor<{I}xindex>)
  step {{
  ^bb0(%e: f64, %m: f64, %p: index):
    %j = redfuse.index 1
    %ms, %ps = redfuse.reduce argmax %e, %j over [1] into [0] : f64, index
    %gt = arith.cmpf ogt, %ms, %m : f64
    %m1 = arith.select %gt, %ms, %m : f64
    %p1 = arith.select %gt, %ps, %p : index
    redfuse.yield %m1, %p1 : f64, index
  }} merge {{
  ^bb0(%ma: f64, %pa: index, %mb: f64, %pb: index):
    %gt = arith.cmpf ogt, %mb, %ma : f64
    %eq = arith.cmpf oeq, %mb, %ma : f64
    %lt = arith.cmpi ult, %pb, %pa : index
    %tie = arith.andi %eq, %lt : i1
    %take = arith.ori %gt, %tie : i1
    %m1 = arith.select %take, %mb, %ma : f64
    %p1 = arith.select %take, %pb, %pa : index
    redfuse.yield %m1, %p1 : f64, index
  }} -> tensor<{I}xf64>, tensor<{I}xindex>
  return %st#0, %st#1 : tensor<{I}xf64>, tensor<{I}xindex>
}}"""

STRATEGIES = {
    "for": "tile_using_for %op tile_sizes [{sizes}]",
    "forall": "tile_using_forall %op tile_sizes [{sizes}]",
    "lanes": "tile_reduction_using_for %op by tile_sizes = [{sizes}]",
    "parts": "tile_reduction_using_forall %op by tile_sizes = [{sizes}]",
    "threads": "tile_reduction_using_forall %op by num_threads = [{sizes}]",
}


def tiled(
    text: str, op: str, strategy: str, sizes: list[int], states: int, aliases: str = ""
) -> ir.Module:
    """`text` with its op tiled and cleaned up, as upstream's driver leaves it."""
    loops = sum(s > 0 for s in sizes) if strategy == "for" else 1
    handles = 1 + loops if strategy in ("for", "forall") else states + 3
    any_op = "!transform.any_op"
    step = STRATEGIES[strategy].format(sizes=", ".join(map(str, sizes)))
    results = ", ".join([any_op] * handles)
    module = ir.Module.parse(f"""{aliases}
module attributes {{transform.with_named_sequence}} {{
{text}
transform.named_sequence @__transform_main(%root: {any_op} {{transform.readonly}}) {{
  %op = transform.structured.match ops{{["{op}"]}} in %root : ({any_op}) -> {any_op}
  %t:{handles} = transform.structured.{step} : ({any_op}) -> ({results})
  transform.yield
}}
}}""")
    pipeline = "builtin.module(transform-interpreter,canonicalize,cse,canonicalize)"
    PassManager.parse(pipeline).run(module.operation)
    return module


def check(text: str, op: str, strategy: str, sizes: list[int], inputs: list[np.ndarray]) -> None:
    with ir.Context():
        whole = run(ir.Module.parse(text), *inputs)
        parts = run(tiled(text, op, strategy, sizes, len(whole)), *inputs)
    for a, b in zip(whole, parts, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


def sizes_of(**dims: int) -> dict:
    """Extents for a program's text, and `?` for those given as negative."""
    return {k: "?" if v < 0 else v for k, v in dims.items()}


DYNAMIC = pytest.mark.parametrize("sign", [1, -1], ids=["static", "dynamic"])


@DYNAMIC
@pytest.mark.parametrize(
    ("strategy", "sizes"),
    [("for", [4, 0, 0]), ("for", [5, 0, 3]), ("forall", [3, 0, 7]), ("for", [100, 0, 1])],
)
def test_parallel_tiles_of_a_cascade(sign, strategy, sizes):
    rng = np.random.default_rng(1)
    i, j, d = 13, 17, 7
    text = ATTENTION_LIKE.format(**sizes_of(I=i * sign, J=j * sign, D=d * sign))
    inputs = [rng.standard_normal(s) for s in ((i, j), (j, d))]
    check(text, "redfuse.cascade", strategy, sizes, [*inputs, np.full((i, d), np.nan)])


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_windows_offsets_strides_and_reversals(size):
    rng = np.random.default_rng(2)
    inputs = [rng.standard_normal(33), rng.standard_normal(3), np.full(16, np.nan)]
    check(WINDOW, "redfuse.cascade", "for", [size], inputs)


@DYNAMIC
@pytest.mark.parametrize(
    ("strategy", "sizes"),
    [
        ("for", [0, 1]),
        ("for", [0, 5]),
        ("for", [4, 6]),
        ("forall", [5]),
        ("lanes", [0, 4]),
        ("lanes", [0, 23]),
        ("lanes", [0, 1]),
        ("parts", [0, 5]),
        ("parts", [0, 100]),
        ("threads", [0, 3]),
        ("threads", [0, 23]),
    ],
)
def test_every_way_to_cut_a_fold(sign, strategy, sizes):
    """From a state that has seen something already, which counts once."""
    rng = np.random.default_rng(3)
    i, j, d = 7, 23, 5
    text = FOLD.format(**sizes_of(I=i * sign, J=j * sign, D=d * sign))
    inputs = [3 * rng.standard_normal((i, j)), rng.standard_normal((j, d))]
    state = [rng.standard_normal(i), 1 + rng.random(i), rng.standard_normal((i, d))]
    check(text, "redfuse.fold", strategy, sizes, [*inputs, *state])


@pytest.mark.parametrize("strategy", ["for", "lanes", "parts"])
def test_a_fold_of_nothing(strategy):
    """No elements: the state as it was given."""
    rng = np.random.default_rng(4)
    i, d = 3, 2
    text = FOLD.format(I=i, J="?", D=d)
    state = [rng.standard_normal(i), rng.random(i), rng.standard_normal((i, d))]
    check(text, "redfuse.fold", strategy, [0, 4], [np.zeros((i, 0)), np.zeros((0, d)), *state])


@pytest.mark.parametrize(
    ("strategy", "sizes"),
    [("for", [0, 4]), ("lanes", [0, 4]), ("parts", [0, 6]), ("threads", [0, 5])],
)
def test_argmax_with_ties(strategy, sizes):
    """The lowest index among equals, however the row is cut; upstream cannot split this."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 3, (11, 29)).astype(float)
    text = ARGMAX.format(I=11, J=29)
    start = [np.full(11, -1e300), np.full(11, 1000000)]
    check(text, "redfuse.fold", strategy, sizes, [x, *start])
    with ir.Context():
        _, place = run(ir.Module.parse(text), x, *start)
    np.testing.assert_array_equal(place, x.argmax(axis=1))


@pytest.mark.parametrize(
    ("strategy", "sizes"),
    [("for", [0, 5]), ("for", [4, 3]), ("lanes", [0, 4]), ("parts", [0, 5]), ("threads", [0, 6])],
)
def test_derived_folds(strategy, sizes):
    """From a whole cascade to a split fold: what derivation makes may be cut in every way."""
    rng = np.random.default_rng(6)
    i, j, d = 13, 17, 7
    text = ATTENTION_LIKE.format(I=i, J=j, D=d)
    inputs = [rng.standard_normal((i, j)), rng.standard_normal((j, d)), np.full((i, d), np.nan)]
    with ir.Context():
        module = ir.Module.parse(text)
        whole = run(module, *inputs)
        PassManager.parse("builtin.module(func.func(redfuse-derive{all=true}))").run(
            module.operation
        )
        derived = str(module)
        assert "redfuse.fold" in derived and "redfuse.cascade" not in derived
        parts = derived.split("module {", 1)
        function = parts[1].rsplit("}", 1)[0]
        states = len(fold_of(module).results)
        cut = tiled(function, "redfuse.fold", strategy, sizes, states, aliases=parts[0])
        for result in (run(module, *inputs), run(cut, *inputs)):
            np.testing.assert_allclose(result[0], whole[0], rtol=1e-12, atol=1e-12)


def fold_of(module: ir.Module) -> ir.Operation:
    block = module.body.operations[0].regions[0].blocks[0]
    return next(o.operation for o in block.operations if o.operation.name == "redfuse.fold")


def test_an_ordered_fold_is_not_split_into_lanes():
    text = FOLD.format(I=7, J=23, D=5).replace(
        "identities =", "certificate = {ordered}, identities ="
    )
    with ir.Context(), pytest.raises(ir.MLIRError, match="cannot split an ordered fold into lanes"):
        tiled(text, "redfuse.fold", "lanes", [0, 4], 3)
