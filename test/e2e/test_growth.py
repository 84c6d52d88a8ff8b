"""Long programs compile in a time that grows with their length, cut where a kernel ends."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import redfuse
from growth import measure
from long_programs import KINDS, REFUSED_ON_GPUS
from processor import slowness
from redfuse.reference import Reference

# Of processor time, for a hundred operations.
LIMIT = 8.0
TARGETS = ("cpu", "cuda:sm_90a")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(4)
def test_a_hundred_operations_compile_in_seconds(kind: str, target: str) -> None:
    found = measure(kind, 100, target)
    if target != "cpu" and kind in REFUSED_ON_GPUS:
        assert REFUSED_ON_GPUS[kind] in found.error
        return
    assert not found.error
    assert found.seconds < LIMIT * slowness()


def test_loops_that_launch_are_not_unrolled() -> None:
    """A launch costs more than a jump, and LLVM compares what launches share by pairs: as many calls
    for seven rounds as for three."""
    calls = set()
    for rounds in (3, 7):
        text = KINDS["loops"](30).replace("constant 8 : index", f"constant {rounds} : index")
        calls.add(redfuse.compile(text, options={"cache": False}).asm.count("\tcall"))
    assert len(calls) == 1


def test_what_is_cut_is_explained() -> None:
    found = measure("norms", 100)
    assert found.kernels > 1
    assert found.refused == {"size": found.refused["size"]}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(3)
def test_what_is_cut_is_right(kind: str) -> None:
    """Fewer operations than above, and still several kernels for what reduces."""
    text = KINDS[kind](70)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        executable = redfuse.compile(text, options={"opt_level": 0, "cache": False})
    rng = np.random.default_rng(len(kind))
    data = [
        rng.standard_normal(spec.shape, np.float32) / (8 if kind == "products" else 1)
        for spec in executable.signature.inputs
    ]
    got, want = executable(*data), Reference(text, opt_level=0)(*data)
    for one, other in zip(got if isinstance(got, tuple) else [got], want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())
