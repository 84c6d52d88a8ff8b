"""Programs that were wrong once, or that nothing else here is like: ``found/*.mlir``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from draws import KINDS, draw
from judge import compare, of_the_whole
from pieces import Pieces
from redfuse.errors import UnsupportedError
from redfuse.reference import Reference
from redfuse.state import StateProgram
from ways import Parsed, build, options, variants

PROGRAMS = sorted((Path(__file__).parent / "found").glob("*.mlir"))
OPEN = (5, 0, 1, 17)  # extents for dims that a program leaves open


@pytest.mark.sample(3)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_right_on_every_schedule(path: Path) -> None:
    text = path.read_text()
    source, made = Parsed(text), {}
    executables = {v.name: build(source, v, made).executable for v in variants(opt_level=0)}
    unfused = executables.pop("unfused")
    try:
        states = StateProgram(source, options(0))
    except UnsupportedError:
        states = None
    reference = Reference(text, opt_level=0)
    inputs = unfused.signature.inputs
    wrong = []
    with np.errstate(all="ignore"):
        for number, kind in enumerate(KINDS):
            rng = np.random.default_rng(number)
            extent = OPEN[number % len(OPEN)]
            data = []
            for at, spec in enumerate(inputs):
                shape = tuple(extent if n is None else n for n in spec.shape)
                data.append(
                    draw(kind if at == number % len(inputs) else "normal", shape, spec.dtype, rng)
                )
            want, own = reference(*data), results(unfused(*data))
            found = [(name, results(exe(*data))) for name, exe in executables.items()]
            for name, values in [*found, *from_states(states, data, rng)]:
                for at, got in enumerate(values):
                    if got.dtype.kind != "f":
                        told = None if np.array_equal(got, own[at]) or kind == "nan" else str(got)
                    else:
                        told = compare(got, want[at], own[at], of_the_whole(want[at], "f32", 64))
                    if told:
                        wrong.append(f"{kind}, {name}, result {at}: {told}")
    assert not wrong, "\n".join(wrong)


def from_states(
    states: StateProgram | None, data: list[np.ndarray], rng: np.random.Generator
) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Results from chunks, if the program can be held as a state, each with its name."""
    pieces = states and Pieces(states, data)
    if pieces and pieces.possible:
        yield from ((f"state: {name}", found) for name, found in pieces.cuts(rng))


def results(given: object) -> list[np.ndarray]:
    return list(given) if isinstance(given, tuple) else [given]
