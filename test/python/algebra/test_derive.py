"""redfuse-derive: any way to cut the folded dim and to merge gives what the cascade says.

Checked with an interpreter of the bodies, in f64, on data that is awkward: rows of -inf, single
infinities, NaN, ties, zeros, one huge element, a mean far from zero.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
import redfuse  # noqa: F401  registers the dialect and the passes
from cascade_rules import RULES
from cascades import CASCADES, Cascade, N
from index_program import Array, Interpreter, State
from mlir import ir
from mlir.passmanager import PassManager
from processor import slowness

EXTENTS = {"i": 5, "j": N, "k": 4, "d": 3}
ALL = CASCADES | RULES

KINDS = (
    "normal", "far mean", "minus infinity row", "minus infinity start", "minus infinity end",
    "plus infinity", "both infinities", "nan", "ties", "zeros", "one huge", "cancelling", "tiny",
)  # fmt: skip


def data(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Awkward numbers; the awkward part of a row is along the last axis for 2-d data."""
    x = rng.standard_normal(shape).astype(np.float32)
    if kind == "far mean":
        x += 1000
    elif kind == "minus infinity row":
        x[0] = -np.inf
    elif kind == "minus infinity start":
        x[..., : shape[-1] // 2] = -np.inf
    elif kind == "minus infinity end":
        x[..., shape[-1] // 3 :] = -np.inf
    elif kind == "plus infinity":
        x[0, ..., shape[-1] // 2] = np.inf
    elif kind == "both infinities":
        x[0, ..., -1], x[0, ..., 0] = np.inf, -np.inf
    elif kind == "nan":
        x[0, ..., shape[-1] // 2] = np.nan
    elif kind == "ties":
        x = np.round(x)
    elif kind == "zeros":
        x[0] = 0
    elif kind == "one huge":
        x[0, ..., -1] = 300
    elif kind == "cancelling":
        x[0] = 0
        x[0, ..., :3] = (2.0, -1.0, -1.0)[: shape[-1]]
    elif kind == "tiny":
        x *= np.float32(1e-30)
    return x


def inputs(cascade: Cascade, kind: str, extents: dict[str, int], seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    arrays = []
    for position, spec in enumerate(cascade.inputs):
        dims, _, type_ = spec.partition(":")
        shape = tuple(extents[c] for c in dims)
        if type_.startswith("i"):
            arrays.append(rng.integers(-50, 50, shape))
        else:
            arrays.append(data(kind if position == 0 else "normal", shape, rng))
    return arrays


def find(module: ir.Module, name: str) -> ir.Operation | None:
    block = module.body.operations[0].regions[0].blocks[0]
    return next((op.operation for op in block.operations if op.operation.name == name), None)


class Derived:
    """A cascade with its fold and finalisation."""

    def __init__(
        self, cascade: Cascade, extents: dict[str, int], dynamic: bool = False, options: str = ""
    ) -> None:
        self.context = ir.Context()
        self.context.load_all_available_dialects()
        text = cascade.text(extents, dynamic)
        with self.context:
            self.source = ir.Module.parse(text)
            self.module = ir.Module.parse(text)
            pass_ = f"redfuse-derive{{over={cascade.folded} {options}}}"
            PassManager.parse(f"builtin.module({pass_})").run(self.module.operation)
        self.cascade = find(self.source, "redfuse.cascade")
        self.fold = find(self.module, "redfuse.fold")
        self.finalize = find(self.module, "redfuse.finalize")

    def reason(self) -> str:
        return str(self.module.body.operations[0].attributes["redfuse.refused"])

    def rules(self) -> str:
        return str(ir.DictAttr(self.fold.attributes["certificate"])["rules"])

    def fold_inputs(self, arrays: list[Array]) -> list[Array]:
        """The arrays that the fold reads, by the function's arguments."""
        count = len(self.fold.operands) - len(self.fold.results)
        return [arrays[ir.BlockArgument(self.fold.operands[i]).arg_number] for i in range(count)]

    def finalized(self, run: Interpreter, arrays: list[Array], state: State) -> list[Array]:
        count = len(self.finalize.operands) - len(self.finalize.results)
        values = []
        for i in range(count):
            operand = self.finalize.operands[i]
            if isinstance(operand, ir.BlockArgument):
                values.append(arrays[ir.BlockArgument(operand).arg_number])
            else:
                values.append(state.components[ir.OpResult(operand).result_number])
        return run.finalize(self.finalize, values)


def segments(rng: np.random.Generator, n: int, style: str) -> list[tuple[int, int]]:
    """`n` points in contiguous segments, some of them empty."""
    if style == "one":
        return [(0, n)]
    if style == "elements":
        return [(k, k + 1) for k in range(n)]
    cuts = sorted(rng.integers(0, n + 1, size=rng.integers(1, 8)).tolist())
    return list(zip([0, *cuts], [*cuts, n], strict=True))


def folded(
    derived: Derived, run: Interpreter, arrays: list[Array], rng: np.random.Generator, style: str
) -> list[Array]:
    """The results by one way to cut and merge."""
    reads = derived.fold_inputs(arrays)
    fold = derived.fold
    parts = segments(rng, arrays[0].shape[1], style)
    identity = run.identity(fold, reads)
    if style == "tree":
        states = [run.step(fold, reads, [part], identity) for part in parts]
        while len(states) > 1:
            a, b = rng.choice(len(states), 2, replace=False)
            merged = run.merge(fold, reads, states[a], states[b])
            states = [s for k, s in enumerate(states) if k not in (a, b)] + [merged]
        return derived.finalized(run, arrays, states[0])
    state = identity
    for part in parts:
        state = run.step(fold, reads, [part], state)
    return derived.finalized(run, arrays, state)


def classes(x: Array) -> Array:
    """finite, inf, -inf or NaN, as numbers."""
    if not np.issubdtype(x.dtype, np.floating):
        return np.zeros(x.shape, int)
    return np.where(np.isnan(x), 3, np.where(np.isinf(x), np.where(x > 0, 1, 2), 0))


def check(got: list[Array], want: list[Array], tolerance: float, context: str) -> None:
    for number, (a, b) in enumerate(zip(got, want, strict=True)):
        assert a.shape == b.shape, context
        same = classes(a) == classes(b)
        assert same.all(), f"{context}: result {number} has another class: {a[~same]} {b[~same]}"
        finite = np.isfinite(b.astype(np.float64))
        scale = np.abs(b[finite].astype(np.float64)).max(initial=1e-12)
        error = np.abs(a[finite].astype(np.float64) - b[finite]).max(initial=0)
        assert error <= tolerance * scale, f"{context}: result {number} is off by {error / scale}"


@pytest.fixture(scope="module")
def derivations() -> dict[str, Derived]:
    return {name: Derived(cascade, EXTENTS) for name, cascade in ALL.items()}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.sample(3)
def test_any_cut_and_merge_gives_the_cascade(name: str, derivations: dict[str, Derived]) -> None:
    derived = derivations[name]
    assert derived.fold is not None, derived.reason()
    run = Interpreter(precise=True)
    with np.errstate(all="ignore"):
        for seed, kind in enumerate(KINDS):
            arrays = inputs(ALL[name], kind, EXTENTS, seed)
            want = run.cascade(derived.cascade, arrays)
            rng = np.random.default_rng(seed)
            for style in ("one", "cut", "tree", "tree", *(["elements"] if seed < 4 else [])):
                got = folded(derived, run, arrays, rng, style)
                check(got, want, 1e-9, f"{name}, {kind}, {style}")


@pytest.mark.parametrize("name", ["weighted sum", "guarded weighted sum", "largest scaled value"])
@pytest.mark.parametrize("n", [0, 1, 37])
def test_dynamic_sizes(name: str, n: int) -> None:
    derived = Derived(CASCADES[name], EXTENTS, dynamic=True)
    extents = {**EXTENTS, "j": n}
    run = Interpreter(precise=True)
    with np.errstate(all="ignore"):
        arrays = inputs(CASCADES[name], "normal", extents, 7)
        want = run.cascade(derived.cascade, arrays)
        rng = np.random.default_rng(n)
        for style in ("one", "cut", "tree"):
            check(folded(derived, run, arrays, rng, style), want, 1e-9, f"{name}, {n}, {style}")


@pytest.mark.parametrize(("tile", "limit"), [(1, 1e-3), (32, 1e-5), (100, 1e-5), (999, 1e-5)])
def test_variance_far_from_zero_in_f32(tile: int, limit: float) -> None:
    """Mean 1e6, standard deviation 1: the rounded mean alone would be off by 1e-3."""
    n = 8192
    body = CASCADES["variance"].body.replace(f"{float(N):.1f}", f"{float(n):.1f}")
    derived = Derived(Cascade(("ij",), ("i",), body), {"i": 4, "j": n})
    x = (np.random.default_rng(3).standard_normal((4, n)) + 1e6).astype(np.float32)
    want = x.astype(np.float64).var(axis=1)
    run = Interpreter()
    fold = derived.fold
    tiles = [(k, min(k + tile, n)) for k in range(0, n, tile)]
    state = run.identity(fold, [x])
    if tile == 1:
        tiles = [(k, k + 1) for k in range(600)] + [(600, n)]
    for part in tiles:
        state = run.step(fold, [x], [part], state)
    (got,) = derived.finalized(run, [x], state)
    assert np.abs(got / want - 1).max() < limit
    first = tiles[:20]
    states = [run.step(fold, [x], [p], run.identity(fold, [x])) for p in first]
    rest = run.step(fold, [x], [(first[-1][1], n)], run.identity(fold, [x]))
    for s in states[::-1]:
        rest = run.merge(fold, [x], s, rest)
    (got,) = derived.finalized(run, [x], rest)
    assert np.abs(got / want - 1).max() < limit


def test_the_derivation_is_fast() -> None:
    """Under 50 ms each, parsing and the rewrite included."""
    texts = [cascade.text(EXTENTS) for cascade in ALL.values()]
    context = ir.Context()
    context.load_all_available_dialects()
    with context:
        passes = PassManager.parse("builtin.module(redfuse-derive{all=true})")
        modules = [ir.Module.parse(text) for text in texts]
        start = time.process_time()
        for module in modules:
            passes.run(module.operation)
        assert (time.process_time() - start) / len(modules) < 0.05 * slowness()
