"""A call never reads or writes outside its arrays: programs of computed places, in every way to
compile them, on arrays that end where memory does."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import redfuse
from access_programs import CASES, Case
from guarded import call

NAMES = [case.name for case in CASES]
OF = dict(zip(NAMES, CASES, strict=True))
WAYS = {
    "auto": {},
    "resident": {"schedule": "resident"},
    "stream": {"schedule": "stream"},
    "split": {"schedule": "split", "parts": 3},
    "unfused": {"fuse": False},
}


@functools.cache
def made(name: str, way: str) -> redfuse.Executable:
    return redfuse.compile(OF[name].text, options={"cache": False, **WAYS[way]})


def results_of(case: Case, number: int) -> list[np.ndarray]:
    results = case.good[number][1]
    return list(results) if isinstance(results, tuple) else [np.asarray(results)]


def equal(got: object, want: list[np.ndarray]) -> None:
    for one, other in zip(got if isinstance(got, tuple) else [got], want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.sample(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_calls_inside_are_right(name: str, way: str) -> None:
    executable = made(name, way)
    for number, (arguments, _) in enumerate(OF[name].good):
        want = results_of(OF[name], number)
        dtypes = [
            np.asarray(w).astype(d, copy=False)
            for w, d in zip(
                want, (np.asarray(r).dtype for r in as_list(executable(*arguments))), strict=True
            )
        ]
        equal(call(executable, arguments, dtypes), want)


def as_list(results: object) -> list:
    return list(results) if isinstance(results, tuple) else [results]


@pytest.mark.sample(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in NAMES if OF[name].bad])
def test_calls_outside_are_errors(name: str, way: str) -> None:
    executable = made(name, way)
    case = OF[name]
    results = results_of(case, 0)
    want = executable(*case.good[0][0])
    for arguments in case.bad:
        with pytest.raises(redfuse.ExecutionError, match=case.match):
            call(executable, arguments)
    # Nothing is left of the failures.
    equal(executable(*case.good[0][0]), as_list(want))
    equal(want, results)


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_is_checked_too(name: str) -> None:
    from redfuse.reference import Reference

    case = OF[name]
    reference = Reference(case.text)
    for number, (arguments, _) in enumerate(case.good):
        equal(tuple(reference(*arguments)), results_of(case, number))
    for arguments in case.bad:
        with pytest.raises(redfuse.ExecutionError, match=case.match):
            reference(*arguments)


def test_the_error_names_the_place() -> None:
    executable = made("extract", "auto")
    with pytest.raises(
        redfuse.ExecutionError, match=r"<text>:4:\d+: tensor.extract: index 0 is outside the tensor"
    ):
        executable(np.zeros(40, np.float32), 40)
