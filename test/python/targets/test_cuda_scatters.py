"""Updates at places that are data, all at once: the last of a place replaces, integers are combined.
By the simulator, whose threads and blocks come in another order each time."""

from __future__ import annotations

import re

import numpy as np
import pytest
import redfuse
from drivers import Typed, aligned_copy, cuda
from drivers.simulated import Simulation, execute


def program(count: int, shape: tuple[int, int], dims: str, kind: str, region: str) -> str:
    """Updates of elements where ``dims`` are two, else of rows."""
    places = dims.count(",") + 1
    updates = f"tensor<{count}x{kind}>" if places == 2 else f"tensor<{count}x{shape[1]}x{kind}>"
    positions, output = f"tensor<{count}x{places}xi64>", f"tensor<{shape[0]}x{shape[1]}x{kind}>"
    return f"""
func.func @main(%u: {updates}, %i: {positions}, %o: {output}) -> {output} {{
  %s = tm_tensor.scatter {{dimension_map = array<i64: {dims}>}} unique_indices(false)
      ins(%u, %i : {updates}, {positions}) outs(%o : {output}) {{
  ^bb0(%new: {kind}, %old: {kind}):
    {region}
  }} -> {output}
  return %s : {output}
}}"""


WRITE = "tm_tensor.yield %new : f32"
SUM = "%s = arith.addi %old, %new : i64\n    tm_tensor.yield %s : i64"


def run(text: str, chip: str, *arrays: np.ndarray, seed: int = 0) -> np.ndarray:
    exe = redfuse.compile(text, target=f"cuda:{chip}", options={"cache": False})
    (got,), _ = execute(exe, list(arrays), [arrays[-1]], seed)
    return got


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("count", [9, 37, 700])
@pytest.mark.parametrize("dims", ["0", "0, 1"])
@pytest.mark.sample(3)
def test_the_last_of_a_place_stays(chip: str, count: int, dims: str) -> None:
    rng = np.random.default_rng([count, len(dims)])
    shape = (53, 7)
    places = np.stack([rng.integers(0, n, count) for n in shape[: dims.count(",") + 1]], -1)
    updates = rng.normal(size=(count, 7) if dims == "0" else count).astype(np.float32)
    start = rng.normal(size=shape).astype(np.float32)
    expected = start.copy()
    for place, update in zip(places, updates, strict=True):
        expected[tuple(place)] = update
    text = program(count, shape, dims, "f32", WRITE)
    for seed in range(2):
        got = run(text, chip, updates, places, start, seed=seed)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("count, places", [(300, 53), (2000, 11)])
def test_integers_are_added_up(count: int, places: int) -> None:
    """Few updates a place by atomics, many by a sort."""
    rng = np.random.default_rng(count)
    at = rng.integers(0, places, (count, 1))
    updates = rng.integers(-(1 << 40), 1 << 40, (count, 3))
    start = rng.integers(-9, 9, (places, 3))
    expected = start.copy()
    np.add.at(expected, at[:, 0], updates)
    got = run(program(count, (places, 3), "0", "i64", SUM), "sm_90a", updates, at, start)
    np.testing.assert_array_equal(got, expected)


def test_a_place_outside_is_an_error() -> None:
    """It is told, and writes nowhere; the others are written."""
    text = program(40, (53, 7), "0", "f32", WRITE)
    exe = redfuse.compile(text, target="cuda:sm_90a", options={"cache": False})
    (messages,) = re.findall(r"redfuse_messages\[\d+\] = \{(.*?)\}", exe.asm)
    known = bytes(map(int, messages.split(",")))
    variables = {
        name: (cuda.fake_global(name.encode(), data, len(data)), len(data))
        for name, data in (("redfuse_report", bytes(8)), ("redfuse_messages", known))
    }
    places = aligned_copy(np.arange(40)[:, None])
    places[17], places[18] = 53, -1
    updates, start = (
        aligned_copy(np.ones((40, 7), np.float32)),
        aligned_copy(np.zeros((53, 7), np.float32)),
    )
    out = aligned_copy(start)
    expected = np.repeat((np.arange(53) < 40).astype(np.float32)[:, None], 7, 1)
    expected[17:19] = 0
    try:
        with Simulation(exe, variables=variables) as simulation:
            simulation.arrays = [updates, places, start, out]
            exe(Typed(updates), Typed(places), Typed(start), out=Typed(out))
        np.testing.assert_array_equal(out, expected)
        with pytest.raises(redfuse.ExecutionError, match="tm_tensor.scatter: a position outside"):
            exe.check()
    finally:
        cuda.fake_no_globals()
