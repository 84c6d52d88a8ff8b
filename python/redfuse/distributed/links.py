"""How long communication and work are predicted to take: a model of few constants."""

from __future__ import annotations

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Links:
    """What is between the ranks, and how fast each computes.

    bandwidth: bytes/s that a rank sends while it receives as many (a large message).
    latency: seconds that a message takes besides; collective: the same of a collective's step.
    compute: operations/s of the program's own kernels (a multiply-add is two).
    memory: bytes/s of a rank's own memory.
    launch: seconds that a call takes, however little it does.

    Defaults: of two H200s of one host over NVLink, measured 2026-11-23: send and receive of 1 GiB
    (357 GB/s) and of 16 MiB (126 GB/s, of which the latency follows), all-reduce of 1 KB (53 us),
    attention of 131072 tokens, 16 heads of 128 in bf16 on one of them (226 ms, 623 TFLOP/s).
    ``measure`` makes those of a mesh; ``dataclasses.replace`` changes some.
    """

    bandwidth: float = 357e9
    latency: float = 86e-6
    collective: float = 53e-6
    compute: float = 623e12
    memory: float = 4.0e12
    launch: float = 10e-6

    def message(self, nbytes: float) -> float:
        """Seconds for one message, while one comes the other way."""
        return self.latency + nbytes / self.bandwidth

    def step(self, nbytes: float) -> float:
        """Seconds for one step of a collective."""
        return self.collective + nbytes / self.bandwidth

    def all_gather(self, nbytes: float, ranks: int) -> float:
        """Each rank's ``nbytes`` to all others, around a ring."""
        return (ranks - 1) * self.step(nbytes) if ranks > 1 else 0.0

    def all_to_all(self, nbytes: float, ranks: int) -> float:
        """``nbytes`` of each rank, an equal part of them for every rank."""
        return (ranks - 1) * self.step(nbytes / ranks) if ranks > 1 else 0.0

    def tree(self, nbytes: float, ranks: int) -> float:
        """A message up each level of a tree, and a broadcast down."""
        return 2 * math.ceil(math.log2(ranks)) * self.message(nbytes) if ranks > 1 else 0.0

    def work(self, operations: float, nbytes: float = 0.0) -> float:
        """Seconds of a kernel."""
        return self.launch + max(operations / self.compute, nbytes / self.memory)


# Processes of one host, over its memory: an order of magnitude, so that a choice is made.
HOST = Links(
    bandwidth=2e9, latency=100e-6, collective=200e-6, compute=20e9, memory=10e9, launch=20e-6
)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What the choice of a strategy depends on, all for one rank's share.

    ranks; operations: of the whole program, of all ranks together.
    stream, rows, results, state: bytes of the arguments with the streamed dim, of those with rows,
        of results, and of a state of one rank's rows.
    heads: the largest part that a rank has of the dim that is exchanged as heads; 0: there is none.
    """

    ranks: int
    operations: float
    stream: float
    rows: float
    results: float
    state: float
    heads: float


def share_of_heads(heads: int, ranks: int) -> float:
    """The largest part that a rank has of so many heads; 0 where some rank would have none."""
    return -(-heads // ranks) / heads if heads >= ranks else 0.0


def predicted(sizes: Sizes, links: Links) -> dict[str, float]:
    """Seconds of each strategy that is possible, by name."""
    n, part = sizes.ranks, sizes.operations / sizes.ranks
    block = links.work(part / n) + (links.work(0, 3 * sizes.state) if n > 1 else 0.0)
    send = links.message(sizes.stream)
    times = {
        # The last block is folded when nothing is under way.
        "ring": (n - 1) * max(block, send) + block,
        "gather": links.all_gather(sizes.stream, n) + links.work(part),
        "rows": links.all_gather(sizes.rows, n)
        + links.work(part)
        + links.all_to_all(n * sizes.state, n)
        + n * links.work(0, 3 * sizes.state),
    }
    if sizes.heads:
        moved = sizes.stream + sizes.rows
        times["heads"] = (
            links.all_to_all(moved, n)
            + links.work(sizes.operations * sizes.heads)
            + links.all_to_all(sizes.results, n)
        )
    return times


def merge_by(state: float, ranks: int, links: Links) -> str:
    """ "gather" or "tree", whichever is predicted to take less time."""
    gather = links.all_gather(state, ranks) + (ranks - 1) * links.work(0, 3 * state)
    levels = math.ceil(math.log2(ranks)) if ranks > 1 else 0
    tree = links.tree(state, ranks) + levels * links.work(0, 3 * state)
    return "gather" if gather <= tree else "tree"
