"""Finds schedules by measuring: docs/user/tuning.md.

From the cost model's choice the search goes to the best neighbour of one cascade after another
until none is better or the time is over. Candidates are compiled and timed in another process.
"""

from __future__ import annotations

import collections
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..attributes import Schedule
from ..errors import ArgumentError, Error, UnsupportedError, at_least, path_text
from ..frontends import mlir as mlir_frontend
from ..options import Options
from ..runtime.tensors import need_gpu
from ..store import cache
from . import store
from .hints import MMA_SYNC, WGMMA, hinted
from .space import Place, places
from .worker import Worker

_BETTER = 0.98  # of the best time so far: less is noise
_SAME = "the same code as before"
_FIRST_SECONDS = 600.0  # that the first candidate may take, PyTorch's start included


@dataclasses.dataclass
class Trial:
    """A candidate. ms: median, or None where it was not used; note: why, or where the time is
    from."""

    schedules: tuple[str, ...]
    ms: float | None
    note: str = ""

    def text(self) -> str:
        """For people."""
        return "; ".join(Schedule.parse(t).short() if t else "the model's" for t in self.schedules)


@dataclasses.dataclass
class Tuning:
    """The result. Times are medians in ms; ``schedules`` as in ``Options.schedules``, empty where
    the model's choice is the best. path: the file it is stored in. complete: whether the search
    ended by itself."""

    ms: float
    default_ms: float
    schedules: tuple[str, ...]
    trials: list[Trial]
    device: str
    path: str
    complete: bool


def tune(
    source: Any,
    *,
    target: str = "auto",
    shapes: Sequence[Sequence[int]] = (),
    inputs: str = "",
    options: Options | Mapping[str, object] | None = None,
    limit: float = 60.0,
    seconds: float = 0.2,
    report: Callable[[Trial, Tuning], None] | None = None,
) -> Tuning:
    """Measures schedules of a program on this machine, and stores the best for ``compile``.

    source, target, options: as for ``compile``; options that choose a schedule bound the search.
    shapes: of each argument, needed where extents are dynamic. inputs: an .npz with in0, ...
        instead of random numbers. limit: seconds after which no further candidate is tried.
    seconds: of timing each. report: called after each candidate.

    Raises ArgumentError, TargetError for a target that does not run here, UnsupportedError for a
    program without cascades, and what ``compile`` raises.
    """
    from ..compiler import resolve_target

    start = time.monotonic()
    at_least("limit", limit, 0)
    at_least("seconds", seconds, 0)
    if not isinstance(shapes, (list, tuple)):
        raise ArgumentError(
            f"shapes: expected a list of shapes, one an argument, got {type(shapes).__name__}"
        )
    if report is not None and not callable(report):
        raise ArgumentError(f"report: expected a function, got {type(report).__name__}")
    inputs = path_text(inputs)
    chosen = dataclasses.replace(Options.of(options), tuned=False, schedules=())
    target = resolve_target(target)
    program = mlir_frontend.read(source)
    search = _Search(program, chosen, target, shapes, inputs, seconds)
    try:
        return search.run(start + limit, report)
    finally:
        search.worker.close()


