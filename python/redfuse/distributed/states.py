"""The streamed dim shared out, and nothing else: each rank folds its share, the states are merged,
and every rank finishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError
from . import merging
from .call import Call, State

Results = tuple[Any, ...]


def run_on_states(call: Call, merge_by: str) -> list[Results]:
    """The results of all pieces that this rank has of the streamed dim; of one piece, where no
    result has it."""
    assert call.folds is not None and call.stream_layout is not None
    if call.folds.facts.prefixes:
        return [_continued(call)]
    state = _in_segments(call) if call.segment else _merged(call, merge_by)
    if not call.folds.facts.takes_chunk:
        return [call.finalize(state, ())]
    pieces = call.stream_layout.pieces(call.group.rank) or [(0, 0, 0)]
    return [
        call.finalize(state, (), call.cut(call.streamed, begin, stop - start), start)
        for begin, start, stop in pieces
    ]


def _merged(call: Call, merge_by: str) -> State:
    group, layout = call.group, call.stream_layout
    assert layout is not None
    nothing = call.start(())
    pieces = layout.pieces(group.rank)
    has = [length > 0 for length in layout.lengths]
    room = merging.room(nothing, group.size)
    mine = nothing
    for number, (begin, start, stop) in enumerate(pieces):
        chunk = call.cut(call.streamed, begin, stop - start)
        # The last piece's state is made where the message is.
        out = room.mine if number + 1 == len(pieces) else None
        mine = call.update(mine, (), chunk, start, out)
    if group.size == 1 or not any(has):
        return mine
    if merge_by == "tree":
        return merging.by_messages(group, mine, has, call.merger(()))
    data = room.data if pieces else merging.pack(nothing)
    group.all_gather(data, "the states of all ranks", room.received)
    found: Sequence[State | None] = [
        state if seen else None for state, seen in zip(room.everyone, has, strict=True)
    ]
    return merging.folded(found, call.merger(())) or nothing


def _continued(call: Call) -> Results:
    """Prefixes along the dim: those of a rank's elements continue from the state of all before
    them. The states of all ranks are gathered, and each merges those before its own."""
    group, layout = call.group, call.stream_layout
    assert layout is not None
    nothing = call.start(())
    begin, start, stop = (layout.pieces(group.rank) or [(0, 0, 0)])[0]
    mine = nothing
    piece = call.cut(call.streamed, begin, stop - start)
    if stop > start:
        mine = call.update(mine, (), piece, start)
    everyone = merging.gathered(group, mine, "the states of all ranks")
    found: list[State | None] = [
        state if length else None for state, length in zip(everyone, layout.lengths, strict=True)
    ]
    before = merging.folded(found[: group.rank], call.merger(()))
    whole = before
    for state in found[group.rank :]:
        whole = merging.folded([whole, state], call.merger(()))
    return call.finalize(whole or nothing, (), piece, start, before or nothing)


def _in_segments(call: Call) -> State:
    """Segments of one length, each folded alone: their states, of all ranks, are merged in a tree
    whose shape depends on the number of segments alone."""
    group, layout, size = call.group, call.stream_layout, call.segment
    assert layout is not None
    for rank, spans in enumerate(layout.spans):
        for start, _ in spans:
            if start % size:
                raise ArgumentError(
                    f"deterministic: the shard of rank {rank} starts at element {start}; expected "
                    f"a multiple of segment={size}, so that no segment is on two ranks"
                )
    nothing = call.start(())
    mine = []
    for begin, start, stop in layout.pieces(group.rank):
        for at in range(start, stop, size):
            length = min(size, stop - at)
            chunk = call.cut(call.streamed, begin + at - start, length)
            mine.append(call.update(nothing, (), chunk, at))
    most = max(sum(-(-(b - a) // size) for a, b in spans) for spans in layout.spans)
    if most == 0:
        return nothing
    import torch

    packed = torch.zeros(
        (most, merging.nbytes(nothing)), dtype=torch.uint8, device=nothing[0].device
    )
    for number, state in enumerate(mine):
        packed[number].copy_(merging.pack(state))
    everyone = group.all_gather(packed, "the states of all segments")
    found: dict[int, State] = {}
    for rank, spans in enumerate(layout.spans):
        starts = [at for start, stop in spans for at in range(start, stop, size)]
        for number, at in enumerate(starts):
            found[at] = merging.unpack(everyone[rank, number], nothing)
    ordered: list[State | None] = [found[at] for at in sorted(found)]
    return merging.as_tree(ordered, call.merger(())) or nothing
