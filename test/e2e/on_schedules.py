"""A program on every schedule, compared with fp64 of itself on awkward data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import redfuse
from draws import KINDS, draw
from judge import compare, of_the_whole
from redfuse.frontends.mlir import Source
from redfuse.lowering import lower
from redfuse.options import Options
from redfuse.reference import Reference

SCHEDULES = ("auto", "resident", "stream")


@cache
def compiled(text: str, **options: object) -> redfuse.Executable:
    """A program, quickly compiled; a fusing stage that fails is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return redfuse.compile(text, options=Options(opt_level=0, cache=False, **options))


@cache
def explained(text: str, **options: object) -> dict:
    """The explanation of a program, without code for it."""
    return lower(Source(text), Options(**options), stop_after="outline").explanation


def random_data(text: str, kind: str, seed: int, limit: int = 0) -> list[np.ndarray]:
    """Inputs: the first is of a kind, the others normal; i64 below ``limit``, if there is one."""
    rng = np.random.default_rng(seed)
    made = []
    for number, spec in enumerate(compiled(text, fuse=False).signature.inputs):
        if limit and spec.dtype == "i64":
            made.append(rng.integers(0, limit, spec.shape))
        else:
            made.append(draw(kind if number == 0 else "normal", spec.shape, spec.dtype, rng))
    return made


def disagreements(
    text: str, data_of: Callable[[str], list[np.ndarray]], terms: int, dtype: str = "f32",
    kinds: Sequence[str] = KINDS,
) -> list[str]:  # fmt: skip
    """What is wrong, a line each. terms: in the longest sum; dtype: the coarsest type."""
    reference = Reference(text, opt_level=0)
    wrong = []
    with np.errstate(all="ignore"):
        for kind in kinds:
            data = data_of(kind)
            want, own = reference(*data), results(compiled(text, fuse=False)(*data))
            for schedule in SCHEDULES:
                found = results(compiled(text, schedule=schedule)(*data))
                for number, got in enumerate(found):
                    if problem := _problem(got, want[number], own, number, terms, dtype):
                        wrong.append(f"{kind}, {schedule}, result {number}: {problem}")
    return wrong


def _problem(
    got: np.ndarray, want: np.ndarray, own: list[np.ndarray], number: int, terms: int, dtype: str
) -> str:
    if got.dtype.kind in "iub":
        # The indices of values that are no numbers are nobody's; of values that rounding has made
        # equal any may be listed, each once.
        told = np.ones(got.shape, bool)
        for values in own:
            if values.shape == got.shape and values.dtype.kind == "f":
                told = ~np.isnan(values) & ~_has_twin(values)
                if values.ndim > 1:
                    rows = np.sort(got[~np.isnan(values).any(axis=-1)], axis=-1)
                    if (np.diff(rows, axis=-1) == 0).any():
                        return f"an index twice: {got.ravel()[:8]}"
        same = np.array_equal(got[told], own[number][told])
        return "" if same else f"got {got.ravel()[:8]}, unfused {own[number].ravel()[:8]}"
    wrong = compare(got, want, own[number], of_the_whole(want, dtype, terms))
    return str(wrong) if wrong else ""


def _has_twin(values: np.ndarray) -> np.ndarray:
    """Where a list of best values holds another that is the same to rounding, or may be followed by
    one: weights that underflow are all 0."""
    twins = np.zeros(values.shape, bool)
    if values.ndim > 1 and values.shape[-1] > 1:
        near = np.abs(np.diff(values, axis=-1)) <= 1e-6 * np.abs(values[..., 1:])
        twins[..., 1:] |= near
        twins[..., :-1] |= near
        twins |= values == 0
    return twins


def results(given: object) -> list[np.ndarray]:
    """As a list."""
    return list(given) if isinstance(given, tuple) else [given]