class _Search:
    """One run of :func:`tune`."""

    def __init__(
        self, program: Any, options: Options, target: str, shapes: Sequence[Sequence[int]],
        inputs: str, seconds: float,
    ):  # fmt: skip
        self.device = store.device_name(target)
        if not self.device:
            raise ArgumentError(
                f"target '{target}' does not run on this machine; expected one that does"
            )
        if target != "cpu":
            need_gpu(f"tuning for {target}")
        if not options.fuse:
            raise ArgumentError("fuse=False has no schedules: nothing to tune")
        self.shapes = _checked(program, options, shapes, inputs)
        stored = dataclasses.replace(options, tuned=True)
        self.path = store.path(program, stored, target, self.shapes or None) or ""
        self.general = store.path(program, stored, target) or ""
        self.program_name = program.name
        self.places = places(program, options, target)
        if not self.places:
            raise UnsupportedError("the program has no cascade of reductions: nothing to tune")
        self.default = ("",) * len(self.places)
        kind = "hex" if isinstance(program.text, bytes) else "text"
        request = {
            kind: program.text.hex() if isinstance(program.text, bytes) else program.text,
            "name": program.name, "target": target, "options": dataclasses.asdict(options),
            "shapes": self.shapes, "inputs": inputs, "seconds": seconds,
        }  # fmt: skip
        self.worker = Worker(request, self.default)
        before = store.read(self.path)
        known = before is not None and before.build == cache.build_id()
        self.failures = dict(before.failures) if before is not None and known else {}
        self.known = tuple(before.schedules) if before is not None else ()
        self.seen: dict[tuple[str, ...], float | None] = {}
        self.result: Tuning
        self.kernels: list[str] = []  # kinds, of the best so far
        # How often a choice of a cascade changed nothing, beside the best so far.
        self.idle: collections.Counter[tuple[int, str]] = collections.Counter()

    def run(self, end: float, report: Callable[[Trial, Tuning], None] | None) -> Tuning:
        began = time.monotonic()
        found = self.worker.first(_FIRST_SECONDS)
        if "error" in found:
            raise Error(f"the program does not run as the model schedules it: {found['error']}")
        # What any other candidate may take.
        patience = 20.0 + 3.0 * (time.monotonic() - began)
        self.kernels = found.get("kernels", [])
        first = Trial(self.default, found["ms"], "the model's choice")
        self.seen[self.default] = found["ms"]
        self.result = Tuning(
            found["ms"], found["ms"], self.default, [first], self.device, self.path, True
        )
        if report:
            report(first, self.result)
        try:
            for schedules in self._candidates():
                if time.monotonic() > end:
                    self.result.complete = False
                    break
                trial = self._try(schedules, patience)
                if report:
                    report(trial, self.result)
        except (KeyboardInterrupt, SystemExit):  # what is known by now is worth keeping
            self._store()
            raise
        self._confirm(patience)
        self._store()
        return self.result

    def _try(self, schedules: tuple[str, ...], patience: float) -> Trial:
        key = " ".join(schedules)
        if key in self.failures:
            found: dict[str, Any] = {}
            trial = Trial(schedules, None, f"failed before: {self.failures[key]}")
        else:
            found = self.worker.trial(schedules, patience)
            note = _SAME if found.get("same") else ""
            trial = Trial(schedules, found.get("ms"), found.get("error", note))
            if "error" in found:
                self.failures[key] = found["error"]
        self.seen[schedules] = trial.ms
        self.result.trials.append(trial)
        if trial.ms is not None and trial.ms < _BETTER * self.result.ms:
            self.result.ms, self.result.schedules = trial.ms, schedules
            self.kernels = found.get("kernels", self.kernels)
            self.idle.clear()  # beside another choice it may matter
        return trial

    def _candidates(self) -> Iterator[tuple[str, ...]]:
        """What to try next, as long as it is asked: what was found before, the model's choices
        under all requests, then neighbours of the best, of one cascade after another."""
        if len(self.known) == len(self.places) and any(self.known):
            yield self.known
        for number, place in enumerate(self.places):
            kernel = self._kernel(number)
            if kernel in (WGMMA, MMA_SYNC):  # what is most likely to help
                yield from self._varied(number, hinted(place.starts[0], kernel))
        for number, place in enumerate(self.places):
            for schedule in place.starts[1:]:
                yield from self._new(number, schedule)
        while True:
            best = self.result.schedules
            for number, place in enumerate(self.places):
                at = self.result.schedules[number]
                now = Schedule.parse(at) if at else place.starts[0]
                yield from self._varied(number, place.neighbours(now, self._kernel(number)))
            if best == self.result.schedules:
                return

    def _kernel(self, number: int) -> str:
        """The kind of kernel that a cascade is now."""
        return self.kernels[number] if number < len(self.kernels) else ""

    def _varied(self, number: int, neighbours: Iterator[tuple[str, Schedule]]
                ) -> Iterator[tuple[str, ...]]:  # fmt: skip
        """Those of the neighbours that may make a difference."""
        for choice, schedule in neighbours:
            if self.idle[number, choice] > 1:  # one may be what the model chose itself
                continue
            for made in self._new(number, schedule):
                yield made
                if self.result.trials[-1].note == _SAME:
                    self.idle[number, choice] += 1

    def _new(self, number: int, schedule: Schedule) -> Iterator[tuple[str, ...]]:
        best = self.result.schedules
        text = "" if schedule == self.places[number].starts[0] else schedule.text
        schedules = (*best[:number], text, *best[number + 1 :])
        if schedules not in self.seen:
            yield schedules

    def _confirm(self, patience: float) -> None:
        """The best against the model's choice once more, in a fresh process: what is not better
        there was noise."""
        if self.result.schedules == self.default:
            return
        self.worker.close()
        try:
            again = self.worker.first(_FIRST_SECONDS)
        except Error:
            again = {}
        best = self.worker.trial(self.result.schedules, patience)
        if "ms" not in again or "ms" not in best:
            self.result.schedules, self.result.ms = self.default, self.result.default_ms
            return
        self.result.ms = best["ms"]
        if best["ms"] >= _BETTER * self.result.default_ms:
            self.result.schedules, self.result.ms = self.default, self.result.default_ms

    def _store(self) -> None:
        result = self.result
        schedules = list(result.schedules) if any(result.schedules) else []
        record = store.Record(
            schedules, result.ms, result.default_ms, result.device,
            [list(shape) for shape in self.shapes], cache.build_id(), self.failures,
            self.program_name,
        )  # fmt: skip
        for file in dict.fromkeys((self.path, self.general)):
            store.write(file, record)


def _checked(
    program: Any, options: Options, shapes: Sequence[Sequence[int]], inputs: str
) -> list[list[int]]:
    """The shapes for a program with dynamic extents, empty for one without. Raises
    ArgumentError."""
    module = program.parse()
    signature = mlir_frontend.signature(mlir_frontend.find_entry(module, options.entry))
    if inputs and not shapes:
        from .. import check

        held = check.cast_inputs(check.load_npz(inputs)[0], signature)
        shapes = [array.shape for array in held]
    if all(spec.is_static for spec in signature.inputs) and not shapes:
        return []
    if len(shapes) != len(signature.inputs):
        raise ArgumentError(
            f"expected a shape for each of the arguments "
            f"({', '.join(map(str, signature.inputs))}), got {len(shapes)}: some extents are "
            "dynamic; give shapes (--shape, one an argument) or arrays (--inputs)"
        )
    for number, (spec, shape) in enumerate(zip(signature.inputs, shapes, strict=True)):
        fits = len(shape) == len(spec.shape) and all(
            want in (None, got) and got >= 0 for want, got in zip(spec.shape, shape, strict=True)
        )
        if not fits:
            raise ArgumentError(f"shape of argument {number}: expected {spec}, got {list(shape)}")
    if all(spec.is_static for spec in signature.inputs):
        return []
    return [list(shape) for shape in shapes]


__all__ = ["Place", "Trial", "Tuning", "tune"]
