"""States of all ranks become one: gathered and merged in rank order, or by a tree of messages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .groups import Group
from .streams import current_stream

State = tuple[Any, ...]
Merge = Callable[[State, State], State]
_ALIGNED = 64  # bytes; kernels on a GPU want 16


def nbytes(state: Sequence[Any]) -> int:
    """What a message with a state weighs."""
    return sum(_padded(c.numel() * c.element_size()) for c in state)


def message(like: Sequence[Any]) -> Any:
    """Memory for a state like this."""
    import torch

    return torch.empty(nbytes(like), dtype=torch.uint8, device=like[0].device)


def pack(state: Sequence[Any]) -> Any:
    """All components as one tensor of bytes."""
    out = message(state)
    for view, component in zip(unpack(out, state), state, strict=True):
        view.copy_(component)
    return out


def unpack(data: Any, like: Sequence[Any], number: int = 0) -> State:
    """Components, of the shapes and dtypes of ``like``, which is contiguous, on the memory of
    ``data``: of message ``number``, where that has several one after the other."""
    # A short call on a GPU waits for the host, so that each operation counts.
    found, typed = [], {}
    begin = number * nbytes(like) if number else 0
    for one in like:
        size = one.element_size()
        if one.dtype not in typed:
            typed[one.dtype] = data.view(one.dtype)
        all_of_type = typed[one.dtype]
        offset = all_of_type.storage_offset() + begin // size
        found.append(all_of_type.as_strided(one.shape, one.stride(), offset))
        begin += _padded(one.numel() * size)
    return tuple(found)


class Room:
    """Memory for states of which this rank's is gathered with all others': ``mine`` lies in
    ``data``, and ``everyone[r]`` in ``received``."""

    def __init__(self, like: Sequence[Any], ranks: int):
        self.data = message(like)
        self.mine = unpack(self.data, like)
        self.received = self.data.new_empty((ranks, self.data.numel()))
        flat = self.received.view(-1)
        self.everyone = [unpack(flat, like, rank) for rank in range(ranks)]


# What a thread has used on a stream for states like these: on the same stream the next call writes
# it after the last one has read it. A short call waits for its host, which needs longer to make
# this memory than to start the kernels.
_rooms: dict[tuple[Any, ...], Room] = {}
# Bytes of a message above which memory is not kept, and how many are.
_MOST_KEPT, _ROOMS = 1 << 20, 64


def room(like: Sequence[Any], ranks: int) -> Room:
    """Memory for states like this, until this thread asks again on this stream."""
    if like[0].device.type != "cuda" or nbytes(like) > _MOST_KEPT:
        return Room(like, ranks)
    import torch

    # Memory of a graph is the graph's.
    if torch.cuda.is_current_stream_capturing():
        return Room(like, ranks)
    key = (
        ranks, threading.get_ident(), current_stream().cuda_stream, like[0].device,
        *((one.dtype, one.shape) for one in like),
    )  # fmt: skip
    found = _rooms.get(key)
    if found is None:
        if len(_rooms) == _ROOMS:
            _rooms.clear()
        found = _rooms[key] = Room(like, ranks)
    return found


def gathered(group: Group, state: State, what: str) -> list[State]:
    """The states of all ranks, in their order."""
    everyone = group.all_gather(pack(state), what).view(-1)
    return [unpack(everyone, state, rank) for rank in range(group.size)]


def folded(states: Sequence[State | None], merge: Merge) -> State | None:
    """Merged from the first to the last; ``None`` is a state that has seen nothing."""
    result = None
    for state in states:
        if state is not None:
            result = state if result is None else merge(result, state)
    return result


def as_tree(states: Sequence[State | None], merge: Merge) -> State | None:
    """Neighbours first, then those of pairs, and so on: the shape depends on how many there are
    alone."""
    level = list(states)
    while len(level) > 1:
        level = [folded(level[i : i + 2], merge) for i in range(0, len(level), 2)]
    return level[0] if level else None


def by_messages(group: Group, state: State, has: Sequence[bool], merge: Merge) -> State:
    """The same tree with its nodes on ranks, and its result sent to all of them: log2(ranks)
    messages up and a broadcast, where :func:`gathered` sends every state to every rank."""
    rank, size, step = group.rank, group.size, 1
    mine: State | None = state if has[rank] else None
    while step < size:
        if rank % (2 * step) == step:
            if any(has[rank : rank + step]):
                group.send(pack(mine or state), rank - step, "the merge of states")
            break
        other = rank + step
        if other < size and any(has[other : other + step]):
            data = pack(state)
            group.receive(data, other, "the merge of states")
            mine = folded([mine, unpack(data, state)], merge)
        step *= 2
    data = pack(mine if rank == 0 and mine is not None else state)
    group.broadcast(data, 0, "the merged state")
    return unpack(data, state)


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
