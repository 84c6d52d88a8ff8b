"""A rank that raises, disagrees, dies or hangs is an error on all others that names it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from failing import call_of
from ranks import Ranks, ranks_of
from redfuse.bench import programs

TEXT = programs.variance(5, 12)
X = np.random.default_rng(0).standard_normal((5, 12)).astype(np.float32)


def shards(world: int, change: Callable[[int, dict[str, Any]], None]) -> Callable[[int], dict]:
    """Keywords of each rank, as ``change`` makes of what all should have."""

    def arguments(rank: int) -> dict[str, Any]:
        mine = np.ascontiguousarray(np.array_split(X, world, 1)[rank])
        found = {"text": TEXT, "axes": [1], "shards": [mine], "merge": "gather"}
        change(rank, found)
        return found

    return arguments


def wrong_shape(rank: int, found: dict[str, Any]) -> None:
    if rank == 1:
        found["shards"] = [np.zeros((4, 4), np.float32)]


def wrong_dtype(rank: int, found: dict[str, Any]) -> None:
    if rank == 1:
        found["shards"] = [found["shards"][0].astype(np.float64)]


def other_program(rank: int, found: dict[str, Any]) -> None:
    if rank == 1:
        found["text"] = programs.softmax(5, 12)


def other_options(rank: int, found: dict[str, Any]) -> None:
    if rank == 1:
        found["merge"] = "tree"


def too_much(rank: int, found: dict[str, Any]) -> None:
    if rank == 1:
        found["shards"] = [np.zeros((5, 6), np.float32)]


@pytest.mark.parametrize(
    ("change", "of_rank", "of_others"),
    [
        (wrong_shape, "ArgumentError", "rank 2 failed: ArgumentError: argument 0 of main"),
        (wrong_dtype, "ArgumentError", "rank 2 failed: .*expected dtype float32, got float64"),
        (other_program, "RankError", "ranks disagree about the program.*rank 2 has"),
        (other_options, "RankError", "ranks disagree about the program.*rank 2 has"),
        (too_much, "RankError", "4, 6, 4 elements on ranks 0 to 2, together 14; expected 12"),
    ],
)
def test_ranks_that_disagree(eight: Ranks, change: Callable, of_rank: str, of_others: str) -> None:
    """World 3 has ranks 1, 2 and 3 of the process group; messages name those."""
    found = eight.errors(3, call_of, shards(3, change))
    assert all(error is not None for error in found)
    assert found[1] is not None and found[1][0] == of_rank
    for error in (found[0], found[2]):
        assert error is not None
        assert error[0] == "RankError" and re.search(of_others, error[1]), error


def one_does(act: str) -> Callable[[int], dict]:
    def change(rank: int, found: dict[str, Any]) -> None:
        if rank == 2:
            found["act"] = act

    return shards(4, change)


FAILURES = {
    "raise in": ("rank 2 failed: ValueError: no disk", 4.0),
    "die in": ("rank 2 did not answer", 12.0),
    "die": ("rank 2 did not answer", 12.0),
    "sleep 30": ("rank 2 did not answer.*time-out of 4 s", 12.0),
}


@pytest.fixture(scope="module")
def failing() -> Iterator[dict[str, Ranks]]:
    """Processes for each failure, which has happened: they wait for each other most of the time, so
    all at once."""
    with contextlib.ExitStack() as stack:
        found = {}
        for act in FAILURES:
            found[act] = stack.enter_context(ranks_of(4, [[0, 1, 2, 3]], timeout=4.0))
        for act, four in found.items():
            four.start(4, call_of, one_does(act))
        yield found


@pytest.mark.parametrize("act", FAILURES)
def test_a_rank_that_fails(failing: dict[str, Ranks], act: str) -> None:
    of_others, within = FAILURES[act]
    answers = [failing[act].answer(4, rank, 40) for rank in (0, 1, 3)]
    for verdict, said in answers:
        assert verdict == "error" and said[0] == "RankError", said
        assert re.search(of_others, said[1]), said[1]
        seconds = float(re.search(r"after ([0-9.]+) s", said[1])[1])  # type: ignore[index]
        assert seconds < within
        assert "has failed before" in said[1]
