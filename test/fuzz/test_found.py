"""Programs that were wrong once, or that nothing else here is like: ``found/*.mlir``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from draws import KINDS, draw
from judge import compare, of_the_whole
from redfuse.reference import Reference
from ways import Parsed, build, variants

PROGRAMS = sorted((Path(__file__).parent / "found").glob("*.mlir"))
OPEN = (5, 0, 1, 17)  # extents for dims that a program leaves open


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_right_on_every_schedule(path: Path) -> None:
    text = path.read_text()
    source, made = Parsed(text), {}
    executables = {v.name: build(source, v, made).executable for v in variants(opt_level=0)}
    unfused = executables.pop("unfused")
    reference = Reference(text)
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
            for name, executable in executables.items():
                for at, got in enumerate(results(executable(*data))):
                    if got.dtype.kind != "f":
                        found = None if np.array_equal(got, own[at]) or kind == "nan" else str(got)
                    else:
                        found = compare(got, want[at], own[at], of_the_whole(want[at], "f32", 64))
                    if found:
                        wrong.append(f"{kind}, {name}, result {at}: {found}")
    assert not wrong, "\n".join(wrong)


def results(given: object) -> list[np.ndarray]:
    return list(given) if isinstance(given, tuple) else [given]
