"""The compiled functions that a rank runs on its share: states of it, and results from states."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .. import pipelines
from ..frontends import mlir as mlir_frontend
from ..frontends.mlir import Source
from ..functions import Functions, compile_functions
from ..options import Options
from ..parts import Part
from ..runtime.specs import ELEMENT_TYPES, TensorSpec
from ..runtime.tensors import to_torch
from ..state import StateProgram
from .keeping import kept

Arrays = Sequence[Any]


@dataclasses.dataclass(frozen=True)
class Place:
    """A piece of a dim: where it starts in the whole, how long it is and how long the whole is."""

    start: int
    length: int
    whole: int


class Folds:
    """A program's state functions for one rank's share of some dims.

    source, options, target: as for ``redfuse.compile``; ``options.along`` is the streamed dim.
    dims: an argument and axis of each other dim that is shared out.
    static: whether code is made for each length of a share (as GPUs' matrix units want it), or
        once for all.
    """

    def __init__(
        self, source: Source, options: Options, target: str,
        dims: Sequence[tuple[int, int]], static: bool,
    ):  # fmt: skip
        self.source, self.options, self.target = source, options, target
        self.dims, self.static = tuple(dims), static
        self._programs: dict[Part, StateProgram] = {}
        self._open: StateProgram | None = None

    @property
    def open(self) -> StateProgram:
        """The program that takes shares of any length, which all ranks have."""
        return self.program((0,) * len(self.dims), 0)

    def program(self, lengths: Sequence[int], chunk: int) -> StateProgram:
        """The program for shares of these lengths, compiled when it is first asked for."""
        part = Part(self.dims)
        if self.static:
            part = Part(self.dims, tuple(lengths), chunk)
        if part not in self._programs:
            self._programs[part] = StateProgram(self.source, self.options, self.target, part, kept)
        return self._programs[part]

    def start(self, rows: Sequence[Place], unstreamed: Arrays, chunk: Arrays) -> tuple[Any, ...]:
        """The state of nothing, for these rows. ``chunk``: any, for what is open besides."""
        program = self.program([p.length for p in rows], self._length(chunk))
        extents = [self._extent(program, chunk, i, axis) for i, axis in program.extent_axes]
        arguments = [*_placed(unstreamed, rows), *extents]
        out = _empty(program.functions.signatures["__init"].outputs, chunk[0].device)
        made = program.functions("__init", arguments, out)
        # Without tensors among the arguments, results are NumPy's.
        return tuple(c if hasattr(c, "numel") else to_torch(c) for c in made)

    def update(
        self, state: Arrays, rows: Sequence[Place], unstreamed: Arrays, chunk: Arrays, offset: int
    ) -> tuple[Any, ...]:
        """The state with one more chunk, whose first element is number ``offset``."""
        program = self.program([p.length for p in rows], self._length(chunk))
        return program.functions("__update", [*_placed(unstreamed, rows), *chunk, *state, offset])

    def merge(
        self, left: Arrays, right: Arrays, rows: Sequence[Place], chunk: Arrays
    ) -> tuple[Any, ...]:
        """The state of both, of which ``left`` comes first."""
        program = self.program([p.length for p in rows], self._length(chunk))
        return program.functions("__merge", [*left, *right])

    def finalize(
        self, state: Arrays, rows: Sequence[Place], unstreamed: Arrays, chunk: Arrays,
        piece: Arrays, total: int, offset: int, before: Arrays = (),
    ) -> tuple[Any, ...]:  # fmt: skip
        """The program's results: of all rows, and, where one has the streamed dim, for the elements
        of ``piece``, of which the first is number ``offset``; ``before`` is the state of those
        before them, where results are prefixes."""
        shown = piece if self.open.takes_chunk else chunk
        program = self.program([p.length for p in rows], self._length(shown))
        extents = [self._extent(program, shown, i, axis) for i, axis in program.extent_axes]
        return program.functions(
            "__finalize",
            [
                *_placed(unstreamed, rows), *(piece if program.takes_chunk else ()), *state,
                *extents, total, offset, *before,
            ],
        )  # fmt: skip

    def _length(self, chunk: Arrays) -> int:
        if not self.static:
            return 0
        axis = next(iter(self.axes.values()))
        return int(chunk[0].shape[axis])

    @property
    def axes(self) -> dict[int, int]:
        """The axis of each argument that has the streamed dim."""
        return self.open_axes

    @property
    def open_axes(self) -> dict[int, int]:
        """The same, known from whichever program is compiled."""
        if self._programs:
            return next(iter(self._programs.values())).axes
        return self.open.axes

    def _extent(self, program: StateProgram, chunk: Arrays, index: int, axis: int) -> int:
        return int(chunk[list(program.axes).index(index)].shape[axis])


class Parts:
    """A program of which each rank has a part of some dims along which nothing is reduced."""

    def __init__(
        self, source: Source, options: Options, target: str,
        dims: Sequence[tuple[int, int]], static: bool,
    ):  # fmt: skip
        self.source, self.options, self.target = source, options, target
        self.dims, self.static = tuple(dims), static
        self._functions: dict[Part, Functions] = {}

    def __call__(self, rows: Sequence[Place], arguments: Arrays) -> tuple[Any, ...]:
        """The results of these rows."""
        part = Part(self.dims, tuple(p.length for p in rows) if self.static else ())
        if part not in self._functions:
            self._functions[part] = self._compile(part)
        return self._functions[part]("main", _placed(arguments, rows))

    def _compile(self, part: Part) -> Functions:
        def inspect(module: Any) -> tuple[dict[str, Any], dict[str, Any]]:
            entry = next(
                op for op in module.body.operations
                if op.operation.name == "func.func" and "redfuse.sharded" in op.attributes
            )  # fmt: skip
            return {"main": mlir_frontend.signature(entry)}, {}

        stages = pipelines.part(self.options, self.target, part)
        return compile_functions(
            self.source, self.options, self.target, stages, "fuse", inspect, kept
        )


def _empty(specs: Sequence[TensorSpec], device: Any) -> list[Any] | None:
    """Memory for results, where their shapes are known before."""
    import torch

    if not all(spec.is_static for spec in specs):
        return None
    return [
        torch.empty(spec.shape, dtype=getattr(torch, ELEMENT_TYPES[spec.dtype][0]), device=device)
        for spec in specs
    ]


def _placed(arguments: Arrays, rows: Sequence[Place]) -> list[Any]:
    return [*arguments, *(n for p in rows for n in (p.start, p.whole))]
