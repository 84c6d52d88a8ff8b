"""Steps of an unrolled recurrent network: kernels that differ by the position that they read."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from redfuse.options import Options

STEPS, ROWS, INPUTS, HIDDEN = 40, 8, 61, 48


def _program() -> str:
    """h = tanh(x[t] @ w + h @ v), all steps written out; every h."""
    wide, whole = f"{ROWS}x{INPUTS}xf32", f"{STEPS}x{ROWS}x{INPUTS}xf32"
    state = f"tensor<{ROWS}x{HIDDEN}xf32>"
    w, v = f"tensor<{INPUTS}x{HIDDEN}xf32>", f"tensor<{HIDDEN}x{HIDDEN}xf32>"
    all_states = ", ".join([state] * STEPS)
    lines = [
        f"func.func @main(%x: tensor<{whole}>, %w: {w}, %v: {v}, %h0: {state}) -> ({all_states}) {{",
        "  %zero = arith.constant 0.0 : f32",
        f"  %new = tensor.empty() : {state}",
        f"  %none = linalg.fill ins(%zero : f32) outs(%new : {state}) -> {state}",
    ]
    for t in range(STEPS):
        lines += [
            f"  %x{t} = tensor.extract_slice %x[{t}, 0, 0] [1, {ROWS}, {INPUTS}] [1, 1, 1] : "
            f"tensor<{whole}> to tensor<{wide}>",
            f"  %p{t} = linalg.matmul ins(%x{t}, %w : tensor<{wide}>, {w}) "
            f"outs(%none : {state}) -> {state}",
            f"  %q{t} = linalg.matmul ins(%h{t}, %v : {state}, {v}) outs(%p{t} : {state}) -> {state}",
            f"  %h{t + 1} = linalg.tanh ins(%q{t} : {state}) outs(%new : {state}) -> {state}",
        ]
    results = ", ".join(f"%h{t + 1}" for t in range(STEPS))
    return "\n".join([*lines, f"  return {results} : {all_states}", "}"])


@pytest.mark.sample(3)
@pytest.mark.parametrize("options", [{}, {"schedule": "stream"}, {"threads": 1}])
def test_steps_of_a_recurrent_network(options: dict) -> None:
    exe = redfuse.compile(_program(), target="cpu", options=Options(cache=False, **options))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.normal(0, 1, (STEPS, ROWS, INPUTS)).astype(np.float32)
        h = rng.normal(0, 1, (ROWS, HIDDEN)).astype(np.float32)
        w, v = (rng.normal(0, 0.07, (n, HIDDEN)).astype(np.float32) for n in (INPUTS, HIDDEN))
        v /= np.linalg.norm(v, 2)
        state, wanted = h.astype(np.float64), []
        for t in range(STEPS):
            state = np.tanh(x[t].astype(np.float64) @ w + state @ v.astype(np.float64))
            wanted.append(state)
        # Each step rounds sums of so many products, and tanh. What earlier ones made wrong no
        # step makes larger: v's norm is 1, and tanh's slope at most that.
        parts = np.abs(x) @ np.abs(w) + max(1, np.abs(h).max()) * np.abs(v).sum(0)
        step = (INPUTS + HIDDEN + 4) * np.finfo(np.float32).eps / 2 * parts.max()
        bound = STEPS * np.sqrt(HIDDEN) * step
        np.testing.assert_allclose(np.stack(exe(x, w, v, h)), wanted, rtol=0, atol=bound)
