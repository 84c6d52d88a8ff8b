"""redfuse-derive on random cascades: derived ones are right, refused ones say why, none crashes."""

from __future__ import annotations

import numpy as np
import pytest
from cascades import Cascade
from index_program import Interpreter
from test_derive import check, inputs
from test_derive_passes import Passes

EXTENTS = {"i": 4, "j": 23}
PROGRAMS = 120


class Writer:
    """Writes a random body over data %a, %b (i, j) with two to four reductions over j."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.count = 0
        self.data = ["%a", "%b"]
        self.done: list[str] = []
        self.mixed: list[str] = []

    def pick(self, values: list[str]) -> str:
        return values[int(self.rng.integers(len(values)))]

    def emit(self, text: str, type_: str = "f32") -> str:
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text} : {type_}")
        return name

    def binary(self, lhs: str, rhs: str) -> str:
        name = self.pick(["addf", "subf", "mulf", "mulf", "divf"])
        return self.emit(f"arith.{name} {lhs}, {rhs}")

    def data_value(self) -> str:
        value = self.pick(self.data)
        kind = self.rng.integers(6)
        if kind == 0:
            return self.emit(f"arith.mulf {value}, {self.pick(self.data)}")
        if kind == 1:
            return self.emit(f"math.absf {value}")
        return value

    def contribution(self) -> str:
        """A value of data and, if there are any, reduced values."""
        value = self.data_value()
        if not self.done:
            return value
        for _ in range(int(self.rng.integers(1, 4))):
            kind = self.rng.integers(7)
            if kind <= 1:
                value = self.binary(value, self.pick(self.done))
            elif kind == 2:
                difference = self.emit(f"arith.subf {self.pick(self.data)}, {self.pick(self.done)}")
                value = self.emit(f"arith.mulf {value}, {difference}")
            elif kind == 3:
                value = self.emit(f"arith.mulf {value}, {self.data_value()}")
            elif kind == 4:
                top = self.reduce("maximumf", "%a")
                e = self.emit(f"math.exp {self.emit(f'arith.subf %a, {top}')}")
                value = self.emit(f"arith.mulf {e}, {self.pick(self.data)}")
            elif kind == 5:
                value = self.emit(f"arith.negf {value}")
            else:
                value = self.emit(f"arith.mulf {value}, {value}")
        return value

    def reduce(self, reducer: str, value: str) -> str:
        return self.emit(f"redfuse.reduce {reducer} {value} over [j] into [i]")

    def body(self) -> str:
        results = []
        for _ in range(int(self.rng.integers(2, 5))):
            reducer = self.pick(["add", "add", "add", "maximumf", "minimumf"])
            result = self.reduce(reducer, self.contribution())
            results.append(result)
            kind = self.rng.integers(4)
            if kind == 0:
                n = self.emit(f"arith.constant {float(EXTENTS['j']):.1f}")
                self.done.append(self.emit(f"arith.divf {result}, {n}"))
            elif kind == 1:
                self.done.append(self.emit(f"math.absf {result}"))
            else:
                self.done.append(result)
        self.lines.append(f"redfuse.yield {results[-1]}, {results[0]} : f32, f32")
        return "\n".join(self.lines)


@pytest.mark.parametrize("first", range(0, PROGRAMS, 20))
@pytest.mark.sample(3)
def test_random_cascades(first: int) -> None:
    derived_count = 0
    for seed in range(first, first + 20):
        cascade = Cascade(("ij", "ij"), ("i", "i"), Writer(seed).body())
        derived = Passes(cascade, EXTENTS)
        if not derived.folds:
            assert "condition" in derived.refused(), cascade.body
            continue
        derived_count += 1
        run = Interpreter(precise=True)
        kinds = ("normal", "nan", "zeros", "minus infinity row", "plus infinity")
        with np.errstate(all="ignore"):
            for kind in kinds:
                arrays = inputs(cascade, kind, EXTENTS, seed)
                if seed % 2:
                    arrays.reverse()
                want = run.cascade(derived.cascade, arrays)
                rng = np.random.default_rng(seed)
                for style in ("one", "cut", "tree"):
                    got = derived.run(run, arrays, rng, style)
                    context = f"seed {seed}, {kind}, {style}\n{cascade.body}"
                    check(got, want, 1e-7, context)
    assert derived_count >= 3
