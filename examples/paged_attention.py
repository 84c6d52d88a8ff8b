"""One query against a cache of keys and values that is kept in pages, here and on another machine.

    python examples/paged_attention.py

The pages are never put together. The other machine sends its state: 8 maxima, 8 sums and 8 x 64
weighted sums, however long its part of the cache is.
"""

from pathlib import Path

import numpy as np
import redfuse

HEADS, WIDTH, PAGE = 8, 64, 128
exe = redfuse.compile(Path(__file__).with_suffix(".mlir"))
rng = np.random.default_rng(0)
query = rng.standard_normal((HEADS, WIDTH), dtype=np.float32)
pages = [
    [rng.standard_normal((HEADS, length, WIDTH), dtype=np.float32) for _ in range(2)]
    for length in (PAGE, PAGE, PAGE, 17)  # the last page is not full
]

# This machine has the first two pages, the other one the rest.
here = exe.init(query)
for keys, values in pages[:2]:
    here = exe.update(here, keys, values)

there = exe.init(query)
for keys, values in pages[2:]:
    there = exe.update(there, keys, values)
sent = there.to_bytes()

both = exe.merge(here, redfuse.State.from_bytes(sent))
print(both)
print(f"the other machine sent {len(sent)} bytes, state and query")

# A token more: one key, one value.
key, value = (rng.standard_normal((HEADS, 1, WIDTH), dtype=np.float32) for _ in range(2))
both = exe.update(both, key, value)
result = exe.finalize(both)

k, v = (np.concatenate([*(p[i] for p in pages), x], 1) for i, x in enumerate((key, value)))
whole = exe(query, np.ascontiguousarray(k), np.ascontiguousarray(v))
error = np.abs(result - whole).max() / np.abs(whole).max()
print(f"{both.count} keys; largest difference from one call with all of them: {error:.1e}")
assert error < 1e-5
