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
    "split": {"schedule": "split", "splits": 3},
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
@pytest.mark.sample(3)
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


CHOSEN = {
    "select": """
func.func @main(%c: tensor<i1>, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  %e = math.exp %x : tensor<?xf32>
  %r = arith.select %b, %e, %y : tensor<?xf32>
  return %r : tensor<?xf32>
}""",
    "blocks": """
func.func @main(%c: tensor<i1>, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  cf.cond_br %b, ^first, ^second
^first:
  %e = math.exp %x : tensor<?xf32>
  return %e : tensor<?xf32>
^second:
  return %y : tensor<?xf32>
}""",
}


@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"strict": True}], ids=str)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_tensor_is_chosen_whole(name: str, options: dict) -> None:
    """What is not chosen decides nothing, its extent neither."""
    exe = redfuse.compile(CHOSEN[name], target="cpu", options={"cache": False, **options})
    for n, m in ((3, 7), (7, 3), (0, 2), (2, 0)):
        x, y = np.linspace(0, 1, n, dtype=np.float32), np.arange(m, dtype=np.float32)
        np.testing.assert_allclose(exe(np.array(True), x, y), np.exp(x), rtol=1e-6)
        np.testing.assert_array_equal(exe(np.array(False), x, y), y)
