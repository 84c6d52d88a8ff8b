"""One call of a distributed program: its arguments, who has what, and the functions to run."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import UnsupportedError
from . import merging
from .dims import Dim
from .folding import Folds, Parts, Place
from .groups import Group
from .layout import Layout
from .sharding import Sharding

Unit = tuple[Place, ...]
State = tuple[Any, ...]


@dataclasses.dataclass
class Call:
    """What a strategy needs.

    arguments: this rank's shards, contiguous tensors. layouts: of each dim that is shared out, by
        its place in ``sharding.sharded``.
    folds, parts: the functions of states, and those of a part of the rows; heads: the dim along
        which ranks can exchange, or ``None``; of_heads: the program for a part of it.
    segment: how long the pieces are that are folded alone, 0 for as long as they come.
    live: whether any of some rows meets any of some elements of the stream, or ``None``.
    whole_rows: whether the arguments with rows are those of all ranks.
    """

    group: Group
    sharding: Sharding
    arguments: list[Any]
    layouts: tuple[Layout, ...]
    folds: Folds | None
    parts: Parts | None
    heads: Dim | None = None
    head_parts: Parts | None = None
    segment: int = 0
    live: Callable[[Unit, int, int], bool] | None = None
    whole_rows: bool = False

    # ---- who has what ------------------------------------------------------------

    def layout_of(self, dim: Dim) -> Layout:
        """Who has what of a dim."""
        return self.layouts[self.sharding.sharded.index(dim)]

    @property
    def stream_layout(self) -> Layout | None:
        """Who has what of the streamed dim."""
        stream = self.sharding.stream
        return None if stream is None else self.layout_of(stream)

    def row_units(self) -> list[Unit]:
        """This rank's rows, in pieces of neighbours."""
        return self.all_row_units()[self.group.rank]

    def all_row_units(self) -> list[list[Unit]]:
        """The same of every rank."""
        layouts = [self.layout_of(dim) for dim in self.sharding.rows]
        found = []
        for rank in range(self.group.size):
            pieces = [
                [Place(a, b - a, layout.length) for a, b in layout.spans[rank]] or
                [Place(0, 0, layout.length)]
                for layout in layouts
            ]  # fmt: skip
            if sum(len(one) > 1 for one in pieces) > 1:
                raise UnsupportedError(
                    "two dims of rows are sharded in zigzag order; expected order='contiguous'"
                )
            found.append([tuple(unit) for unit in itertools.product(*pieces)])
        return found

    def is_live(self, unit: Unit, start: int, stop: int) -> bool:
        """Whether these rows need elements ``start`` to ``stop - 1`` of the stream."""
        if stop == start or any(place.length == 0 for place in unit):
            return False
        return self.live is None or self.live(unit, start, stop)

    # ---- arguments ---------------------------------------------------------------

    @property
    def streamed(self) -> list[Any]:
        """This rank's shards of the arguments with the streamed dim."""
        return [self.arguments[i] for i in self.sharding.stream_arguments]

    def unstreamed(self, unit: Unit) -> list[Any]:
        """The other arguments, of these rows alone."""
        return [
            self._rows_of(i, value, unit)
            for i, value in enumerate(self.arguments)
            if i not in self.sharding.stream_arguments
        ]

    def _rows_of(self, index: int, value: Any, unit: Unit) -> Any:
        for dim, place in zip(self.sharding.rows, unit, strict=True):
            axis = dim.axis_of(index)
            if axis is None:
                continue
            layout, scale = self.layout_of(dim), dim.scale_of(index)
            if self.whole_rows:
                value = value.narrow(axis, place.start * scale, place.length * scale)
                continue
            for begin, start, _ in layout.pieces(self.group.rank):
                if start == place.start and value.shape[axis] != place.length * scale:
                    value = value.narrow(axis, begin * scale, place.length * scale)
        return value.contiguous()

    def cut(self, block: Sequence[Any], begin: int, length: int) -> list[Any]:
        """Elements of a block of the streamed arguments."""
        stream = self.sharding.stream
        assert stream is not None
        found = []
        for index, tensor in zip(self.sharding.stream_arguments, block, strict=True):
            axis, scale = stream.axis_of(index), stream.scale_of(index)
            if tensor.shape[axis] != length * scale:
                tensor = tensor.narrow(axis, begin * scale, length * scale)
            found.append(tensor.contiguous())
        return found

    def empty_stream(self, index: int, length: int) -> Any:
        """Memory for ``length`` elements of a streamed argument."""
        import torch

        stream, like = self.sharding.stream, self.arguments[index]
        assert stream is not None
        shape = list(like.shape)
        shape[stream.axis_of(index) or 0] = length * stream.scale_of(index)
        return torch.empty(shape, dtype=like.dtype, device=like.device)

    # ---- functions ---------------------------------------------------------------

    def start(self, unit: Unit) -> State:
        """The state of nothing."""
        assert self.folds is not None
        return self.folds.start(unit, self._shown(unit), self.streamed)

    def update(
        self, state: State, unit: Unit, chunk: Sequence[Any], offset: int, out: State | None = None
    ) -> State:
        """The state with one more chunk, made in ``out`` if it is there."""
        assert self.folds is not None
        return self.folds.update(state, unit, self._shown(unit), chunk, offset, out)

    def first(self, unit: Unit, chunk: Sequence[Any], offset: int) -> State:
        """The state of a chunk alone."""
        assert self.folds is not None
        return self.folds.first(unit, self._shown(unit), chunk, offset)

    def last(self, state: State, unit: Unit, chunk: Sequence[Any], offset: int) -> tuple[Any, ...]:
        """The results of a state and the chunk that it lacks."""
        layout = self.stream_layout
        assert self.folds is not None and layout is not None
        return self.folds.last(state, unit, self._shown(unit), chunk, layout.length, offset)

    def merger(self, unit: Unit) -> merging.Merge:
        """How states of these rows are merged."""
        folds, streamed = self.folds, self.streamed
        assert folds is not None
        return lambda left, right: folds.merge(left, right, unit, streamed)

    def finalize(
        self, state: State, unit: Unit, piece: Sequence[Any] = (), offset: int = 0,
        before: State = (),
    ) -> tuple[Any, ...]:  # fmt: skip
        """The results of a state that has seen all; ``before`` that of what comes before the piece,
        where results are prefixes."""
        layout = self.stream_layout
        assert self.folds is not None and layout is not None
        return self.folds.finalize(
            state, unit, self._shown(unit), self.streamed, piece, layout.length, offset, before
        )

    def whole(self, unit: Unit, stream: Sequence[Any]) -> tuple[Any, ...]:
        """The results of these rows, from all of the stream."""
        assert self.parts is not None
        arguments = list(self.arguments)
        streamed = self.sharding.stream_arguments
        for index, value in enumerate(arguments):
            if index not in streamed:
                arguments[index] = self._rows_of(index, value, unit)
        for index, value in zip(streamed, stream, strict=True):
            arguments[index] = value
        return self.parts(unit, arguments)

    def of_heads(self, here: Place, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results of some heads, from all rows and all of the stream."""
        assert self.head_parts is not None
        return self.head_parts((here,), arguments)

    def joined_bytes(self, packed: Sequence[Any]) -> Any:
        """Messages one after the other."""
        import torch

        return torch.cat(list(packed)) if len(packed) != 1 else packed[0]

    _shown_units: dict[Unit, list[Any]] = dataclasses.field(default_factory=dict)

    def _shown(self, unit: Unit) -> list[Any]:
        """The unstreamed arguments of a unit, cut once."""
        if unit not in self._shown_units:
            self._shown_units[unit] = self.unstreamed(unit)
        return self._shown_units[unit]
