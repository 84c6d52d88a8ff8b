"""One program of host operations in every way to compile it, against its interpretation."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import redfuse
from host_generate import other_arguments
from host_program import Program, Tensor, UnknownError
from host_scalars import ANY
from redfuse.errors import Error, ExecutionError, FusionWarning, ParseError, UnsupportedError
from redfuse.options import Options

CALLS = 6
WAYS = {"unfused": {"fuse": False}, "fused": {}, "stream": {"schedule": "stream"}}
NUMPY = {"f32": np.float32, "f64": np.float64, "i1": np.bool_, "index": np.int64}
NAMED = re.compile(r"\b[a-z]+(?:_[a-z]+)?\.[a-z_]+\b")


class HostFailure(NamedTuple):
    """What is wrong: ``kind`` is one of compile, fallback, unnamed, missed (an invalid access is not
    reported), stopped (a valid program stops), shape, value."""

    kind: str
    where: str
    data: str
    detail: str


class HostTrial:
    """A program and its calls. ``tried`` counts what became of them. For a ``target`` that is not the
    cpu there are no calls: compiling must not end the process."""

    def __init__(
        self, program: Program, arguments: list[Any], seed: int, opt_level: int, target: str = "cpu"
    ) -> None:
        self.program, self.opt_level, self.target = program, opt_level, target
        self.tried: Counter[str] = Counter()
        rng = np.random.default_rng(seed)
        self.calls = [other_arguments(program, arguments, n, rng) for n in range(CALLS)]
        self.wanted = [self.interpret(call) for call in self.calls]

    def interpret(self, arguments: list[Any]) -> Any:
        """Results and whether the program may stop; None if nothing can be said."""
        try:
            return self.program.run(arguments)
        except UnknownError:
            self.tried["undetermined calls"] += 1
            return None

    def run(self) -> HostFailure | None:
        """The first failure."""
        for way, options in WAYS.items():
            if way == "unfused" and self.target != "cpu":
                continue  # of the cpu alone
            failure = self.way(way, options)
            if failure:
                return failure
        return None

    def way(self, way: str, options: dict[str, Any]) -> HostFailure | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FusionWarning)
                chosen = Options(opt_level=self.opt_level, cache=False, threads=1, **options)
                exe = redfuse.compile(self.program.text(), target=self.target, options=chosen)
        except FusionWarning as warning:
            return HostFailure("fallback", way, "", str(warning))
        except Error as error:
            return self.refused(way, error)
        if self.target != "cpu":
            self.tried["compiled"] += 1
            return None
        for number, (call, wanted) in enumerate(zip(self.calls, self.wanted, strict=True)):
            if wanted is not None and (failure := self.call(exe, call, wanted)):
                return failure._replace(where=way, data=f"call {number}: {shown(call)}")
        return None

    def refused(self, way: str, error: Error) -> HostFailure | None:
        """A program that is not compiled: valid ones are refused by name."""
        words = f"{type(error).__name__}: {error}"
        if isinstance(error, ParseError):
            self.tried["not valid"] += 1
            return None
        if all(wanted is None or wanted.results is None for wanted in self.wanted):
            self.tried["always stop, not compiled"] += 1
            return None
        if not isinstance(error, UnsupportedError):
            return HostFailure("compile", way, "", words)
        named = NAMED.findall(str(error))
        if not named:
            return HostFailure("unnamed", way, "", words)
        self.tried[f"refused {named[-1]}"] += 1
        return None

    def call(self, exe: Any, arguments: list[Any], wanted: Any) -> HostFailure | None:
        results = wanted.results
        types = [v.type for v in self.program.body.arguments]
        arrays = [as_numpy(a, t) for a, t in zip(arguments, types, strict=True)]
        try:
            given = exe(*arrays)
        except ExecutionError as error:
            self.tried["calls that stop"] += 1
            return None if wanted.where else HostFailure("stopped", "", "", str(error))
        if results is None:
            return HostFailure(f"missed {wanted.where}", "", "", f"gave {str(given)[:200]}")
        self.tried["calls"] += 1
        found = list(given) if isinstance(given, tuple) else [given]
        for at, (got, want) in enumerate(zip(found, results, strict=True)):
            if told := difference(got, want):
                return HostFailure(told[0], "", "", f"result {at}: {told[1]}")
        return None


def difference(got: np.ndarray, want: np.ndarray) -> tuple[str, str] | None:
    """The first element that is not what it should be."""
    if got.shape != want.shape:
        return "shape", f"{got.shape}, expected {want.shape}"
    for place in np.ndindex(want.shape):
        if want[place] is not ANY and got[place] != want[place]:
            return "value", f"at {list(place)}: got {got[place]}, expected {want[place]}"
    return None


def as_numpy(value: Any, of: Any) -> Any:
    """An argument as the program takes it."""
    if not isinstance(of, Tensor):
        return value
    dtype = NUMPY.get(of.dtype) or np.dtype(of.dtype.replace("i", "int"))
    return np.array(value.tolist(), dtype=dtype).reshape(value.shape)


def shown(call: list[Any]) -> str:
    """Arguments in a line."""
    return ", ".join(
        f"{a.tolist()} {list(a.shape)}" if isinstance(a, np.ndarray) else str(a) for a in call
    )
