"""Other plans of a program for a GPU than the one that was chosen, with their predicted times.

A candidate differs from the planner's choice in one thing: an operation begins a kernel, or is
fused with what it needs, or every one is a kernel of its own, or all have another schedule. It is
compiled as far as to its plans; nothing of it runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import pipelines
from ..attributes import fields
from ..errors import Error, UnsupportedError, at_least
from ..options import Options
from ..targets import gputargets
from .explanation import walk
from .predicted import PARTS, predicted

if TYPE_CHECKING:
    from ..frontends.mlir import Source

CHOSEN, APART = "as planned", "every operation apart"
_SCHEDULES = ("resident", "stream", "split")
_RAISED, _PLANNED = "raise", "plan"  # stages


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A plan of a whole program.

    name: what it does otherwise, with a place of the source. options: what ``compile`` is given for
    it, beside the options of the program. kernels: launches of a call. predicted_us: microseconds
    of all of them; of these parts: ``launch``, ``memory``, ``matrix`` and ``vector``, as in
    ``explain``; None, if it cannot be compiled. unpriced: launches that have no prediction (copies,
    sorts), which the time is without. problem: why it cannot be compiled; "" where it can.
    """

    name: str
    options: Mapping[str, Any]
    kernels: int = 0
    predicted_us: float | None = None
    parts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    unpriced: int = 0
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**dataclasses.asdict(self), "options": dict(self.options)}


class _Kernel(NamedTuple):
    """What fusion says of a kernel: ``#redfuse.fused_kernel``."""

    cascades: tuple[int, ...]
    places: tuple[str, ...]
    cuts: tuple[int, ...]
    joins: tuple[int, ...]

    def place(self, number: int) -> str:
        return self.places[self.cascades.index(number)]


def candidates(program: Source, options: Options, target: str, limit: int = 16) -> list[Candidate]:
    """The plan that was chosen, then the others, the fastest by prediction first; no two that are
    predicted to do the same. At most ``limit`` are compiled beside it, each about as long as
    the program is without its machine code. target: as an executable has it; of several chips
    the first. Raises UnsupportedError for a CPU.
    """
    from ..lowering import lower

    at_least("limit", limit, 0)
    if not target.startswith("cuda"):
        raise UnsupportedError(
            f"candidates: times are predicted for NVIDIA GPUs, and this program is for {target}; "
            "name one, as target='cuda:sm_90a'"
        )
    target = f"cuda:{gputargets.chips_of(target)[0]}"
    raised = lower(program, options, stop_after=_RAISED, target=target).module
    chosen, kernels = _plan(raised, options, {}, CHOSEN)
    found: dict[tuple, Candidate] = {_key(chosen): chosen}
    failed = []
    for number, (name, asked) in enumerate(_others(kernels, options)):
        if number >= limit:
            break
        one, _ = _plan(raised, options, asked, name)
        if one.problem:
            failed.append(one)
        else:
            found.setdefault(_key(one), one)
    rest = sorted(list(found.values())[1:], key=lambda c: c.predicted_us or 0.0)
    return [chosen, *rest, *failed]


def _key(candidate: Candidate) -> tuple:
    """Equal for plans that are predicted to do the same."""
    return (candidate.kernels, candidate.predicted_us, *candidate.parts.values())


