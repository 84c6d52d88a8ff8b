"""Sequences of several lengths, with rows and keys shared out: lengths and tables are arguments."""

from __future__ import annotations

import numpy as np
import pytest
from length_programs import documents, packed, padded
from ranks import Ranks
from sharded_calls import check
from test_programs import cuts, normal

WORLDS = (2, 3, 4, 8)


@pytest.mark.sample(3)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("strategy", ["ring", "gather", "rows"])
def test_padded_sequences(eight: Ranks, world: int, strategy: str) -> None:
    """One of them has no keys at all; the logarithms of sums are a second result."""
    text = padded(4, 2, 19, 8, sums=True)
    data = [*normal(world, *[(4, 2, 19, 8)] * 3), np.array([19, 7, 0, 1])]
    for lengths in (None, cuts(22, 19, world)):
        check(eight, world, text, data, [2, 2, 2, None], lengths, strategy=strategy)


@pytest.mark.sample(3)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("strategy", ["ring", "gather", "rows"])
def test_sequences_in_a_row(eight: Ranks, world: int, strategy: str) -> None:
    """Borders of sequences are not those of shards, in the order of ranks and in zigzag."""
    length, places = 29, np.array([0, 5, 6, 20, 29])
    numbers = np.repeat(np.arange(4), np.diff(places))
    data = normal(world, *[(1, 2, length, 8)] * 3)
    for order in ("contiguous", "zigzag"):
        given = {"order": order, "strategy": strategy}
        text = documents(2, length, 8)
        check(eight, world, text, [*data, numbers, numbers], [2, 2, 2, 0, 0], **given)
        text = packed(2, length, 8, 4)
        check(eight, world, text, [*data, places], [2, 2, 2, None], **given)


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", [2, 8])
def test_decoding_of_padded_caches(eight: Ranks, world: int) -> None:
    """Keys shared out alone: some ranks have nothing that counts."""
    text = padded(3, 2, 17, 8)
    data = [*normal(world, *[(3, 2, 17, 8)] * 3), np.array([17, 3, 1])]
    _, said = check(eight, world, text, data, [None, 2, 2, None], cuts(23, 17, world))
    assert said["strategy"] == "states"
