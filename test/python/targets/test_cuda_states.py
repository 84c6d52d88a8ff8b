"""States of parts of a program on an NVIDIA GPU: kernels by the simulator, against fp64."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drivers import aligned_copy
from drivers.simulated import Simulation
from redfuse import pipelines
from redfuse.bench import programs
from redfuse.frontends import mlir
from redfuse.functions import Functions
from redfuse.lowering import lower_stages
from redfuse.options import Options
from redfuse.parts import Part
from redfuse.runtime.specs import numpy_dtype
from redfuse.state import StateProgram, state_end

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(2)
LENGTH, PIECE, WIDTH = 384, 128, 64


class Runner:
    """Calls the functions of a state on the simulator."""

    def __init__(self, program: StateProgram | Functions):
        self.functions = program if isinstance(program, Functions) else program.functions
        shown = SimpleNamespace(target=program.target, asm=self.functions.asm)
        self.simulation = Simulation(shown)  # type: ignore[arg-type]
        self.driver = self.simulation.driver

    def on_device(self, array: np.ndarray) -> Any:
        held = aligned_copy(array)
        self.simulation.arrays.append(held)
        return self.driver.typed(held, 0), held

    def __call__(self, name: str, arguments: list[Any]) -> list[np.ndarray]:
        given = [self.on_device(a)[0] if isinstance(a, np.ndarray) else a for a in arguments]
        out = []
        for spec in self.functions.signatures[name].outputs:
            held = np.zeros(spec.shape, numpy_dtype(spec.dtype))
            held.reshape(-1).view(np.uint8)[...] = 0xFF
            out.append(self.on_device(held))
        with self.simulation:
            self.functions(name, given, [tensor for tensor, _ in out], self.driver.stream)
        return [held for _, held in out]


def exact(q: np.ndarray, k: np.ndarray, v: np.ndarray, start: int, window: int) -> np.ndarray:
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    i, j = start + np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
    s[..., (j > i) | (i - j >= window)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("window", [LENGTH, 100])
def test_a_block_of_rows_meets_blocks_of_the_stream_in_any_order(window: int) -> None:
    """Rows in the middle: a block before them is seen whole, their own in part, one behind not."""
    kind = "causal" if window == LENGTH else "causal+window"
    text = programs.attention(1, 1, LENGTH, LENGTH, WIDTH, dtype="bf16", kind=kind, window=window)
    program = StateProgram(
        mlir.read(text), Options(along=(1, 2)), "cuda:sm_90a", Part(((0, 2),), (PIECE,), PIECE)
    )
    assert "wgmma" in program.functions.asm
    run = Runner(program)
    rng = np.random.default_rng(window)
    q, k, v = (
        rng.standard_normal((1, 1, LENGTH, WIDTH)).astype(ml_dtypes.bfloat16) for _ in range(3)
    )
    start = PIECE
    rows = np.ascontiguousarray(q[:, :, start : start + PIECE])
    place = [start, LENGTH]
    state = run("__init", [rows, *place])
    for offset in (2 * PIECE, PIECE, 0):
        chunk = [np.ascontiguousarray(x[:, :, offset : offset + PIECE]) for x in (k, v)]
        state = run("__update", [rows, *place, *chunk, *state, offset])
    (got,) = run("__finalize", [rows, *place, *state, LENGTH, 0])
    want = exact(rows, k, v, start, window)
    assert np.abs(got.astype(np.float64) - want).max() <= 1e-2 * np.abs(want).max()


@pytest.mark.parametrize("kind", ["causal", "none"])
def test_the_ends_of_a_chain_of_blocks(kind: str) -> None:
    """The first block has no state before it, and the last one's is stored nowhere."""
    text = programs.attention(1, 1, LENGTH, LENGTH, WIDTH, dtype="bf16", kind=kind)
    options, part = Options(along=(1, 2)), Part(((0, 2),), (PIECE,), PIECE)
    ends = {
        which: state_end(mlir.read(text), options, "cuda:sm_90a", part, which)
        for which in ("first", "last")
    }
    assert all(end is not None and "wgmma" in end.asm for end in ends.values())
    rng = np.random.default_rng(3)
    q, k, v = (
        rng.standard_normal((1, 1, LENGTH, WIDTH)).astype(ml_dtypes.bfloat16) for _ in range(3)
    )
    start = LENGTH - PIECE if kind == "none" else PIECE
    rows = np.ascontiguousarray(q[:, :, start : start + PIECE])
    place = [start, LENGTH]

    def chunk(at: int) -> list[np.ndarray]:
        return [np.ascontiguousarray(x[:, :, at : at + PIECE]) for x in (k, v)]

    state = Runner(ends["first"])("__first", [rows, *place, *chunk(PIECE), PIECE])
    if kind == "none":
        whole = StateProgram(mlir.read(text), options, "cuda:sm_90a", part)
        at = 2 * PIECE
        state = Runner(whole)("__update", [rows, *place, *chunk(at), *state, at])
    last = Runner(ends["last"])
    (got,) = last("__last", [rows, *place, *chunk(0), *state, LENGTH, 0])
    want = exact(rows, k, v, start if kind == "causal" else LENGTH, 2 * LENGTH)
    assert np.abs(got.astype(np.float64) - want).max() <= 1e-2 * np.abs(want).max()


