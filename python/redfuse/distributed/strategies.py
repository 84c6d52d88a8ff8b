"""Rows and the streamed dim both shared out: how each rank's rows meet all of the stream."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from . import merging
from .call import Call
from .dims import Dim
from .folding import Place
from .layout import Layout
from .streams import Lane

Results = tuple[Any, ...]


def ring(call: Call) -> list[Results]:
    """Blocks of the stream pass around, and the last one is folded while the next one comes.

    Rank r folds those of ranks r, r - 1, ...: the results are the same whatever comes first, but
    each rank has an order of its own. A block is sent before anything is done with it, so that on a
    GPU the transfer has its multiprocessors before folds take all of them.
    """
    group, layout, stream = call.group, call.stream_layout, call.sharding.stream
    assert layout is not None and stream is not None
    chains = [Chain(call, unit, _met(call, unit)) for unit in call.row_units()]
    lane = Lane(group.on_gpu)  # a stream of its own, on a GPU
    block: Sequence[Any] = call.streamed
    for step in range(group.size):
        owner = (group.rank - step) % group.size
        works, coming = [], []
        if step + 1 < group.size:
            before = (owner - 1) % group.size
            with lane.beside(block):
                coming = [
                    call.empty_stream(i, layout.lengths[before])
                    for i in call.sharding.stream_arguments
                ]
                works = group.start_exchange(
                    block, (group.rank + 1) % group.size, coming, (group.rank - 1) % group.size
                )
        for begin, start, stop in layout.pieces(owner):
            meeting = [chain for chain in chains if call.is_live(chain.unit, start, stop)]
            piece = call.cut(block, begin, stop - start) if meeting else []
            for chain in meeting:
                chain.add(piece, start)
        with lane.waiting():
            group.finish(works, "a block of the ring")
        lane.shared(coming)
        block = coming
    return [chain.results() for chain in chains]


class Chain:
    """The folds of one unit of rows, of as many pieces as are said before: no state is made of
    nothing, and none of all."""

    def __init__(self, call: Call, unit: Any, count: int):
        self.call, self.unit, self.left = call, unit, count
        self._state: Any = None
        self._results: Results | None = None

    def add(self, piece: Sequence[Any], start: int) -> None:
        """One more piece, which begins at element ``start`` of the stream."""
        self.left -= 1
        if self._state is None:
            self._state = self.call.first(self.unit, piece, start)
        elif self.left:
            self._state = self.call.update(self._state, self.unit, piece, start)
        else:
            self._results = self.call.last(self._state, self.unit, piece, start)

    def results(self) -> Results:
        """After the last piece."""
        if self._results is not None:
            return self._results
        state = self.call.start(self.unit) if self._state is None else self._state
        return self.call.finalize(state, self.unit)


def _met(call: Call, unit: Any) -> int:
    """How many pieces of the stream some rows meet."""
    layout = call.stream_layout
    assert layout is not None
    return sum(call.is_live(unit, start, stop) for spans in layout.spans for start, stop in spans)


def gather(call: Call) -> list[Results]:
    """Every rank gets all of the stream, and computes its rows as one process would."""
    whole = gathered_stream(call)
    if call.segment:
        return [call.finalize(in_segments(call, unit, whole), unit) for unit in call.row_units()]
    return [call.whole(unit, whole) for unit in call.row_units()]


def in_segments(call: Call, unit: Any, whole: Sequence[Any]) -> Results:
    """The state of rows, of segments of one length that are folded alone and merged as a tree."""
    assert call.stream_layout is not None
    states = []
    for start in range(0, call.stream_layout.length, call.segment):
        stop = min(start + call.segment, call.stream_layout.length)
        chunk = call.cut(whole, start, stop - start)
        states.append(call.update(call.start(unit), unit, chunk, start))
    return merging.as_tree(states, call.merger(unit)) or call.start(unit)


def rows(call: Call) -> list[Results]:
    """Every rank gets all rows, folds its share of the stream for them, and sends each rank the
    states of its rows, which are merged in the order of the stream."""
    call = dataclasses.replace(
        call, arguments=_with_all_rows(call), whole_rows=True, _shown_units={}
    )
    group, layout = call.group, call.stream_layout
    assert layout is not None
    parts, like = [], None
    for rank, units in enumerate(call.all_row_units()):
        packed = []
        for unit in units:
            state = call.start(unit)
            for begin, start, stop in layout.pieces(group.rank):
                if call.is_live(unit, start, stop):
                    chunk = call.cut(call.streamed, begin, stop - start)
                    state = call.update(state, unit, chunk, start)
            packed.append(merging.pack(state))
        parts.append(call.joined_bytes(packed))
        if rank == group.rank:
            like = [call.start(unit) for unit in units]
    received = [parts[group.rank].numel()] * group.size
    came = group.all_to_all(parts, received, "states of rows")
    results, begin = [], 0
    for unit, one in zip(call.row_units(), like or [], strict=True):
        size = merging.nbytes(one)
        found = [
            merging.unpack(data[begin : begin + size], one) if layout.lengths[rank] else None
            for rank, data in enumerate(came)
        ]
        begin += size
        state = merging.folded(found, call.merger(unit))
        results.append(call.finalize(one if state is None else state, unit))
    return results


def heads(call: Call) -> list[Results]:
    """Ranks exchange their shares so that each has all rows and all of the stream for some heads:
    a dim that all sharded arguments have. The results go back the same way."""
    group, dim = call.group, call.heads
    assert dim is not None and dim.length is not None
    layout = Layout.balanced(dim.length, group.size)
    ((start, stop),) = layout.spans[group.rank]
    arguments = [_exchanged(call, i, value, layout) for i, value in enumerate(call.arguments)]
    results = call.of_heads(Place(start, stop - start, dim.length), arguments)
    return [tuple(_returned(call, i, r, layout) for i, r in enumerate(results))]


def _exchanged(call: Call, index: int, value: Any, layout_of_heads: Layout) -> Any:
    """Of an argument: all elements of the dim that it is sharded along, for this rank's heads."""
    assert call.heads is not None
    dim, at = call.sharding.dim_of(index), call.heads.axis_of(index)
    group = call.group
    if at is None:  # all ranks have the whole
        return value
    of_heads = layout_of_heads.scaled(call.heads.scale_of(index))
    if dim is None:
        return of_heads.shard(value, at, group.rank)
    axis, layout = dim.axis_of(index), call.layout_of(dim).scaled(dim.scale_of(index))
    assert axis is not None
    parts = [of_heads.shard(value, at, rank) for rank in range(group.size)]
    shapes = []
    for length in layout.lengths:
        shape = list(parts[group.rank].shape)
        shape[axis] = length
        shapes.append(shape)
    came = group.all_to_all(parts, [math.prod(s) for s in shapes], "heads of others")
    shards = [data.view(shape) for data, shape in zip(came, shapes, strict=True)]
    return layout.unshard(shards, axis).contiguous()


