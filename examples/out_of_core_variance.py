"""The variance of rows that are longer than memory, read piece by piece, with a pause on the way.

    python examples/out_of_core_variance.py

The mean is 1e6 and the standard deviation 1: the textbook formulas lose all digits in f32.
"""

import tempfile
from pathlib import Path

import numpy as np
import redfuse

ROWS, COLUMNS, PIECE = 16, 4096, 500
text = Path(__file__).with_name("variance.mlir").read_text()
exe = redfuse.compile(text.replace(f"tensor<{COLUMNS}x", f"tensor<{ROWS}x"))


def piece(start: int) -> np.ndarray:
    """Columns start.. of the data; a file, or a sensor, in earnest."""
    length = min(PIECE, COLUMNS - start)
    rng = np.random.default_rng(start)
    return (1e6 + rng.standard_normal((ROWS, length))).astype(np.float32)


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "half.npz"
    state = exe.init()
    for start in range(0, 2000, PIECE):
        state = exe.update(state, piece(start))
    state.save(file)

    state = redfuse.State.load(file)  # tomorrow
    print(state)
    while state.stop < COLUMNS:
        state = exe.update(state, piece(state.stop))

exact = np.concatenate([piece(s) for s in range(0, COLUMNS, PIECE)], 1).astype(np.float64).var(1)
error = np.abs(exe.finalize(state) / exact - 1).max()
print(f"largest relative error of {ROWS} variances: {error:.1e}")
assert error < 1e-5