def test_a_state_without_other_arguments() -> None:
    """Nothing tells the GPU of its identities but where they are to be."""
    text = programs.variance(5, 40)
    program = StateProgram(mlir.read(text), Options(along=(0, 1)), "cuda:sm_90a", Part(chunk=20))
    run = Runner(program)
    x = (np.random.default_rng(0).standard_normal((5, 40)) + 10).astype(np.float32)
    halves = [np.ascontiguousarray(x[:, at : at + 20]) for at in (0, 20)]
    nothing = run("__init", [])
    left, right = (run("__update", [half, *nothing, 0]) for half in halves)
    (got,) = run("__finalize", [*run("__merge", [*left, *right]), 40, 0])
    np.testing.assert_allclose(got, x.astype(np.float64).var(1), rtol=1e-5)


def test_pivots_lag_in_states_that_only_divide_by_their_sums() -> None:
    """Rows whose maxima grow from tile to tile: states have pivots, the results do not show them."""
    length, piece = 1024, 512
    text = programs.attention(1, 1, length, length, WIDTH, dtype="bf16")
    options, part = Options(along=(1, 2)), Part(((0, 2),), (PIECE,), piece)
    stages = pipelines.state(options, "cuda:sm_90a", part)
    plan = str(lower_stages(mlir.read(text), options, stages, "plan", "sm_90a").module)
    assert "redfuse.lazy" in plan
    largest = programs.attention(1, 1, length, length, WIDTH, dtype="bf16", sums=True)
    stages = pipelines.state(options, "cuda:sm_90a", part)
    assert "redfuse.lazy" in str(
        lower_stages(mlir.read(largest), options, stages, "plan", "sm_90a").module
    )
    run = Runner(StateProgram(mlir.read(text), options, "cuda:sm_90a", part))
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 1, length, WIDTH)) for _ in range(3))
    k *= np.linspace(0.5, 3, length)[:, None]
    q, k, v = (x.astype(ml_dtypes.bfloat16) for x in (q, k, v))
    rows = np.ascontiguousarray(q[:, :, :PIECE])
    place = [0, length]
    state = run("__init", [rows, *place])
    for offset in (0, piece):
        chunk = [np.ascontiguousarray(x[:, :, offset : offset + piece]) for x in (k, v)]
        state = run("__update", [rows, *place, *chunk, *state, offset])
    (got,) = run("__finalize", [rows, *place, *state, length, 0])
    q64, k64, v64 = (x.astype(np.float64) for x in (rows, k, v))
    s = q64 @ k64.swapaxes(-1, -2) / np.sqrt(WIDTH)
    p = np.exp(s - s.max(-1, keepdims=True))
    want = p / p.sum(-1, keepdims=True) @ v64
    assert np.abs(got.astype(np.float64) - want).max() <= 1e-2 * np.abs(want).max()
