"""The executable against fp64 of the unfused program, on data that breaks careless code."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..check import ROUNDOFF, movement, program_type
from ..errors import Error
from ..explain.certificates import expands_matrices
from ..options import Options
from ..runtime.specs import Signature, TensorSpec, numpy_dtype
from . import points
from .folds import LIMIT
from .report import FAILED, PASSED, UNCHECKED, Check

FACTOR = 8.0  # How many times the unfused program's own error a fused one may show.
_LENGTHS = (37, 1, 0)  # Of dynamic extents.
_TILES = (16, 7)
_ILL_POSED = "rounding decides: the exact result changes altogether with the data's last bits"
_SPLITS = (2, 5)  # of split folds in these tiles
_SLAB = 1 << 20  # elements that are compared at once
_EXACT = ("zeros", "ties", "all equal")  # data that is equal, or far apart


def checks(source: Any, options: Options, seconds: float) -> Iterator[Check]:
    """Runs every schedule on every kind of data, for about so many seconds after compiling."""
    try:
        from ..reference import Reference

        plain = _compiled(source, options.unfused())
        exact = Reference(source, plain.signature.name)
    except Error as error:
        yield Check("results against fp64 of the unfused program", "run", UNCHECKED, "",
                    _first(error))  # fmt: skip
        return
    variants = list(_variants(source, options))
    end = time.monotonic() + seconds
    is_dynamic = any(not spec.is_static for spec in plain.signature.inputs)
    for length in _LENGTHS if is_dynamic else (0,):
        extent = f", dynamic extents of {length}" if is_dynamic else ""
        wanted = list(points.KINDS)
        if is_dynamic and length < 2:
            wanted = ["normal", "zeros", "minus infinity row"]
        while wanted:
            if time.monotonic() > end:
                for kind in wanted:
                    yield Check(f"results on data: {kind}{extent}", "run", UNCHECKED, "",
                                "no time left")  # fmt: skip
                break
            start = time.monotonic()
            yield _kinds(wanted[:1], extent, plain, exact, variants, length)
            now = time.monotonic()
            del wanted[0]
            # What takes long is done with several kinds at once, in different rows.
            rounds = max(1, int(0.8 * (end - now) / max(now - start, 1e-3)))
            if rounds < len(wanted):
                for number in range(rounds):
                    some = wanted[number::rounds]
                    yield _kinds(some, extent, plain, exact, variants, length)
                break


def _first(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _compiled(source: Any, options: Options) -> Any:
    from ..compiler import compile

    return compile(source, options=options)


def _variants(source: Any, options: Options) -> Iterator[tuple[str, Any]]:
    """The executables to compare: as compiled, resident, streamed and split, the latter also in
    odd tiles and splits. Those that come to the same are compared once."""
    made: dict[str, Any] = {}

    def compiled(schedule: str, tiles: Sequence[int] = (), splits: int = 0) -> Any:
        splits = (splits or options.splits) if schedule in ("auto", "split") else 0
        lazy = options.lazy if schedule != "resident" else 0
        wanted = dataclasses.replace(options, schedule=schedule, splits=splits, lazy=lazy)
        try:
            exe = _tiled(source, wanted, tiles) if tiles else _compiled(source, wanted)
        except Error:
            return None
        kinds = str([k.get("schedule") for k in exe.explanation.get("kernels", [])])
        if kinds in made:
            return None
        made[kinds] = exe
        return exe

    for schedule in (options.schedule, "resident", "stream", "split"):
        exe = compiled(schedule)
        if exe is not None:
            yield schedule, exe
    for schedule, splits in (("stream", (0, 0)), ("split", _SPLITS)):
        found = next((e for e in made.values() if f"'kind': '{schedule}'" in str(e.explanation)),
                     None)  # fmt: skip
        kernels = found.explanation["kernels"] if found is not None else []
        if len(kernels) != 1 or len(kernels[0]["cascades"]) != 1:
            continue
        names = [dim["name"] for dim in kernels[0]["cascades"][0]["dims"]]
        for tile, count in zip(_TILES, splits, strict=True):
            tiles = [tile if n in kernels[0]["schedule"].get("stream", []) else 0 for n in names]
            exe = compiled(schedule, tiles, count)
            if exe is not None:
                how = f"{schedule}, tiles of {tile}"
                yield f"{how}, {count} splits" if count else how, exe


def _tiled(source: Any, options: Options, tiles: Sequence[int]) -> Any:
    """A program with tiles of its own."""
    from .. import pipelines
    from ..executable import Executable
    from ..frontends.mlir import read
    from ..lowering import lower_stages

    program = read(source)
    lowered = lower_stages(program, options, pipelines.fused(options, tiles), None)
    return Executable(
        program, options, "cpu", lowered.signature, lowered.object_code(options),
        lowered.explanation,
    )  # fmt: skip


def data(signature: Signature, kinds: Sequence[str], length: int, seed: int = 1) -> list[Any]:
    """Arguments of a kind, or of several, by turns in their rows. Integers are 0 and 1, dynamic
    extents ``length``; infinities, NaN and what is huge are in the first float argument only,
    unless the kind says so."""
    rng = np.random.default_rng(seed)
    made = []
    is_first = True
    for spec in signature.inputs:
        shape = [length if n is None else n for n in spec.shape]
        if not spec.is_float:
            made.append(rng.integers(0, 2, shape).astype(numpy_dtype(spec.dtype)))
            continue
        values = np.empty(shape, numpy_dtype(spec.dtype))
        made.append(values)
        if values.size == 0:
            continue
        rows = values.reshape(-1, shape[-1]) if shape else values[None]
        for number, kind in enumerate(kinds):
            part = rows[number :: len(kinds)]
            whole = shape if len(kinds) == 1 else part.shape
            part[...] = _drawn(spec, kind, is_first, whole, rng).reshape(part.shape)
        is_first = False
    return made


def _drawn(
    spec: TensorSpec, kind: str, is_first: bool, shape: Sequence[int], rng: np.random.Generator
) -> Any:
    is_own = is_first or not ("infinit" in kind or kind in ("nan", "one huge element"))
    chosen = "both infinities" if kind == points.INFINITE else kind if is_own else "normal"
    values = points.awkward(chosen, shape, -1, rng)
    if spec.dtype == "f16":
        values = np.where(np.isfinite(values), np.clip(values, -3e4, 3e4), values)
    return values


def _kinds(
    kinds: Sequence[str], extent: str, plain: Any, exact: Any,
    variants: Sequence[tuple[str, Any]], length: int,
) -> Check:  # fmt: skip
    signature = plain.signature
    what = f"results on data: {', '.join(kinds)}{extent}"
    is_exact = all(kind in _EXACT for kind in kinds)
    with np.errstate(all="ignore"):
        arguments = data(signature, kinds, length)
        try:
            own = _results(plain, arguments)
            true = [np.asarray(r) for r in exact(*arguments)]
        except Error as error:
            return Check(what, "run", UNCHECKED, "", f"the unfused program: {_first(error)}")
        worst, names = 0.0, []
        for name, executable in variants:
            try:
                got = _results(executable, arguments)
            except Error as error:
                return Check(what, "run", FAILED, "", f"{name}: {_first(error)}")
            count = _reduced(executable.explanation, length)
            for number, spec in enumerate(signature.outputs):
                verdict = _compare(spec, signature, number, got, own, true, count, is_exact)
                if isinstance(verdict, str) and points.INFINITE in kinds and _expands(executable):
                    return Check(what, "run", UNCHECKED, "", f"{name}: {LIMIT}")
                if isinstance(verdict, str) and _is_ill_posed(exact, arguments, signature, number):
                    return Check(what, "run", UNCHECKED, "", f"{name}, out{number}: {_ILL_POSED}")
                if isinstance(verdict, str):
                    return Check(what, "run", FAILED, "", f"{name}, out{number}: {verdict}")
                worst = max(worst, verdict)
            names.append(name)
    return Check(what, "run", PASSED, "", f"{', '.join(names)}: error {worst:.2g}")


def _is_ill_posed(exact: Any, arguments: Sequence[Any], signature: Signature, number: int) -> bool:
    """Whether a result changes altogether when the data changes by a roundoff."""
    if not signature.outputs[number].is_float:
        return False
    moved = movement(exact, list(arguments), signature)[number]
    return not moved <= 1.0


def _expands(executable: Any) -> bool:
    """Whether a sum or difference that is the operand of a matrix product is added up term by
    term."""
    return any(
        expands_matrices(certificate)
        for kernel in executable.explanation.get("kernels", [])
        for cascade in kernel["cascades"]
        for certificate in [cascade.get("certificate", {}), *cascade.get("passes", [])]
    )


def _results(executable: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    results = executable(*arguments)
    return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]


def _compare_integers(
    number: int, got: Sequence[Any], own: Sequence[Any], true: Sequence[Any], is_exact: bool
) -> str:
    """What is wrong with a result of integers, or "".

    Each is that of the unfused program or of fp64. An index may be a third one if what is selected
    with it, a float result of the same shape, is equal to f32's roundoff: rounding and underflow
    make ties of what data tells apart. NaN has no place in an order: any index will do that
    selects one. is_exact: whether values are equal only where data is; then rounding decides
    nothing but where fp64 differs from the unfused program.
    """
    ours, plain, exact = (np.asarray(v[number]) for v in (got, own, true))
    wrong = (ours != plain) & (ours != exact)
    if not wrong.any():
        return ""
    for values in zip(got, own, true, strict=True):
        floats = [np.asarray(v) for v in values]
        if floats[0].dtype.kind in "iub" or floats[0].shape != wrong.shape:
            continue
        mine, *others = (f.astype(np.float64) for f in floats)
        for other in others:
            both = np.isnan(mine) & np.isnan(other)
            close = np.isclose(mine, other, rtol=4 * ROUNDOFF["f32"], atol=1e-37)
            wrong &= ~(both | (close & ((plain != exact) | (not is_exact))))
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ: at {list(at)} {ours[at]}, the "
        f"unfused program has {plain[at]}, fp64 {exact[at]}"
    )


def _compare(
    spec: TensorSpec, signature: Signature, number: int, got: list, own: list, true: list,
    count: int, is_exact: bool,
) -> float | str:  # fmt: skip
    """The error of a result, or what is wrong with it."""
    if not spec.is_float:
        return _compare_integers(number, got, own, true, is_exact) or 0.0
    flat = [np.asarray(v[number]).reshape(-1) for v in (got, own, true)]
    shape = np.shape(true[number])
    scale, errors, farthest = 0.0, [0.0, 0.0], 0
    for start in range(0, flat[0].size, _SLAB):
        ours, plain, want = (v[start : start + _SLAB].astype(np.float64) for v in flat)
        classes = [_class(v) for v in (ours, plain, want)]
        # Where the unfused program overflows and fp64 does not, either is right.
        wrong = (classes[0] != classes[1]) & (classes[0] != classes[2])
        if wrong.any():
            first = int(np.argmax(wrong))
            at = [int(i) for i in np.unravel_index(start + first, shape)]
            return (
                f"elements differ in class: at {at} {ours[first]:g}, the unfused program has "
                f"{plain[first]:g}"
            )
        finite = np.isfinite(ours) & np.isfinite(plain) & np.isfinite(want)
        if not finite.any():
            continue
        scale = max(scale, float(np.abs(want[finite]).max()))
        away = np.where(finite, np.abs(ours - want), 0)
        if float(away.max()) > errors[0]:
            farthest = start + int(np.argmax(away))
        errors[0] = max(errors[0], float(away.max()))
        errors[1] = max(errors[1], float(np.abs(plain - want)[finite].max()))
    error, own_error = (e / (scale or 1.0) for e in errors)
    allowed = max(FACTOR * own_error, ROUNDOFF[program_type(signature)] * math.sqrt(count))
    if error <= allowed:
        return error
    at = [int(i) for i in np.unravel_index(farthest, shape)]
    return (
        f"error {error:.3g} of the largest result, allowed {allowed:.3g} (the unfused program: "
        f"{own_error:.3g}): at {at} {float(flat[0][farthest]):.9g} instead of "
        f"{float(flat[2][farthest]):.9g}"
    )


def _class(values: Any) -> Any:
    return np.where(np.isnan(values), 3, np.where(np.isinf(values), np.sign(values), 0))


def _reduced(explanation: dict, length: int) -> int:
    """How many elements the longest chain of reductions of a kernel adds up."""
    longest = 1
    for kernel in explanation.get("kernels", []):
        for cascade in kernel["cascades"]:
            extents = {dim["name"]: dim["extent"] or length for dim in cascade["dims"]}
            dims = {d for stage in cascade["stages"] for d in stage["over"]}
            longest = max(longest, math.prod(max(1, extents[d]) for d in dims))
    return longest
