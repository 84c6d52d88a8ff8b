"""redfuse-derive with barriers: several passes over the data give what the cascade says."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse  # noqa: F401  registers the dialect and the passes
from cascades import CASCADES, Cascade, N
from index_program import Array, Interpreter, State
from mlir import ir
from mlir.passmanager import PassManager
from test_derive import KINDS, check, find, inputs, segments

EXTENTS = {"i": 5, "j": N, "k": 4, "d": 3}

# By name: the cascade, and the passes that it takes.
BARRIERS: dict[str, tuple[Cascade, int]] = {
    "a rounded quotient": (
        Cascade(
            ("ij", "jd"),
            ("id",),
            """%c = arith.constant 127.0 : f32
               %x = math.absf %a : f32
               %m = redfuse.reduce maximumf %x over [j] into [i] : f32
               %s = arith.divf %c, %m : f32
               %q = arith.mulf %a, %s : f32
               %r = math.roundeven %q : f32
               %p = arith.mulf %r, %b : f32
               %o = redfuse.reduce add %p over [j] into [d, i] : f32
               %t = arith.divf %o, %s : f32
               redfuse.yield %t : f32""",
        ),
        2,
    ),
    "values above the mean": (
        Cascade(
            ("ij",),
            ("i",),
            f"""%n = arith.constant {float(N)} : f32
               %s = redfuse.reduce add %a over [j] into [i] : f32
               %mu = arith.divf %s, %n : f32
               %up = arith.cmpf ogt, %a, %mu : f32
               %zero = arith.constant 0.0 : f32
               %k = arith.select %up, %a, %zero : f32
               %o = redfuse.reduce add %k over [j] into [i] : f32
               redfuse.yield %o : f32""",
        ),
        2,
    ),
    "mean absolute deviation": (
        Cascade(
            ("ij",),
            ("i",),
            f"""%n = arith.constant {float(N)} : f32
               %s = redfuse.reduce add %a over [j] into [i] : f32
               %mu = arith.divf %s, %n : f32
               %d = arith.subf %a, %mu : f32
               %k = math.absf %d : f32
               %o = redfuse.reduce add %k over [j] into [i] : f32
               redfuse.yield %o : f32""",
        ),
        2,
    ),
    "exponentials of standardised values": (
        Cascade(
            ("ij",),
            ("ij",),
            f"""%n = arith.constant {float(N)} : f32
               %s = redfuse.reduce add %a over [j] into [i] : f32
               %mu = arith.divf %s, %n : f32
               %d = arith.subf %a, %mu : f32
               %q = arith.mulf %d, %d : f32
               %qs = redfuse.reduce add %q over [j] into [i] : f32
               %sd = math.sqrt %qs : f32
               %z = arith.divf %d, %sd : f32
               %e = math.exp %z : f32
               %l = redfuse.reduce add %e over [j] into [i] : f32
               %w = arith.divf %e, %l : f32
               redfuse.yield %w : f32""",
        ),
        2,
    ),
    "a product of mixed values": (
        Cascade(
            ("ij",),
            ("i",),
            """%x = math.absf %a : f32
               %m = redfuse.reduce maximumf %x over [j] into [i] : f32
               %q = arith.divf %x, %m : f32
               %o = redfuse.reduce mul %q over [j] into [i] : f32
               redfuse.yield %o : f32""",
        ),
        2,
    ),
    "a maximum over other dims between": (
        Cascade(
            ("ij", "jk"),
            ("i",),
            """%s = redfuse.reduce add %a over [j] into [i] : f32
               %q = arith.mulf %b, %s : f32
               %m = redfuse.reduce maximumf %q over [k] into [i, j] : f32
               %o = redfuse.reduce add %m over [j] into [i] : f32
               redfuse.yield %o : f32""",
        ),
        2,
    ),
    "two barriers": (
        Cascade(
            ("ij",),
            ("i", "i"),
            """%x = math.absf %a : f32
               %t = redfuse.reduce add %x over [j] into [i] : f32
               %c = arith.constant 100.0 : f32
               %q = arith.divf %a, %t : f32
               %u = arith.mulf %q, %c : f32
               %r = math.floor %u : f32
               %m = redfuse.reduce maximumf %r over [j] into [i] : f32
               %d = arith.subf %r, %m : f32
               %e = math.exp %d : f32
               %l = redfuse.reduce add %e over [j] into [i] : f32
               %k = arith.mulf %x, %l : f32
               %f = math.ceil %k : f32
               %o = redfuse.reduce add %f over [j] into [i] : f32
               redfuse.yield %o, %t : f32, f32""",
        ),
        3,
    ),
}


class Passes:
    """A cascade in passes."""

    def __init__(self, cascade: Cascade, extents: dict[str, int], options: str = "") -> None:
        self.context = ir.Context()
        self.context.load_all_available_dialects()
        text = cascade.text(extents)
        with self.context:
            self.source = ir.Module.parse(text)
            self.module = ir.Module.parse(text)
            pass_ = f"redfuse-derive{{over={cascade.folded} {options}}}"
            PassManager.parse(f"builtin.module({pass_})").run(self.module.operation)
        self.cascade = find(self.source, "redfuse.cascade")
        self.function = self.module.body.operations[0].operation
        self.ops = [op.operation for op in self.function.regions[0].blocks[0].operations]
        self.folds = [op for op in self.ops if op.name == "redfuse.fold"]

    def rules(self) -> str:
        """The rules of all passes."""
        return " ".join(str(ir.DictAttr(f.attributes["certificate"])["rules"]) for f in self.folds)

    def refused(self) -> str:
        return str(self.function.attributes["redfuse.refused"])

    def run(
        self, run: Interpreter, arrays: list[Array], rng: np.random.Generator, style: str
    ) -> list[Array]:
        """The results of the function, with every fold cut anew."""
        arguments = list(self.function.regions[0].blocks[0].arguments)
        known: dict[ir.Value, Array] = dict(zip(arguments, arrays, strict=False))
        for op in self.ops:
            if op.name not in ("redfuse.fold", "redfuse.finalize", "func.return"):
                continue
            if op.name == "func.return":
                return [known[v] for v in op.operands]
            count = len(op.operands) - len(op.results)
            reads = [known[v] for v in list(op.operands)[:count]]
            results = (
                run.finalize(op, reads)
                if op.name == "redfuse.finalize"
                else fold(run, op, reads, arrays[0].shape[1], rng, style).components
            )
            known.update(zip(op.results, results, strict=True))
        raise AssertionError("no return")


def fold(
    run: Interpreter,
    op: ir.Operation,
    reads: list[Array],
    n: int,
    rng: np.random.Generator,
    style: str,
) -> State:
    """The state of one fold by one way to cut and merge."""
    parts = segments(rng, n, style)
    state = run.identity(op, reads)
    if style != "tree":
        for part in parts:
            state = run.step(op, reads, [part], state)
        return state
    states = [run.step(op, reads, [part], state) for part in parts]
    while len(states) > 1:
        a, b = rng.choice(len(states), 2, replace=False)
        merged = run.merge(op, reads, states[a], states[b])
        states = [s for k, s in enumerate(states) if k not in (a, b)] + [merged]
    return states[0]


@pytest.mark.parametrize("name", BARRIERS)
def test_passes_give_the_cascade(name: str) -> None:
    cascade, count = BARRIERS[name]
    derived = Passes(cascade, EXTENTS)
    assert len(derived.folds) == count, derived.module
    assert "location" in derived.refused()
    run = Interpreter(precise=True)
    with np.errstate(all="ignore"):
        for seed, kind in enumerate(KINDS):
            arrays = inputs(cascade, kind, EXTENTS, seed)
            want = run.cascade(derived.cascade, arrays)
            rng = np.random.default_rng(seed)
            for style in ("one", "cut", "tree"):
                got = derived.run(run, arrays, rng, style)
                check(got, want, 1e-9, f"{name}, {kind}, {style}")


def test_rounding_is_dropped_on_request() -> None:
    """One pass; each of the rounded values is off by at most a half."""
    cascade, _ = BARRIERS["a rounded quotient"]
    derived = Passes(cascade, EXTENTS, "approximate=true")
    assert len(derived.folds) == 1
    assert "approximate" in derived.rules()
    run = Interpreter(precise=True)
    arrays = inputs(cascade, "normal", EXTENTS, 5)
    (want,) = run.cascade(derived.cascade, arrays)
    (got,) = derived.run(run, arrays, np.random.default_rng(5), "tree")
    scale = np.abs(arrays[0]).max(axis=1, keepdims=True) / 127
    assert (np.abs(got - want) <= scale / 2 * np.abs(arrays[1]).sum(axis=0)).all()
    assert (got != want).any()


def with_jumps(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Slow growth and jumps: rows whose maximum grows by little, by 600, and at the end."""
    x = rng.standard_normal(shape).astype(np.float32)
    x[0] += np.linspace(0, 40, shape[1], dtype=np.float32)
    x[1, shape[1] // 2 :] += 600
    x[2, -1] += 600
    x[3, : shape[1] // 2] = -np.inf
    return x


@pytest.mark.parametrize("name", ["weighted sum", "log-sum-exp", "entropy", "softmax"])
@pytest.mark.parametrize("lazy", [1, 8])
@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.sample(3)
def test_a_pivot_may_lag_behind(name: str, lazy: int, precise: bool) -> None:
    derived = Passes(CASCADES[name], EXTENTS, f"lazy={lazy}")
    assert "lazy maximum" in str(derived.folds[0].attributes["certificate"])
    run = Interpreter(precise=precise)
    rng = np.random.default_rng(lazy)
    with np.errstate(all="ignore"):
        for kind in (*KINDS, "jumps"):
            arrays = inputs(CASCADES[name], "normal" if kind == "jumps" else kind, EXTENTS, lazy)
            if kind == "jumps":
                arrays[0] = with_jumps(arrays[0].shape, rng)
            want = Interpreter(precise=True).cascade(derived.cascade, arrays)
            for style in ("one", "elements", "cut", "tree"):
                got = derived.run(run, arrays, rng, style)
                tolerance = 1e-9 if precise else 1e-4
                check(got, want, tolerance, f"{name}, {kind}, {style}")
