"""Rows and the streamed dim both shared out: attention over long sequences."""

from __future__ import annotations

import numpy as np
import pytest
from ranks import Ranks
from redfuse.bench import programs
from redfuse.distributed.layout import Layout
from sharded_calls import call, check
from test_programs import cuts, normal

WORLDS = (2, 3, 4, 8)
STRATEGIES = ("ring", "gather", "rows", "heads")


def qkv(
    seed: int, heads: int, kv_heads: int, length: int, keys: int | None = None
) -> list[np.ndarray]:
    keys = keys or length
    return normal(seed, (1, heads, length, 8), (1, kv_heads, keys, 8), (1, kv_heads, keys, 8))


@pytest.mark.sample(5)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_full_and_causal(eight: Ranks, world: int, strategy: str) -> None:
    heads = 8 if world in (2, 4, 8) else 3
    for kind in ("none", "causal"):
        text = programs.attention(1, heads, 48, 48, 8, kind=kind)
        check(eight, world, text, qkv(1, heads, heads, 48), [2, 2, 2], strategy=strategy)


@pytest.mark.sample(5)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("strategy", ["ring", "gather", "rows"])
def test_zigzag_order(eight: Ranks, world: int, strategy: str) -> None:
    text = programs.attention(1, 2, 53, 53, 8, kind="causal", kv_heads=1)
    check(eight, world, text, qkv(2, 2, 1, 53), [2, 2, 2], order="zigzag", strategy=strategy)


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", [2, 3])
def test_code_for_each_length(eight: Ranks, world: int) -> None:
    """Chains of blocks with a first and a last one of their own."""
    text = programs.attention(1, 2, 26, 26, 8, kind="causal", kv_heads=1)
    check(eight, world, text, qkv(8, 2, 1, 26), [2, 2, 2], order="zigzag", strategy="ring",
          how="static")  # fmt: skip
    lengths = [12, 14] if world == 2 else [12, 0, 14]
    text = programs.attention(1, 2, 26, 26, 8, sums=True)
    check(eight, world, text, qkv(9, 2, 2, 26), [2, 2, 2], lengths, strategy="ring", how="static")


@pytest.mark.sample(4)
@pytest.mark.parametrize("world", WORLDS)
def test_ragged_and_empty_shards(eight: Ranks, world: int) -> None:
    for strategy in ("ring", "gather", "rows"):
        for seed, lengths in enumerate([cuts(1, 31, world), cuts(2, 31, world, empty=True)]):
            text = programs.attention(1, 2, 31, 31, 8, kind="causal")
            check(eight, world, text, qkv(seed, 2, 2, 31), [2, 2, 2], lengths, strategy=strategy)


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", [2, 4])
def test_grouped_heads_by_all_strategies(eight: Ranks, world: int) -> None:
    text = programs.attention(1, 8, 16, 16, 8, kv_heads=4, kind="causal")
    for strategy in STRATEGIES:
        check(eight, world, text, qkv(3, 8, 4, 16), [2, 2, 2], strategy=strategy)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("world", "heads", "kv_heads"), [(2, 6, 3), (3, 4, 4), (4, 10, 5)])
def test_heads_that_ranks_do_not_divide(
    eight: Ranks, world: int, heads: int, kv_heads: int
) -> None:
    """Some ranks have one more."""
    text = programs.attention(1, heads, 13, 13, 8, kv_heads=kv_heads, kind="causal", sums=True)
    data = qkv(9, heads, kv_heads, 13)
    check(eight, world, text, data, [2, 2, 2], cuts(26, 13, world), strategy="heads")


def test_fewer_heads_than_ranks_are_refused(eight: Ranks) -> None:
    text = programs.attention(1, 4, 16, 16, 8, kv_heads=2)
    data = qkv(10, 4, 2, 16)
    errors = eight.errors(3, call, lambda rank: {
        "text": text, "axes": [2, 2, 2], "given": {"strategy": "heads"},
        "shards": [Layout.even(16, 3).shard(a, 2, rank) for a in data],
    })  # fmt: skip
    for error in errors:
        assert error is not None and error[0] == "UnsupportedError"
        assert "an element for each of 3 ranks (axis 1 of argument 0" in error[1]
        assert "axis 1 of argument 2: 2)" in error[1]


@pytest.mark.sample(4)
@pytest.mark.parametrize("world", WORLDS)
def test_the_strategy_is_chosen_by_predicted_time(eight: Ranks, world: int) -> None:
    text = programs.attention(1, 8, 48, 48, 8, kind="causal")
    _, said = check(eight, world, text, qkv(1, 8, 8, 48), [2, 2, 2])
    assert said["strategy"] == min(said["predicted_s"], key=said["predicted_s"].get)
    assert "links" in said


@pytest.mark.sample(4)
@pytest.mark.parametrize("world", WORLDS)
def test_windows_and_sums_as_second_result(eight: Ranks, world: int) -> None:
    for strategy in ("ring", "gather", "rows"):
        text = programs.attention(1, 2, 37, 37, 8, kind="causal+window", window=9, sums=True)
        _, said = check(eight, world, text, qkv(4, 2, 2, 37), [2, 2, 2], strategy=strategy)
        assert said["results"] == ["Shard(2)", "Shard(2)"]
    check(eight, world, text, qkv(5, 2, 2, 37), [2, 2, 2], order="zigzag", strategy="ring")


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", [2, 8])
def test_a_block_in_which_all_keys_are_left_out(eight: Ranks, world: int) -> None:
    """Scores of minus infinity for all keys of a rank: it adds nothing, and no NaN."""
    q, k, v = qkv(6, 2, 2, 32)
    per = 32 // world
    k[:, :, :per] = 0
    k[:, :, :per, 0] = -np.inf
    q[..., 0] = 1.0
    text = programs.attention(1, 2, 32, 32, 8)
    for strategy in ("ring", "gather", "rows"):
        check(eight, world, text, [q, k, v], [2, 2, 2], strategy=strategy)


@pytest.mark.sample(2)
@pytest.mark.parametrize("strategy", ["gather"])
def test_deterministic_for_any_number_of_ranks(eight: Ranks, strategy: str) -> None:
    text = programs.attention(1, 2, 32, 32, 8, kind="causal")
    found = set()
    for world in (2, 4, 8):
        results, _ = check(eight, world, text, qkv(7, 2, 2, 32), [2, 2, 2], strategy=strategy,
                           deterministic=True, segment=4)  # fmt: skip
        found.add(results[0].tobytes())
    assert len(found) == 1
