"""Results beside what they should be, and how far off they may be."""

from __future__ import annotations

import numpy as np


def wrong_places(got: np.ndarray, want: np.ndarray, off: np.ndarray) -> str:
    """Where ``got`` is more than ``off`` from ``want``; empty where nothing is."""
    wrong = ~(abs(np.asarray(got, np.float64) - want) <= off)
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"wrong at {wrong.sum()} of {wrong.size} places, first at {at}: expected {want[at]:.6g} "
        f"to {off[at]:.1g}, got {float(got[at]):.6g}"
    )
