"""One program on every legal schedule, judged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from draws import KINDS, draw
from evaluate import evaluate
from judge import Wrong, compare
from program import FLOATS, Program
from redfuse import compiler, pipelines
from redfuse.errors import Error, FusionWarning
from redfuse.executable import Executable
from redfuse.frontends.mlir import Source
from redfuse.options import Options

# Bounds are first order, and a fused program may round a few times more.
SLACK = 4.0
# Powers of differences are taken from the mean of the first segment: where that is one element, or
# a few, the powers are larger than those of the result.
SMALL_SLACK = 64.0
DRAWS = 6
# A factor that leaves a sum changes what overflows: (x/d)^2 is x^2/d^2. Data stays below the square
# root of its range.
AWKWARD = [kind for kind in KINDS[1:] if kind != "huge"]
TILES = (1, 3, 8)


class Failure(NamedTuple):
    """What is wrong with a program: ``kind`` is one of compile, fallback, unexplained, run, shape,
    class, value, index, integer; ``where`` the schedule; ``data`` of which kind."""

    kind: str
    where: str
    data: str
    detail: str
    arguments: list[np.ndarray]


class Variant(NamedTuple):
    """A way to compile: options, and the extent of all tiles of reduced dims (0: as chosen)."""

    name: str
    options: Options
    tile: int = 0


def build(text: str, variant: Variant) -> Executable:
    """Compiles without falling back to the unfused path; raises redfuse.Error."""
    options = variant.options
    if not options.fuse:
        stages = pipelines.unfused()
    else:
        stages = pipelines.fused(options)
        if variant.tile:
            tiles = f"tiles={','.join([str(variant.tile)] * 8)}"
            stages = [
                (name, line.replace("redfuse-schedule{", f"redfuse-schedule{{{tiles} "))
                for name, line in stages
            ]
    source = Source(text)
    lowered = compiler._lower(source, options, stages, None)
    code = lowered.object_code(options)
    return Executable(source, options, "cpu", lowered.signature, code, lowered.explanation)


def variants(opt_level: int) -> Iterator[Variant]:
    """All fused ways, the unfused first."""

    def options(**fields: Any) -> Options:
        return Options(opt_level=opt_level, cache=False, threads=1, **fields)

    yield Variant("unfused", options(fuse=False))
    yield Variant("auto", options())
    yield Variant("resident", options(schedule="resident"))
    yield Variant("stream", options(schedule="stream"))
    for tile in TILES:
        yield Variant(f"stream, tiles of {tile}", options(schedule="stream"), tile)


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


def kinds(seed: int) -> list[str]:
    """Kinds of data for the draws of a program."""
    rng = np.random.default_rng(seed)
    return ["normal", *rng.choice(AWKWARD, DRAWS - 1, replace=False)]


def try_program(program: Program, seed: int, opt_level: int = 0) -> Failure | None:
    """Compiles and runs a program in all ways; the first failure."""
    text = program.text()
    executables: dict[str, Executable] = {}
    for variant in variants(opt_level):
        if variant.tile and "stream" not in schedules(executables["stream"]):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FusionWarning)
                executables[variant.name] = build(text, variant)
        except Error as error:
            kind = "fallback" if variant.options.fuse else "compile"
            return Failure(kind, variant.name, "", f"{type(error).__name__}: {error}", [])
    stream = executables["stream"]
    if any(kind == "resident" for kind in schedules(stream)) and not stream.explanation["refused"]:
        return Failure("unexplained", "stream", "", "a schedule that was asked for is not used", [])
    for entry in stream.explanation["refused"]:
        if not entry["condition"] or not entry["detail"]:
            return Failure("unexplained", "stream", "", str(entry), [])
    with np.errstate(all="ignore"):
        for number, kind in enumerate(kinds(seed)):
            failure = judge_data(program, executables, kind, seed, number)
            if failure:
                return failure
    return None


def schedules(executable: Executable) -> list[str]:
    """The kinds of the schedules of kernels that reduce."""
    return [
        kernel["schedule"]["kind"]
        for kernel in executable.explanation["kernels"]
        if any(cascade["stages"] for cascade in kernel["cascades"])
    ]


def judge_data(
    program: Program, executables: dict[str, Executable], kind: str, seed: int, number: int
) -> Failure | None:
    """All executables on one draw."""
    extents = extents_of(program, number)
    data = arguments(program, extents, kind, number and seed * 31 + number)
    exact = evaluate(program, data, extents)
    results = {}
    for name, executable in executables.items():
        try:
            found = executable(*data)
        except Error as error:
            return Failure("run", name, kind, f"{type(error).__name__}: {error}", data)
        results[name] = list(found) if isinstance(found, tuple) else [found]
    own = results.pop("unfused")
    for at, number_of in enumerate(program.results):
        dtype = program.nodes[number_of].dtype
        value, bound = exact[at]
        if dtype in FLOATS and (wrong := unfused_differs(own[at], value, bound * SLACK)):
            return Failure("reference", "unfused", kind, f"result {at}: {wrong}", data)
        for name, found in results.items():
            got = found[at]
            detail = f"result {at} ({dtype}{list(got.shape)})"
            if dtype in FLOATS:
                slack = SMALL_SLACK if "tiles" in name else SLACK
                wrong = compare(got, value, own[at], bound * slack, loose=np.isinf(bound))
                if wrong and not (
                    wrong.what == "class" and is_known(wrong, executables[name], data)
                ):
                    return Failure(wrong.what, name, kind, f"{detail}: {wrong}", data)
            else:
                differs = (got != own[at]) & np.isfinite(bound)
                if got.shape != value.shape or differs.any():
                    where = tuple(int(i) for i in np.argwhere(differs)[0])
                    what = f"at {list(where)}: got {got[where]}, unfused {own[at][where]}"
                    return Failure("integer", name, kind, f"{detail} {what}", data)
    return None


def is_known(wrong: Wrong, executable: Executable, data: list[np.ndarray]) -> bool:
    """The limit that docs/algebra.md names: a product of sums, or a difference with weights, is
    added up term by term, which makes NaN of infinite data where the source has an infinity."""
    if not np.isnan(wrong.got) or all(np.isfinite(a.astype(float)).all() for a in data):
        return False
    rules = [
        rule
        for kernel in executable.explanation["kernels"]
        for cascade in kernel["cascades"]
        for rule in cascade.get("certificate", {}).get("rules", [])
    ]
    return any("(x-d)^n" in rule or "(a+b)*c" in rule for rule in rules)


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
