"""How fast this processor is, for tests that bound seconds."""

import time


def slowness() -> float:
    """How many times as long as 50 ns, 1 at least, a pass of an interpreted loop takes here: what a
    limit in seconds is multiplied by, where the processor is slow or busy."""
    least = float("inf")
    for _ in range(3):
        start, total = time.process_time(), 0
        for i in range(1_000_000):
            total += i & 7
        least = min(least, time.process_time() - start)
    return max(1.0, least / 0.05)
