"""Random programs of host operations.

A program is interpreted while it is made, on arguments of its own, so that most of its accesses are
valid there; other arguments, and an access in some, are not. All choices come from a ``Choices``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from generate import Choices
from host_loops import ALL, Loops
from host_program import Op, Program, Region, StopError, Tensor, UnknownError, Value
from host_scalars import is_float

DTYPES = ("f32", "f32", "f32", "i32", "i64", "f64", "i8", "i1", "i16", "index")


class HostMaker(Loops):
    """Builds one program."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.program = Program()
        self.region = self.program.body
        self.arguments: list[Any] = []
        for _ in range(choices.number(1, 3)):
            self.argument_tensor()
        for kind in ["index"] * choices.number(1, 3) + [choices.pick(("i32", "i64", "f32"))]:
            self.argument(kind, self.datum(kind))

    def argument_tensor(self) -> None:
        """An argument of some of its extents open; index data points into small tensors."""
        choose = self.choose
        shape = tuple(choose.pick((3, 2, 4, 1, 5, 0)) for _ in range(choose.pick((1, 2, 2, 3, 0))))
        dtype = choose.pick(DTYPES)
        self.argument(self.opened(shape, dtype), self.data(shape, dtype))

    def argument(self, of: Tensor | str, found: Any) -> None:
        value = Value(f"arg{len(self.arguments)}", of)
        self.program.body.arguments.append(value)
        self.run.values[value] = found
        self.scope.append(value)
        self.arguments.append(found)

    def make(self) -> Program:
        """The program, with what has not been used as its results."""
        count = self.choose.number(1, 9)
        try:
            for _ in range(count):
                self.choose.pick(ALL)(self)
        except (StopError, UnknownError):
            pass  # the last operation must not be reached
        self.results()
        return self.program

    def results(self) -> None:
        """All tensors that nothing reads, or the last; scalars that nothing reads as elements."""
        body = self.program.body
        made = [v for op in body.ops for v in op.results]
        used = {v for op in body.ops for v in used_by(op)}
        unused = [v for v in made if v not in used]
        loose = [v for v in unused if isinstance(v.type, str)]
        kept = [v for v in unused if isinstance(v.type, Tensor)]
        for kind in sorted({v.type for v in loose}):
            elements = [v for v in loose if v.type == kind]
            result = Value(self.name(), Tensor((len(elements),), kind))
            body.ops.append(Op("from_elements", elements, [result]))
            kept.append(result)
        if not kept:
            kept = [v for v in [*made, *body.arguments] if isinstance(v.type, Tensor)][-1:]
        body.yields = kept[-4:]


def used_by(op: Op) -> set[Value]:
    """Values that an op or its regions read."""
    listed = [v for part in op.more.values() if isinstance(part, list) for v in part]
    used = {v for v in [*op.operands, *listed] if isinstance(v, Value)}
    for region in op.regions:
        used |= set(region.yields)
        for inner in region.ops:
            used |= used_by(inner)
    return used


def without_unused(region: Region, wanted: set[Value]) -> None:
    """Removes operations that neither the region's results nor ``wanted`` need."""
    needed = set(wanted) | set(region.yields)
    kept = []
    for op in reversed(region.ops):
        if needed & set(op.results):
            for inner in op.regions:
                without_unused(inner, set())
            needed |= used_by(op)
            kept.append(op)
    region.ops = kept[::-1]


def generate_host(
    choices: Choices, results: Sequence[int] | None = None
) -> tuple[Program, list[Any]]:
    """A program and the arguments that it was made on; ``results``: those to keep."""
    maker = HostMaker(choices)
    program = maker.make()
    if results is not None:
        body = program.body
        body.yields = [v for at, v in enumerate(body.yields) if at in results]
        without_unused(body, set())
    return program, maker.arguments


def other_arguments(
    program: Program, arguments: list[Any], number: int, rng: np.random.Generator
) -> list[Any]:
    """For later calls: other data, other scalars, other extents where they are open."""
    data = Data(rng)
    if number == 0:
        return arguments
    changed = []
    # Extents that were equal mostly stay so.
    renamed = {n: int(rng.integers(0, 6)) for n in range(8)}
    for value, found in zip(program.body.arguments, arguments, strict=True):
        if isinstance(value.type, str):
            kept = number % 3 == 1 and rng.integers(2)
            changed.append(found if kept else data.datum(value.type))
            continue
        shape = tuple(
            m
            if n is not None or number % 2
            else renamed[m]
            if rng.integers(8)
            else int(rng.integers(6))
            for n, m in zip(value.type.shape, found.shape, strict=True)
        )
        changed.append(data.data(shape, value.type.dtype))
    return changed


class Data:
    """Random data of a NumPy generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def datum(self, kind: str) -> Any:
        """A scalar: small, sometimes far outside."""
        if kind == "i1":
            return int(self.rng.integers(2))
        if is_float(kind):
            return float(self.rng.integers(-6, 7)) / 2
        far = (-1, 6, 7, 100, -128, 127) + ((1 << 20, 1 << 40) if kind in ("i64", "index") else ())
        if self.rng.integers(8) == 0:
            return int(self.rng.choice(far))
        return int(self.rng.integers(0, 5))

    def data(self, shape: tuple[int, ...], kind: str) -> np.ndarray:
        made = np.empty(shape, dtype=object)
        for place in np.ndindex(shape):
            made[place] = self.datum(kind)
        return made
