"""Programs of host operations, as the host fuzzer builds, writes and interprets them.

A :class:`Value` has a type: a scalar's name, or a :class:`Tensor`. An :class:`Op` has a kind, whose
text and meaning are entries of a table (``host_ops``, ``host_loops``). The interpreter's tensors are
NumPy arrays of objects, so that an element may be ANY or BAD.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from host_scalars import ANY, BAD, is_float


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A ranked tensor type; None is an extent that the type leaves open."""

    shape: tuple[int | None, ...]
    dtype: str

    def __str__(self) -> str:
        extents = "".join(f"{'?' if n is None else n}x" for n in self.shape)
        return f"tensor<{extents}{self.dtype}>"

    @property
    def rank(self) -> int:
        return len(self.shape)


Type = Tensor | str


@dataclasses.dataclass(eq=False)
class Value:
    """An SSA value. ``found``: what it was when the program was made."""

    name: str
    type: Type
    found: Any = None

    def __str__(self) -> str:
        return f"%{self.name}"


@dataclasses.dataclass
class Region:
    """A block: its arguments, operations, and what it yields."""

    arguments: list[Value] = dataclasses.field(default_factory=list)
    ops: list[Op] = dataclasses.field(default_factory=list)
    yields: list[Value] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Op:
    """An operation; ``more`` is what its kind needs besides operands and regions."""

    kind: str
    operands: list[Value]
    results: list[Value]
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    regions: list[Region] = dataclasses.field(default_factory=list)


class StopError(Exception):
    """A program that must stop: what follows has no meaning, not even a shape."""


class UnknownError(Exception):
    """What happens depends on values that are not determined: nothing can be judged."""


class Run:
    """An execution: the values so far. ``stopped``: some access was invalid, so the program may
    stop, and must if what it gave is returned."""

    def __init__(self) -> None:
        self.values: dict[Value, Any] = {}
        self.stopped = False
        self.where = ""  # the kind of operation that was invalid first
        self.point: tuple[int, ...] = ()
        self.steps = 0

    def fail(self) -> Any:
        """What an invalid access gives."""
        self.stopped = True
        return BAD

    def integer(self, value: Value | int) -> int:
        """A number that decides a shape or a way."""
        found = value if isinstance(value, int) else self.values[value]
        if found is BAD:
            raise StopError
        if found is ANY:
            raise UnknownError
        return found

    def extent(self, value: Value | int) -> int:
        """An extent of a new tensor."""
        found = self.integer(value)
        if found < 0:
            raise StopError
        if found > 4096:
            raise UnknownError  # a tensor that a program may have no memory for
        return found

    def step(self) -> None:
        """One more of as many as there is time for."""
        self.steps += 1
        if self.steps > 200_000:
            raise UnknownError

    def block(self, region: Region, arguments: list[Any]) -> list[Any]:
        """What the region yields."""
        from host_ops import evaluate

        self.values.update(zip(region.arguments, arguments, strict=True))
        self.step()  # a loop of nothing takes its time too
        for op in region.ops:
            self.step()
            evaluate(op, self)
        return [self.values[value] for value in region.yields]


def filled(shape: tuple[int, ...], value: Any) -> np.ndarray:
    """An array of one value."""
    if int(np.prod(shape, dtype=object)) > 1 << 16:
        raise UnknownError
    made = np.empty(shape, dtype=object)
    made[...] = value
    return made


class Outcome(NamedTuple):
    """Of a call: the results, None if it must stop; ``where``: the kind of operation at which it may
    or must, or nothing."""

    results: list[Any] | None
    where: str


class Program:
    """A function of the arguments of ``body``."""

    def __init__(self) -> None:
        self.body = Region()

    def text(self) -> str:
        """The module."""
        from host_ops import lines

        arguments = ", ".join(f"{v}: {v.type}" for v in self.body.arguments)
        results = ", ".join(str(v.type) for v in self.body.yields)
        head = f"func.func @main({arguments}) -> ({results}) {{"
        names = ", ".join(map(str, self.body.yields))
        end = f"  return {names} : {results}"
        return "\n".join([head, *lines(self.body, "  "), end, "}", ""])

    def run(self, arguments: list[Any]) -> Outcome:
        """What a call has to do. Raises UnknownError."""
        run = Run()
        try:
            found = run.block(self.body, arguments)
        except StopError:
            return Outcome(None, run.where)
        if any((np.asarray(v, dtype=object) == BAD).any() for v in found):
            return Outcome(None, run.where)
        return Outcome(found, run.where)


def fits(value: np.ndarray, kind: Tensor) -> bool:
    """Whether an array is of a type."""
    return all(n in (None, m) for n, m in zip(kind.shape, value.shape, strict=True))


def literal(value: Any, kind: str) -> str:
    """A constant as MLIR writes it."""
    return f"{float(value):.6f}" if is_float(kind) else str(int(value))
