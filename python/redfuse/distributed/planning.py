"""What more GPUs would bring, by the model that strategies are chosen by. Nothing of it is
measured but the constants."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .links import Links, Sizes, predicted, share_of_heads

RANKS = (8, 16, 32, 64, 128, 256, 512, 1024)
# A network card of 400 Gbit/s for each GPU: its rate, and a latency as of InfiniBand with NCCL.
# Assumed, not measured.
BETWEEN = Links(bandwidth=45e9, latency=120e-6, collective=80e-6)


@dataclasses.dataclass(frozen=True)
class Attention:
    """The sizes of an attention: ``live`` is the part of all scores that is computed (0.5 for a
    causal one); ``itemsize`` of its data in bytes."""

    length: int
    heads: int
    kv_heads: int
    width: int
    live: float = 1.0
    itemsize: int = 2

    def sizes(self, ranks: int) -> Sizes:
        """Of one rank's share."""
        rows = self.length // ranks
        queries = rows * self.heads * self.width * self.itemsize
        return Sizes(
            ranks=ranks,
            operations=4.0 * self.length**2 * self.heads * self.width * self.live,
            stream=2.0 * rows * self.kv_heads * self.width * self.itemsize,
            rows=queries,
            results=queries,
            state=4.0 * rows * self.heads * (self.width + 2),
            heads=share_of_heads(self.kv_heads, ranks),
        )


@dataclasses.dataclass(frozen=True)
class Planned:
    """A row of a plan: ``seconds`` by strategy, the ``best`` of them, how many times faster than
    one rank it is, and over ``ranks``."""

    ranks: int
    seconds: dict[str, float]
    best: str
    speedup: float

    @property
    def efficiency(self) -> float:
        """1 where all ranks do nothing but their share."""
        return self.speedup / self.ranks


def plan(
    problem: Attention,
    ranks: Sequence[int] = RANKS,
    within: Links | None = None,
    between: Links = BETWEEN,
    per_host: int = 8,
) -> list[Planned]:
    """Predicted times of a problem over some numbers of GPUs.

    within, between: the links of a host's GPUs (as measured of two), and of hosts of ``per_host``
    GPUs. Where there are several hosts, each step of a strategy goes at the slower of the two.
    """
    within = within or Links()
    alone = within.work(problem.sizes(1).operations)
    found = []
    for count in ranks:
        links = within
        if count > per_host:
            links = dataclasses.replace(
                within,
                bandwidth=min(within.bandwidth, between.bandwidth),
                latency=max(within.latency, between.latency),
                collective=max(within.collective, between.collective),
            )
        seconds = predicted(problem.sizes(count), links)
        best = min(seconds, key=lambda name: seconds[name])
        found.append(Planned(count, seconds, best, alone / seconds[best]))
    return found


def table(rows: Sequence[Planned]) -> str:
    """As Markdown; times in ms."""
    names = ("ring", "gather", "rows", "heads")
    lines = [
        f"| GPUs | {' | '.join(names)} | best | speed-up | efficiency |",
        f"|---|{'---|' * (len(names) + 3)}",
    ]
    for row in rows:
        times = [f"{row.seconds[n] * 1e3:.3g}" if n in row.seconds else "" for n in names]
        lines.append(
            f"| {row.ranks} | {' | '.join(times)} | {row.best} | {row.speedup:.3g} | "
            f"{row.efficiency:.2f} |"
        )
    return "\n".join(lines)
