"""One program in every way, judged."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from devices import DeviceError, call
from draws import KINDS, draw
from evaluate import Measured, evaluate
from judge import Wrong, compare
from pieces import Pieces
from program import FLOATS, LARGEST, Program
from redfuse.errors import Error, UnsupportedError
from redfuse.executable import Executable
from redfuse.explain.certificates import expands_matrices
from redfuse.state import StateProgram
from ways import CPU, Built, Parsed, build, options, variants

# Bounds are first order, and a fused program may round a few times more.
SLACK = 4.0
# Powers of differences are taken from the mean of the first segment: where that is one element, or
# a few, the powers are larger than those of the result.
SMALL_SLACK = 64.0
SMALL_RANGE = 1e4  # and they may overflow where a result is this close to it
DRAWS = 8
# A factor that leaves a sum changes what overflows: (x/d)^2 is x^2/d^2. Data stays below the square
# root of its range.
AWKWARD = [kind for kind in KINDS[1:] if kind != "huge"]
STATE = "state"
STREAMED = {"stream", "multipass", "split"}


class Failure(NamedTuple):
    """What is wrong with a program: ``kind`` is one of compile, fallback, unexplained, run, shape,
    class, value, integer, reference; ``where`` the way to compile; ``data`` of which kind."""

    kind: str
    where: str
    data: str
    detail: str
    arguments: list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much to try: LLVM's level, ways to cut besides the three schedules, whether states are
    held and merged, draws of data (0: the programs are compiled alone), and the target of the
    fused programs."""

    opt_level: int = 0
    more: int = 3
    states: bool = True
    draws: int = DRAWS
    target: str = CPU


class Trial:
    """A program, compiled. ``tried`` counts the ways that its reductions were cut, and
    ``"refused"``, for the summary."""

    def __init__(self, program: Program, seed: int, plan: Plan) -> None:
        self.program, self.seed, self.plan = program, seed, plan
        self.tried: Counter[str] = Counter()
        self.built: dict[str, Built] = {}
        self.distinct: dict[str, Executable] = {}
        self.cut = {STATE}  # names of ways with short segments
        self.states: StateProgram | None = None

    def run(self) -> Failure | None:
        """The first failure."""
        failure = self.compile() or self.explained()
        if failure is None and self.plan.states and self.plan.target == CPU:
            failure = self.compile_states()
        if failure:
            return failure
        with np.errstate(all="ignore"):
            for number, kind in enumerate(kinds(self.seed, self.plan.draws)):
                failure = self.judge_data(kind, number)
                if failure:
                    return failure
        return None

    def compile(self) -> Failure | None:
        """All variants; those that come to the same program once."""
        self.source = Parsed(self.program.text())
        made: dict[str, Executable] = {}
        plan = self.plan
        for variant in variants(plan.opt_level, self.seed, plan.more, plan.target):
            if variant.cuts and not STREAMED & set(self.built["stream"].schedules):
                continue
            try:
                built = build(self.source, variant, made)
            except Error as error:
                kind = "fallback" if variant.options.fuse else "compile"
                return Failure(kind, variant.name, "", f"{type(error).__name__}: {error}", [])
            self.built[variant.name] = built
            self.tried.update({f"{kind} kernels" for kind in built.schedules})
            if all(built.executable is not other for other in self.distinct.values()):
                self.distinct[variant.name] = built.executable
                if variant.cuts:
                    self.cut.add(variant.name)
        return None

    def explained(self) -> Failure | None:
        """A schedule that was asked for is used, or a refusal says why not."""
        stream = self.built["stream"]
        refused = stream.explanation["refused"]
        if "resident" in stream.schedules and not refused:
            told = "a schedule that was asked for is not used"
            return Failure("unexplained", "stream", "", told, [])
        for entry in refused:
            if not entry["condition"] or not entry["detail"]:
                return Failure("unexplained", "stream", "", str(entry), [])
        self.tried["programs with refusals"] += bool(refused)
        return None

    def compile_states(self) -> Failure | None:
        """init, update, merge and finalize, along the axis of choice or any other."""
        along = None
        rng = np.random.default_rng([self.seed, 2])
        axes = [(n, a) for n, node in enumerate(self.program.arguments)
                for a in range(len(node.space))]  # fmt: skip
        if rng.integers(3) == 0 and axes:
            along = axes[rng.integers(len(axes))]
        try:
            self.states = StateProgram(self.source, options(self.plan.opt_level, along=along))
        except UnsupportedError as error:
            if len(str(error)) < 20:
                return Failure("unexplained", STATE, "", str(error), [])
            self.tried["programs without states"] += 1
        except Error as error:
            return Failure("compile", STATE, "", f"{type(error).__name__}: {error}", [])
        else:
            self.tried["programs with states"] += 1
        return None

    def results(self, data: list[Any], number: int) -> Iterator[tuple[str, list[np.ndarray]]]:
        """By every way; a failing one raises redfuse.Error with its name as a note."""
        for name, executable in self.distinct.items():
            try:
                found = call(executable, data)
            except (Error, DeviceError) as error:
                raise StoppedError(name, error) from None
            yield name, found
        if self.states is None:
            return
        pieces = Pieces(self.states, data)
        if not pieces.possible:
            return
        try:
            for name, found in pieces.cuts(np.random.default_rng([self.seed, 3, number])):
                yield f"{STATE}: {name}", found
        except Error as error:
            raise StoppedError(STATE, error) from None

    def judge_data(self, kind: str, number: int) -> Failure | None:
        """All ways on one draw."""
        extents = extents_of(self.program, number)
        data = arguments(self.program, extents, kind, number and self.seed * 31 + number)
        exact = evaluate(self.program, data, extents)
        own: list[np.ndarray] = []
        try:
            for name, found in self.results(data, number):
                if name == "unfused":
                    own = found
                wrong = self.judge(name, found, own, exact, data)
                if wrong:
                    return Failure(wrong[0], name, kind, wrong[1], data)
        except StoppedError as stopped:
            return Failure("run", stopped.name, kind, str(stopped), data)
        return None

    def judge(
        self, name: str, found: list[np.ndarray], own: list[np.ndarray], exact: list[Measured],
        data: list[np.ndarray],
    ) -> tuple[str, str] | None:  # fmt: skip
        """Kind and description of what is wrong with the results of one way."""
        for at, number_of in enumerate(self.program.results):
            dtype = self.program.nodes[number_of].dtype
            value, bound = exact[at]
            got = found[at]
            detail = f"result {at} ({dtype}{list(got.shape)})"
            if name == "unfused":
                if dtype in FLOATS and (told := unfused_differs(got, value, bound * SLACK)):
                    return "reference", f"{detail}: {told}"
            elif dtype in FLOATS:
                slack, loose = SLACK, np.isinf(bound)
                if name.partition(":")[0] in self.cut:
                    slack = SMALL_SLACK
                    loose = loose | (np.abs(value) > LARGEST[dtype] / SMALL_RANGE)
                wrong = compare(got, value, own[at], bound * slack, loose=loose)
                if wrong and not (wrong.what == "class" and self.is_known(wrong, data)):
                    return wrong.what, f"{detail}: {wrong}"
            elif got.shape != value.shape:
                return "shape", f"{detail}, expected {list(value.shape)}"
            else:
                differs = (got != own[at]) & np.isfinite(bound)
                if differs.any():
                    where = tuple(int(i) for i in np.argwhere(differs)[0])
                    what = f"at {list(where)}: got {got[where]}, unfused {own[at][where]}"
                    return "integer", f"{detail} {what}"
        return None

    def is_known(self, wrong: Wrong, data: list[np.ndarray]) -> bool:
        """The limit that docs/design/algebra.md names: in a matrix product of sums or differences
        these are added up term by term, which makes NaN of infinite data where the source has an
        infinity."""
        if not np.isnan(wrong.got) or all(np.isfinite(a.astype(float)).all() for a in data):
            return False
        # What is derived does not depend on the schedule; a stream says by which rules.
        return any(
            expands_matrices(certificate)
            for kernel in self.built["stream"].explanation["kernels"]
            for cascade in kernel["cascades"]
            for certificate in [cascade.get("certificate", {}), *cascade.get("passes", [])]
        )