def _others(kernels: Sequence[_Kernel], options: Options) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and options. Cuts and joins take turns, so that a limit leaves some of both."""
    every = {n for kernel in kernels for n in kernel.cascades} - set(options.joins)
    cuts = [(k.place(n), n) for k in kernels for n in k.cuts]
    joins = [(k.place(n), n) for k in kernels for n in k.joins]
    if len(cuts) > 1:
        yield APART, {"cuts": tuple(sorted(every))}
    for turn in range(max(len(cuts), len(joins))):
        if turn < len(cuts):
            place, n = cuts[turn]
            yield f"{place} begins a kernel (cuts: {n})", {"cuts": (*options.cuts, n)}
        if turn < len(joins):
            place, n = joins[turn]
            yield (
                f"{place} is fused with what it needs (joins: {n})",
                {"joins": (*options.joins, n)},
            )
    if options.schedule == "auto" and not options.schedules:
        for schedule in _SCHEDULES:
            yield f"schedule {schedule}", {"schedule": schedule}


def _plan(
    raised: Any, options: Options, asked: Mapping[str, Any], name: str
) -> tuple[Candidate, list[_Kernel]]:
    """A clone of the module up to its plans, and what fusion says of it."""
    from ..lowering import run_pipeline

    module = _Clone(raised)
    kernels: list[_Kernel] = []
    try:
        changed = dataclasses.replace(options, **asked)
        stages = pipelines.fused_gpu(changed, record=True)
        names = [stage for stage, _ in stages]
        for stage, pipeline in stages[names.index(_RAISED) + 1 : names.index(_PLANNED) + 1]:
            run_pipeline(module, pipeline, stage)
            kernels = kernels or _recorded(module)
    except Error as error:
        return Candidate(name, asked, problem=str(error).splitlines()[0]), []
    return _priced(module, asked, name), kernels


class _Clone:
    """A cloned module: an operation where a module is asked for."""

    def __init__(self, module: Any):
        self.operation = module.operation.clone().operation
        self.context = module.context


def _recorded(module: Any) -> list[_Kernel]:
    said = module.operation.attributes
    if "redfuse.fused_kernels" not in said:
        return []
    found = [fields(one, "fused_kernel") or {} for one in said["redfuse.fused_kernels"]]
    del said["redfuse.fused_kernels"]
    return [_Kernel(**one) for one in found]


def _priced(module: Any, asked: Mapping[str, Any], name: str) -> Candidate:
    kernels, unpriced = 0, 0
    parts = dict.fromkeys(("total", *PARTS), 0.0)
    for launch in walk(module.operation, "redfuse.launch", "gpu.launch_func"):
        times = _times(launch)
        kernels += times
        time = predicted(launch) if launch.name == "redfuse.launch" else None
        if time is None:
            unpriced += times
            continue
        for part in parts:
            parts[part] += times * time[f"{part}_us"]
    total = parts.pop("total")
    return Candidate(name, asked, kernels, round(total, 3), parts, unpriced)


def _times(launch: Any) -> int:
    """How often the host launches it: rounds of the loops around it, where they are known, but of
    those that one launch makes."""
    import mlir.ir as ir

    count, loop = 1, launch.parent
    while loop is not None and loop.name != "func.func":
        if loop.name == "scf.for" and "redfuse.persistent" not in loop.attributes:
            bounds = [v.owner for v in list(loop.operands)[:3]]
            if all(not isinstance(op, ir.Block) and op.name == "arith.constant" for op in bounds):
                start, end, step = (ir.IntegerAttr(op.attributes["value"]).value for op in bounds)
                count *= max(0, -((start - end) // step))
        loop = loop.parent
    return count


def candidate_lines(found: Sequence[Candidate | Mapping[str, Any]]) -> list[str]:
    """As text, the chosen plan first: what each has more of."""
    from .render import columns

    every = [one if isinstance(one, Candidate) else Candidate(**one) for one in found]
    if not every:
        return []
    chosen, rows = every[0], []
    for one in every:
        count = f"{one.kernels} kernel{'' if one.kernels == 1 else 's'}"
        if one.predicted_us is None:
            rows.append([f"  {one.name}", "", "", f"refused: {one.problem}"])
            continue
        rows.append([f"  {one.name}", count, f"{one.predicted_us:.1f} us", _why(one, chosen)])
    return ["Plans by predicted time:", *columns(rows)]


def _why(one: Candidate, chosen: Candidate) -> str:
    """By what a candidate is slower or faster: the part that differs most."""
    without = f"; without {one.unpriced} that are not priced" if one.unpriced else ""
    if one is chosen or not chosen.predicted_us or one.predicted_us is None:
        return without.removeprefix("; ")
    ratio = one.predicted_us / chosen.predicted_us
    more = {part: one.parts[part] - chosen.parts[part] for part in PARTS}
    slower = one.predicted_us >= chosen.predicted_us
    part = max(more, key=lambda p: more[p] if slower else -more[p])
    words = {"launch": "launches", "matrix": "matrix units", "vector": "what threads compute"}
    sign = "more" if slower else "less"
    by = f"{abs(more[part]):.1f} us {sign} of {words.get(part, part)}"
    return f"{ratio:.2f} of it: {by}{without}"
