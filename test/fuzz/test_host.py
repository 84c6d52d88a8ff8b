"""Random programs of host operations against their interpretation; and the interpreter itself."""

from __future__ import annotations

import os

import pytest
from generate import Recorded
from host_generate import generate_host
from host_program import Op, Program, Region, Tensor, UnknownError, Value
from main import HOST_WORKER, summary
from pool import run

COUNT = 120 if os.environ.get("REDFUSE_TEST_ALL") else 40


def test_host_programs() -> None:
    """Right, stopped where an access is invalid, or refused by name; none crashes or hangs."""
    tasks = ({"id": s, "seed": s, "data": s} for s in range(COUNT))
    answers = run(tasks, min(4, os.cpu_count() or 1), HOST_WORKER)
    failures = [a for a in answers if "kind" in a]
    assert not failures, "\n".join(summary(a) for a in failures)


def test_same_seed_same_program() -> None:
    first = Recorded(seed=7)
    text = generate_host(first)[0].text()
    assert text == generate_host(Recorded(first.made))[0].text()
    assert text != generate_host(Recorded(seed=8))[0].text()


def test_a_loop_of_nothing_is_not_interpreted_for_ever() -> None:
    """2^40 rounds: the compiler deletes them, the interpreter cannot."""
    high, at = Value("high", "index"), Value("at", "index")
    low, step = Value("low", "index"), Value("step", "index")
    kind = Tensor((1,), "i32")
    start, carried, result = Value("start", kind), Value("carried", kind), Value("result", kind)
    program = Program()
    nothing = Region([at, carried], [], [carried])
    program.body = Region(
        [low, high, step, start],
        [Op("for", [low, high, step, start], [result], regions=[nothing])],
        [result],
    )
    assert program.run([0, 4, 1, 5]).results == [5]
    with pytest.raises(UnknownError):
        program.run([0, 1 << 40, 1, 5])
