"""Masks of positions, which leave out whole tiles: only the others are walked on a CPU."""

from __future__ import annotations

import math

import numpy as np
import pytest
import redfuse
from redfuse.bench import programs

# Queries, keys: lengths that are no multiples of a tile, more queries than keys, and fewer.
SIZES = [(300, 300), (257, 700), (1000, 513), (70, 1025), (2048, 2048)]


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, kind: str, window: int) -> np.ndarray:
    """In f64; rows that nothing is left of are 0."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
    ahead = np.arange(k.shape[2])[None] - np.arange(q.shape[2])[:, None]
    ahead -= k.shape[2] - q.shape[2]
    if "causal" in kind:
        scores = np.where(ahead > 0, -np.inf, scores)
    if "window" in kind:
        scores = np.where(ahead <= -window, -np.inf, scores)
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return np.nan_to_num(e / e.sum(-1, keepdims=True)) @ v


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", ("causal", "causal+window", "window"))
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("strict", (False, True))
def test_attention(size: tuple[int, int], kind: str, strict: bool) -> None:
    rows, keys = size
    rng = np.random.default_rng(rows)
    q, k, v = (rng.normal(size=(1, 2, n, 32)).astype(np.float32) for n in (rows, keys, keys))
    text = programs.attention(1, 2, rows, keys, 32, kind=kind, window=90)
    exe = redfuse.compile(text, options={"strict": strict})
    got = np.nan_to_num(exe(q, k, v))
    want = attention(q, k, v, kind, 90)
    # Of weights that add up to 1, with sums of `keys` and of 32 products.
    bound = (keys + 32) * 2.0**-23 * np.abs(v).max()
    assert np.abs(got - want).max() <= bound


def test_tiles_that_are_left_out_are_not_read() -> None:
    text = programs.attention(1, 1, 512, 512, 32, kind="causal")
    exe = redfuse.compile(text)
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 1, 512, 32)).astype(np.float32) for _ in range(3))
    want = exe(q, k, v)
    k[:, :, 448:], v[:, :, 448:] = np.nan, np.nan
    # No row of the first tiles has to do with the last keys.
    np.testing.assert_array_equal(exe(q, k, v)[:, :, :384], want[:, :, :384])
