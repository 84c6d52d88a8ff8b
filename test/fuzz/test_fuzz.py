"""Random cascades on every legal schedule, the same each time; and the fuzzer itself."""

from __future__ import annotations

import os

import numpy as np
import pytest
from draws import KINDS, draw
from evaluate import evaluate
from generate import Recorded, generate
from hypothesis import HealthCheck, given, settings
from judge import compare
from main import summary
from pool import minimise, run
from program import Program
from strategies import programs
from trial import try_program

COUNT = 120 if os.environ.get("REDFUSE_TEST_ALL") else 40


def test_programs() -> None:
    """Right, or refused with a reason; none crashes or hangs."""
    tasks = ({"id": s, "seed": s, "data": s, "plan": {"more": 3}} for s in range(COUNT))
    failures = [a for a in run(tasks, min(4, os.cpu_count() or 1)) if "kind" in a]
    assert not failures, "\n".join(summary(a) for a in failures)


@settings(max_examples=10, derandomize=True, deadline=None, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(programs())
def test_smallest_programs(program: Program) -> None:
    """What hypothesis tries first: few stages, few elements; a failure is shrunk."""
    failure = try_program(program, 0)
    assert failure is None, f"{failure}\n{program.text()}"


def test_same_seed_same_program() -> None:
    first, second = Recorded(seed=7), Recorded(seed=7)
    assert generate(first).text() == generate(second).text()
    assert generate(Recorded(first.made)).text() == generate(Recorded(seed=7)).text()
    assert generate(Recorded(seed=8)).text() != generate(Recorded(seed=7)).text()


def test_wrong_numbers_are_seen() -> None:
    want = np.array([1.0, -2.0, np.inf, np.nan])
    bound = np.array([1e-7, 1e-7, 0.0, 0.0])
    assert compare(want, want, want, bound) is None
    assert compare(want + np.array([1e-8, 0, 0, 0]), want, want, bound) is None
    assert compare(want + np.array([1e-6, 0, 0, 0]), want, want, bound).what == "value"
    # As wrong as eight times the unfused result, but no more.
    own = want + np.array([2e-7, 0, 0, 0])
    assert compare(want + np.array([1.5e-6, 0, 0, 0]), want, own, bound) is None
    assert compare(want + np.array([1.7e-6, 0, 0, 0]), want, own, bound).what == "value"
    for wrong in ([1, -2, np.inf, 0], [1, -2, -np.inf, np.nan], [np.nan, -2, np.inf, np.nan]):
        assert compare(np.array(wrong), want, want, bound).what == "class"


def test_bounds_hold_for_numpy_in_f32() -> None:
    """A softmax and a variance in f32 stay within their bounds, and these are no larger than
    they need to be."""
    program = Program({"b": 1, "i": 4, "j": 64, "k": 1, "d": 1})
    x = program.add("arg", space="ij", dtype="f32")
    top = program.reduce("max", x, "j")
    raised = program.add("exp", program.add("subf", x, top))
    total = program.reduce("add", raised, "j")
    count = program.add("extent", space="", dtype="f32", value="j")
    mean = program.add("divf", program.reduce("add", x, "j"), count)
    away = program.add("subf", x, mean)
    square = program.reduce("add", program.add("mulf", away, away), "j")
    program.results = [total.number, square.number]
    data = draw("normal", (4, 64), "f32", np.random.default_rng(1)) + np.float32(10)
    sums, squares = evaluate(program, [data], program.extents)
    low = np.exp(data - data.max(1, keepdims=True)).sum(1)
    centred = data - data.mean(1, keepdims=True)
    for (value, bound), found in ((sums, low), (squares, (centred * centred).sum(1))):
        assert (np.abs(found - value) <= bound).all()
        assert (bound <= 1e-4 * np.abs(value)).all()


def test_a_planted_error_is_minimised() -> None:
    """A program that the worker cannot build at all: the list of choices gets shorter."""
    answer = next(run([{"id": 0, "seed": 3, "data": 0}], 1))
    assert "choices" in answer
    smaller = minimise({**answer, "kind": "none", "data_seed": 0}, 1, attempts=1)
    assert smaller["choices"] == answer["choices"], "nothing fails that way"


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_their_types(kind: str) -> None:
    for dtype in ("f64", "f32", "f16", "bf16", "i64", "i32", "i8", "i1"):
        for shape in ((), (0,), (1,), (3, 0), (2, 1, 5)):
            assert draw(kind, shape, dtype, np.random.default_rng(0)).shape == shape