def _returned(call: Call, index: int, value: Any, layout_of_heads: Layout) -> Any:
    """Of a result: this rank's rows, for all heads."""
    assert call.heads is not None
    axis, at = call.sharding.outputs[index], call.heads.results[index]
    dim = call.sharding.dim_of_result(index)
    group = call.group
    assert axis is not None and dim is not None and at >= 0
    layout = call.layout_of(dim).scaled(dim.scales[index])
    parts = [layout.shard(value, axis, rank) for rank in range(group.size)]
    shapes = []
    for count in layout_of_heads.scaled(call.heads.scales[index]).lengths:
        shape = list(parts[group.rank].shape)
        shape[at] = count
        shapes.append(shape)
    came = group.all_to_all(parts, [math.prod(s) for s in shapes], "results of other heads")
    return torch_cat([data.view(shape) for data, shape in zip(came, shapes, strict=True)], at)


def torch_cat(parts: Sequence[Any], axis: int) -> Any:
    """Tensors side by side."""
    import torch

    return torch.cat(list(parts), axis)


def gathered_stream(call: Call) -> list[Any]:
    """The streamed arguments of all ranks, whole."""
    stream = call.sharding.stream
    assert stream is not None
    return [gathered(call, i, stream) for i in call.sharding.stream_arguments]


def _with_all_rows(call: Call) -> list[Any]:
    arguments = list(call.arguments)
    for dim in call.sharding.rows:
        for index, _, _ in dim.arguments:
            arguments[index] = gathered(call, index, dim)
    return arguments


def gathered(call: Call, index: int, dim: Dim) -> Any:
    """An argument that is sharded along ``dim``, whole."""
    mine, axis, scale = call.arguments[index], dim.axis_of(index), dim.scale_of(index)
    layout, most = call.layout_of(dim), max(call.layout_of(dim).lengths)
    assert axis is not None
    if not layout.length:
        return mine
    padded = mine
    if mine.shape[axis] != most * scale:
        shape = list(mine.shape)
        shape[axis] = most * scale
        padded = mine.new_zeros(shape)
        padded.narrow(axis, 0, mine.shape[axis]).copy_(mine)
    everyone = call.group.all_gather(padded, f"all of argument {index}").unbind(0)
    shards = [
        one.narrow(axis, 0, length * scale)
        for one, length in zip(everyone, layout.lengths, strict=True)
    ]
    return layout.scaled(scale).unshard(shards, axis).contiguous()


STRATEGIES: dict[str, Callable[[Call], list[Results]]] = {
    "ring": ring,
    "gather": gather,
    "rows": rows,
    "heads": heads,
}
