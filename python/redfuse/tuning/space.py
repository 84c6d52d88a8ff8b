"""What a tuner may try for a cascade: other kinds of schedule, and from a schedule its neighbours,
which differ in one tile, number of splits or hint. The cost model gives the starting points; what
leaves most of the machine idle, or makes more blocks than pay, is not tried."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..attributes import Schedule, Target
from ..compiler import resolve_target
from ..frontends.mlir import Source
from ..lowering import lower, run_pipeline
from ..options import Options
from . import schedules
from .hints import hinted
from .schedules import cascades, extents_of

SPLITS = (2, 4, 8, 16, 32, 64)
_LEAST_BUSY = 0.25  # of the units that the model's own choice keeps busy
_MOST_BLOCKS = 64  # a unit, where the model has fewer


@dataclasses.dataclass
class Place:
    """The space of one cascade.

    extents: of its iteration dims. starts: the model's choice under each request, its own first.
    units: multiprocessors or cores.
    """

    extents: list[int]
    starts: list[Schedule]
    units: int

    def blocks(self, schedule: Schedule) -> int:
        """Blocks of a launch."""
        count = 1
        for dim in schedule.grid:
            count *= math.ceil(self.extents[dim] / max(1, schedule.tiles[dim]))
        return count * max(1, schedule.splits)

    def is_worth_trying(self, schedule: Schedule) -> bool:
        """Whether its blocks keep the units busy, and are not too many to pay for their start,
        each measured by the model's own choice."""
        own = self.blocks(self.starts[0])
        mine = self.blocks(schedule)
        if _busy(mine, self.units) < _LEAST_BUSY * _busy(own, self.units):
            return False
        return mine <= max(4 * own, _MOST_BLOCKS * self.units)

    def neighbours(self, schedule: Schedule, kernel: str
                   ) -> Iterator[tuple[str, Schedule]]:  # fmt: skip
        """Schedules that differ from this one in one choice, and the name of that choice.
        kernel: the kind that it becomes (see ``hints``)."""
        yield from hinted(schedule, kernel)
        for what, one in (*self._tiles(schedule), *_splits(schedule)):
            if one != schedule and self.is_worth_trying(one):
                yield what, one

    def _tiles(self, schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
        for dim in (*schedule.stream[:1], *reversed(schedule.grid)):
            now, extent = schedule.tiles[dim], self.extents[dim]
            if now == 0:
                continue
            for factor in (2.0, 0.5, 4.0, 0.25):
                tile = min(extent, int(now * factor))
                if tile >= 1 and tile != now:
                    yield f"tile {dim}", schedule.with_tile(dim, tile)


def _splits(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    if schedule.kind == "split":
        for number in SPLITS:
            yield "splits", dataclasses.replace(schedule, splits=number)


def _busy(blocks: int, units: int) -> float:
    """The share of the units' time that is used when every block takes the same."""
    return blocks / (math.ceil(blocks / units) * units)


def places(program: Source, options: Options, target: str) -> list[Place]:
    """The space of each cascade of a program."""
    fused = lower(program, options, stop_after="fuse", target=resolve_target(target)).module
    found = cascades(fused)
    made = [Place(extents_of(op), [], 1) for op in found]
    rules = [f"{name}=true" for name in ("strict", "approximate") if getattr(options, name)]
    if options.lazy:
        rules.append(f"lazy={options.lazy}")
    units = Target.of(fused.operation.attributes["redfuse.target"]).units
    for request in _requests(options):
        words = " ".join([*request, *rules])
        trial = fused.operation.clone()
        run_pipeline(_Module(trial), f"builtin.module(redfuse-schedule{{{words}}})", "schedule")
        for place, op in zip(made, cascades(_Module(trial)), strict=True):
            place.units = units
            schedule = schedules.of(op)
            if schedule not in place.starts:
                place.starts.append(schedule)
    return made


class _Module:
    """A cloned module: an operation where a module is asked for."""

    def __init__(self, operation: Any):
        self.operation = operation.operation
        self.context = operation.context


def _requests(options: Options) -> Sequence[list[str]]:
    own = [] if options.schedule == "auto" else [f"kind={options.schedule}"]
    if options.splits:
        own.append(f"splits={options.splits}")
    if own:
        return [own]
    split = [["kind=split"], *(["kind=split", f"splits={n}"] for n in SPLITS)]
    return [[], ["kind=resident"], ["kind=stream"], *split]
