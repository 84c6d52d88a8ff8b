"""The compiled functions that a rank runs on its share: states of it, and results from states."""

from __future__ import annotations

import dataclasses
import functools
import json
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
from ..state import StateFacts, StateProgram, state_end, state_facts
from . import merging
from .keeping import kept

Arrays = Sequence[Any]
# Bytes of a state of nothing that is kept from call to call.
_MOST_KEPT = 64 << 20


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
        self._by_lengths: dict[tuple[tuple[int, ...], int], StateProgram] = {}
        self._ends: dict[tuple[str, Part], Functions | None] = {}
        self._nothing: dict[tuple[int, str], tuple[Any, ...]] = {}

    @functools.cached_property
    def facts(self) -> StateFacts:
        """What is known of the states, found once on a host."""

        def make() -> bytes:
            facts = state_facts(self.source, self.options, Part(self.dims))
            return json.dumps(dataclasses.asdict(facts)).encode()

        asked = [self.source.text, self.options.key(), self.options.along, self.dims]
        found = json.loads(kept(json.dumps(["facts", *asked]), make))
        found["axes"] = {int(argument): axis for argument, axis in found["axes"].items()}
        found["specs"] = tuple(TensorSpec.from_json(spec) for spec in found["specs"])
        found["names"] = tuple(found["names"])
        return StateFacts(**found)

    def program(self, lengths: Sequence[int], chunk: int) -> StateProgram:
        """The program for shares of these lengths, compiled when it is first asked for."""
        key = (tuple(lengths), chunk)
        known = self._by_lengths.get(key)
        if known is not None:
            return known
        part = Part(self.dims)
        if self.static:
            part = Part(self.dims, *key)
        if part not in self._programs:
            self._programs[part] = StateProgram(self.source, self.options, self.target, part, kept)
        self._by_lengths[key] = self._programs[part]
        return self._programs[part]

    def start(self, rows: Sequence[Place], unstreamed: Arrays, chunk: Arrays) -> tuple[Any, ...]:
        """The state of nothing, for these rows. ``chunk``: any, for what is open besides."""
        program = self._any(rows, chunk)
        extents = [self._extent(program, chunk, i, axis) for i, axis in program.extent_axes]
        arguments = [*_placed(unstreamed, rows), *extents]
        outputs = program.functions.signatures["__init"].outputs
        device = chunk[0].device
        if not all(spec.is_static for spec in outputs):
            made = program.functions("__init", arguments)
            # Without tensors among the arguments, results are NumPy's.
            return tuple(c if hasattr(c, "numel") else to_torch(c).to(device) for c in made)
        # Identities do not depend on arguments: small states are made once.
        key = (id(program), str(device))
        if key not in self._nothing:
            out = _empty(outputs, device)
            made = program.functions("__init", arguments, out)
            if merging.nbytes(made) > _MOST_KEPT:
                return made
            self._nothing[key] = made
        return self._nothing[key]

    def update(
        self, state: Arrays, rows: Sequence[Place], unstreamed: Arrays, chunk: Arrays, offset: int,
        out: Arrays | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        """The state with one more chunk, whose first element is number ``offset``, in ``out`` if
        that is given."""
        program = self.program([p.length for p in rows], self._length(chunk))
        arguments = [*_placed(unstreamed, rows), *chunk, *state, offset]
        return program.functions("__update", arguments, None if out is None else list(out))

    def first(
        self, rows: Sequence[Place], unstreamed: Arrays, chunk: Arrays, offset: int
    ) -> tuple[Any, ...]:
        """The state of a chunk alone."""
        end = self._end("first", rows, chunk)
        if end is None:
            nothing = self.start(rows, unstreamed, chunk)
            return self.update(nothing, rows, unstreamed, chunk, offset)
        return end("__first", [*_placed(unstreamed, rows), *chunk, offset])

    def last(
        self, state: Arrays, rows: Sequence[Place], unstreamed: Arrays, chunk: Arrays, total: int,
        offset: int,
    ) -> tuple[Any, ...]:  # fmt: skip
        """The results of all rows, of a state and the only chunk that it lacks."""
        end = None if self.facts.takes_chunk else self._end("last", rows, chunk)
        if end is None:
            state = self.update(state, rows, unstreamed, chunk, offset)
            return self.finalize(state, rows, unstreamed, chunk, (), total, 0)
        given = [*_placed(unstreamed, rows), *chunk, *state]
        extents: list[int] = []
        if len(end.signatures["__last"].inputs) > len(given) + 2:
            program = self._any(rows, chunk)
            extents = [self._extent(program, chunk, i, axis) for i, axis in program.extent_axes]
        return end("__last", [*given, *extents, total, offset])

    def _end(self, which: str, rows: Sequence[Place], chunk: Arrays) -> Functions | None:
        """A function that saves the memory traffic of a state, where code is made for each length
        anyway."""
        if not self.static:
            return None
        part = Part(self.dims, tuple(p.length for p in rows), self._length(chunk))
        if (which, part) not in self._ends:
            made = state_end(self.source, self.options, self.target, part, which, kept)
            self._ends[which, part] = made
        return self._ends[which, part]

    def merge(
        self, left: Arrays, right: Arrays, rows: Sequence[Place], chunk: Arrays
    ) -> tuple[Any, ...]:
        """The state of both, of which ``left`` comes first."""
        program = self._any(rows, chunk)
        return program.functions("__merge", [*left, *right])

    def finalize(
        self, state: Arrays, rows: Sequence[Place], unstreamed: Arrays, chunk: Arrays,
        piece: Arrays, total: int, offset: int, before: Arrays = (),
    ) -> tuple[Any, ...]:  # fmt: skip
        """The program's results: of all rows, and, where one has the streamed dim, for the elements
        of ``piece``, of which the first is number ``offset``; ``before`` is the state of those
        before them, where results are prefixes."""
        shown = piece if self.facts.takes_chunk else chunk
        program = self._any(rows, chunk)
        if self.facts.takes_chunk:
            program = self.program([p.length for p in rows], self._length(piece))
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
        axis = next(iter(self.facts.axes.values()))
        return int(chunk[0].shape[axis])

    def _any(self, rows: Sequence[Place], chunk: Arrays) -> StateProgram:
        """A program for these rows, whatever the length of its chunks."""
        lengths = tuple(p.length for p in rows)
        for part, program in self._programs.items():
            if not self.static or (part.sizes == lengths and all(lengths)):
                return program
        return self.program(lengths, self._length(chunk))

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


def _empty(specs: Sequence[TensorSpec], device: Any) -> list[Any]:
    """Memory for results whose shapes are known."""
    import torch

    return [
        torch.empty(spec.shape, dtype=getattr(torch, ELEMENT_TYPES[spec.dtype][0]), device=device)
        for spec in specs
    ]


def _placed(arguments: Arrays, rows: Sequence[Place]) -> list[Any]:
    return [*arguments, *(n for p in rows for n in (p.start, p.whole))]