class StoppedError(Exception):
    """A way that raised an error instead of giving results."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.name = name


def try_program(program: Program, seed: int, plan: Plan | None = None) -> Failure | None:
    """Compiles and runs a program in all ways; the first failure."""
    return Trial(program, seed, plan or Plan()).run()


def arguments(program: Program, extents: dict[str, int], kind: str, number: int) -> list[Any]:
    """Data of a kind in one of the arguments, or in all."""
    rng = np.random.default_rng(number)
    spoilt = int(rng.integers(-1, max(1, len(program.arguments))))
    if number == 0:
        spoilt = 0
    return [
        draw(
            kind if spoilt in (-1, at) else "normal", program.shape(node, extents), node.dtype, rng
        )
        for at, node in enumerate(program.arguments)
    ]


def extents_of(program: Program, number: int) -> dict[str, int]:
    """The program's own extents; for later draws others, where they are open."""
    extents = dict(program.extents)
    if number and program.dynamic:
        others = (1, 2, 0, 5, 11, 19)
        for at, c in enumerate(program.dynamic):
            extents[c] = others[(number + at) % len(others)]
    return extents


def kinds(seed: int, draws: int) -> list[str]:
    """Kinds of data for the draws of a program."""
    rng = np.random.default_rng(seed)
    return ["normal", *rng.choice(AWKWARD, max(0, draws - 1), replace=False)][:draws]


def unfused_differs(own: np.ndarray, value: np.ndarray, bound: np.ndarray) -> str:
    """A gross error of the unfused program, or of the evaluation: neither may hide the other."""
    got = own.astype(np.float64)
    if got.shape != value.shape:
        return f"shape {got.shape} for {value.shape}"
    finite = np.isfinite(got) & np.isfinite(value) & np.isfinite(bound)
    error = np.where(finite, np.abs(got - value), 0)
    allowed = 64 * bound + 1e-3 * np.abs(np.where(finite, value, 0))
    if (error > allowed).any():
        at = tuple(int(i) for i in np.argwhere(error > allowed)[0])
        return f"at {list(at)}: unfused {got[at]!r}, evaluated {float(value[at])!r}"
    return ""
