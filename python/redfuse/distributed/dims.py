"""Which dims a program's arguments have, as the pass redfuse-find-dims says."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import pipelines
from ..attributes import plain
from ..frontends.mlir import Source
from ..lowering import lower_stages, run_pipeline
from ..options import Options
from ..runtime.specs import Signature


@dataclasses.dataclass(frozen=True)
class Dim:
    """One dim of a program.

    arguments: those that have it, each with the axis, and how many elements it has there for one
        of the dim.
    results: the axis of each result that is this dim, -1 where none is; scales: how many elements
        it has there for one of the dim.
    kind: "parallel", "reduced", "prefixes" or "refused" (for the ``reason``).
    length: in the source; ``None`` where it is open.
    positional: whether anything counts positions along it (a mask, an index).
    """

    arguments: tuple[tuple[int, int, int], ...]
    kind: str
    reason: str
    results: tuple[int, ...] = ()
    scales: tuple[int, ...] = ()
    length: int | None = None
    positional: bool = False

    def axis_of(self, argument: int) -> int | None:
        """Which axis of an argument it is."""
        return next((axis for number, axis, _ in self.arguments if number == argument), None)

    def scale_of(self, argument: int) -> int:
        """How many elements an argument has along it for one of the dim."""
        return next((scale for number, _, scale in self.arguments if number == argument), 1)

    @property
    def source(self) -> tuple[int, int]:
        """An argument and axis whose elements are those of the dim."""
        return next((a, axis) for a, axis, scale in self.arguments if scale == 1)

    @property
    def is_reduced(self) -> bool:
        """Whether parts of it have states that are merged."""
        return self.kind in ("reduced", "prefixes")

    def text(self) -> str:
        """For messages: where it is."""
        return ", ".join(f"axis {axis} of argument {a}" for a, axis, _ in self.arguments)


# Why a dim is refused where kernels are those of a state along another one.
_NESTED = "inside another reduction"


def dims_of(source: Source, options: Options) -> tuple[Signature, tuple[Dim, ...], Any]:
    """The program's signature, all dims of its arguments, and its module, of cascades. Raises
    CompileError."""
    signature, found, module = _found(source, options, None)
    dims = []
    for dim in found:
        if dim.kind == "refused" and _NESTED in dim.reason:
            # What is reduced of its reductions is another kernel where it is streamed.
            argument, axis, _ = dim.arguments[0]
            again = _found(source, options, (argument, axis))[1]
            dim = next((d for d in again if d.axis_of(argument) == axis), dim)
        dims.append(dim)  # masks count them
    return signature, tuple(dims), module


def _found(
    source: Source, options: Options, along: tuple[int, int] | None
) -> tuple[Signature, tuple[Dim, ...], Any]:
    asked = dataclasses.replace(options, schedules=())
    lowered = lower_stages(source, asked, pipelines.as_written(asked, along), "fuse")
    run_pipeline(lowered.module, pipelines.find_dims(), "dims", source)
    found: tuple[Dim, ...] = ()
    for operation in lowered.module.body.operations:
        if "redfuse.dims" in operation.attributes:
            found = tuple(_dim(one) for one in plain(operation.attributes["redfuse.dims"]))
    return lowered.signature, found, lowered.module


def _dim(found: dict) -> Dim:
    length = found.get("length", -1)
    return Dim(
        arguments=tuple((int(a), int(axis), int(scale)) for a, axis, scale in found["arguments"]),
        kind=found["kind"],
        reason=found["reason"],
        results=tuple(int(axis) for axis in found.get("results", ())),
        scales=tuple(int(scale) for scale in found.get("scales", ())),
        length=None if length < 0 else int(length),
        positional=bool(found.get("positional", False)),
    )
