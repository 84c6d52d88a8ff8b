"""From placements of arguments to the dims of a program that are shared out."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, UnsupportedError
from ..runtime.specs import Signature, TensorSpec
from .dims import Dim


@dataclasses.dataclass(frozen=True)
class Sharding:
    """What of a program is shared out over the ranks.

    rows: dims along which nothing is reduced; stream: the one that is reduced, or ``None``.
    inputs, outputs: the axis along which each argument and result is sharded; ``None`` where all
        ranks have the whole.
    """

    signature: Signature
    dims: tuple[Dim, ...]
    rows: tuple[Dim, ...]
    stream: Dim | None
    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]

    @functools.cached_property
    def sharded(self) -> tuple[Dim, ...]:
        """All dims that are shared out."""
        return self.rows if self.stream is None else (*self.rows, self.stream)

    @functools.cached_property
    def stream_arguments(self) -> tuple[int, ...]:
        """The numbers of the arguments with the streamed dim."""
        if self.stream is None:
            return ()
        return tuple(i for i in range(len(self.inputs)) if self.stream.axis_of(i) is not None)

    @functools.cached_property
    def shards(self) -> tuple[TensorSpec, ...]:
        """What a rank gives for each argument: the axis that is sharded may have any extent."""
        return tuple(
            dataclasses.replace(
                spec, shape=tuple(None if d == axis else n for d, n in enumerate(spec.shape))
            )
            for spec, axis in zip(self.signature.inputs, self.inputs, strict=True)
        )

    def dim_of(self, argument: int) -> Dim | None:
        """The dim along which an argument is sharded."""
        axis = self.inputs[argument]
        return next(
            (d for d in self.sharded if axis is not None and d.axis_of(argument) == axis), None
        )

    def scale_of_result(self, index: int) -> int:
        """Elements of a result for one of the dim that it is sharded along."""
        dim = self.dim_of_result(index)
        return 1 if dim is None else dim.scales[index]

    def dim_of_result(self, index: int) -> Dim | None:
        """The dim along which a result is sharded."""
        return next((d for d in self.sharded if d.results[index] >= 0), None)


def shard(signature: Signature, dims: Sequence[Dim], placements: Sequence[Any]) -> Sharding:
    """What ``placements`` say, one for each argument: a ``Shard``, a ``Replicate``, or ``None`` for
    what follows from the others. Raises ArgumentError for what contradicts itself, and
    UnsupportedError for a dim that cannot be shared out."""
    if len(placements) != len(signature.inputs):
        raise ArgumentError(
            f"placements: expected {len(signature.inputs)}, one for each argument of {signature}, "
            f"got {len(placements)}"
        )
    asked = [_axis(index, placement, signature) for index, placement in enumerate(placements)]
    chosen: list[Dim] = []
    for index, axis in enumerate(asked):
        if isinstance(axis, int) and not any(d.axis_of(index) == axis for d in chosen):
            chosen.append(_find(dims, index, axis, asked))
    inputs: list[int | None] = []
    for index in range(len(asked)):
        having = [d for d in chosen if d.axis_of(index) is not None]
        if len(having) > 1:
            raise ArgumentError(
                f"placements: argument {index} would be sharded along axes "
                f"{' and '.join(str(d.axis_of(index)) for d in having)}; expected one dim of it to "
                "be shared out over one dim of the mesh"
            )
        axis = having[0].axis_of(index) if having else None
        if asked[index] is not None and asked[index] != (axis if axis is not None else "whole"):
            got = f"Shard({asked[index]})" if isinstance(asked[index], int) else "Replicate()"
            wanted = f"Shard({axis})" if axis is not None else "Replicate()"
            raise ArgumentError(
                f"placements: argument {index}: expected {wanted}, got {got}: it has the dim that "
                f"is {having[0].text() if having else 'shared out'}"
            )
        inputs.append(axis)
    reduced = [d for d in chosen if d.is_reduced]
    if len(reduced) > 1:
        raise UnsupportedError(
            f"placements: two dims that are reduced are sharded: {reduced[0].text()}; and "
            f"{reduced[1].text()}; expected one, the other whole or over another dim of the mesh"
        )
    rows = tuple(d for d in chosen if not d.is_reduced)
    outputs: list[int | None] = []
    for index in range(len(signature.outputs)):
        axes = [d.results[index] for d in chosen if d.results[index] >= 0]
        if len(axes) > 1:
            raise UnsupportedError(
                f"placements: result {index} would be sharded along axes {axes[0]} and {axes[1]}: "
                "each rank has a part of its rows and of its columns, but every row needs every "
                "column; expected one of the two dims whole"
            )
        outputs.append(axes[0] if axes else None)
    return Sharding(
        signature, tuple(dims), rows, reduced[0] if reduced else None, tuple(inputs), tuple(outputs)
    )


def _axis(index: int, placement: Any, signature: Signature) -> int | str | None:
    """The axis of a Shard, "whole" of a Replicate."""
    if placement is None:
        return None
    spec = signature.inputs[index]
    if placement.is_replicate():
        return "whole"
    if placement.is_partial() or not hasattr(placement, "dim"):
        raise ArgumentError(
            f"placements: argument {index}: expected Shard(axis) or Replicate(), got {placement}; "
            "sum partial tensors before (DTensor.redistribute)"
        )
    rank = len(spec.shape)
    axis = placement.dim + rank if placement.dim < 0 else placement.dim
    if not 0 <= axis < rank:
        raise ArgumentError(
            f"placements: argument {index} is {spec}, which has no axis {placement.dim}"
        )
    return axis


def _find(dims: Sequence[Dim], argument: int, axis: int, asked: Sequence[int | str | None]) -> Dim:
    """The dim of an argument's axis. Raises UnsupportedError where it cannot be shared out."""
    found = [d for d in dims if d.axis_of(argument) == axis]
    usable = [d for d in found if d.kind != "refused"]
    if usable:
        # A dim that others have, too, in larger steps: heads that several queries share.
        named = [d for d in usable if all(asked[a] in (x, None) for a, x, _ in d.arguments)]
        return max(named or usable, key=lambda d: len(d.arguments))
    reason = found[0].reason if found else "no operation uses it"
    raise UnsupportedError(f"argument {argument} cannot be sharded along axis {axis}: {reason}")
