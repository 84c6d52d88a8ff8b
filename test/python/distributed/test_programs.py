"""Distributed programs against the unfused program in fp64, over 2, 3, 4 and 8 processes."""

from __future__ import annotations

from typing import Any

import losses
import numpy as np
import pytest
import redfuse
from ranks import Ranks
from redfuse.bench import programs
from sharded_calls import check, over_grid
from state_programs import ARGMAX, CASES, OPEN_VARIANCE, logsumexp, on_a_wide_machine

WORLDS = (2, 3, 4, 8)


@redfuse.combiner(identity=(1.0, 0.0), ordered=True)
def affine(left, right):
    """A recurrence h = a h + b: maps, the earlier one first."""
    return left[0] * right[0], right[0] * left[1] + right[1]


def normal(seed: int, *shapes: tuple[int, ...], mean: float = 0.0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal(s) + mean).astype(np.float32) for s in shapes]


def cuts(seed: int, length: int, world: int, empty: bool = False) -> list[int]:
    """Random lengths of shards; with ``empty`` some have none."""
    rng = np.random.default_rng(seed + 100 * world)
    if empty:
        found = [0] * world
        found[int(rng.integers(world))] = length
        return found
    places = np.sort(rng.integers(0, length + 1, world - 1))
    return [int(n) for n in np.diff([0, *places, length])]


@pytest.mark.sample(3)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("merge", ["gather", "tree"])
def test_statistics_of_uneven_shards(eight: Ranks, world: int, merge: str) -> None:
    text = programs.variance(5, 37)
    for seed, lengths in enumerate([None, cuts(1, 37, world), cuts(2, 37, world, empty=True)]):
        data = normal(seed, (5, 37), mean=1e3)
        check(eight, world, text, data, [1], lengths, merge=merge)
    rng = np.random.default_rng(5)
    mass = rng.uniform(0.5, 2, (3, 7)).astype(np.float32)
    place = rng.standard_normal((3, 7, 3)).astype(np.float32)
    check(eight, world, CASES["inertia"].text, [mass, place], [1, 1], merge=merge)


@pytest.mark.sample(3)
@pytest.mark.parametrize("world", WORLDS)
def test_rows_and_heads_need_no_communication(eight: Ranks, world: int) -> None:
    _, said = check(eight, world, programs.softmax(13, 9), normal(0, (13, 9)), [0])
    assert said["collectives"] == []
    data = normal(1, (13, 9), (9,), (9,))
    check(eight, world, programs.layernorm(13, 9), data, [0, None, None], cuts(3, 13, world))
    heads = normal(2, (1, 8, 5, 4), (1, 8, 6, 4), (1, 8, 6, 4))
    check(eight, world, programs.attention(1, 8, 5, 6, 4), heads, [1, 1, 1])


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", WORLDS)
def test_softmax_over_sharded_classes(eight: Ranks, world: int) -> None:
    """The merged state is everywhere, and the second phase is local."""
    for seed, lengths in enumerate([None, cuts(4, 29, world), cuts(5, 29, world, empty=True)]):
        check(eight, world, programs.softmax(5, 29), normal(seed, (5, 29)), [1], lengths)
    data = normal(7, (5, 29), (29,), (29,), mean=3.0)
    check(eight, world, programs.layernorm(5, 29), data, [1, 0, 0], cuts(6, 29, world))
    check(eight, world, programs.rmsnorm(5, 29), data[:2], [1, 0], cuts(8, 29, world))


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", WORLDS)
def test_a_rank_that_sees_nothing_but_minus_infinity(eight: Ranks, world: int) -> None:
    x = normal(3, (4, 16))[0]
    per = -(-16 // world)
    x[0] = -np.inf
    x[1, :per] = -np.inf
    x[2, per:] = -np.inf
    x[3, 5] = np.nan
    check(eight, world, logsumexp(4, 16), [x], [1])


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", WORLDS)
def test_positions_count_in_the_whole(eight: Ranks, world: int) -> None:
    """Argmax, with ties that are on different ranks."""
    x = np.zeros((4, 17), np.float32)
    x[1, 3] = x[1, 16] = 1
    x[2, 15] = 1
    x[3] = np.arange(17)
    text = ARGMAX.replace("N", "17")
    found, _ = check(eight, world, text, [x], [1], cuts(9, 17, world))
    np.testing.assert_array_equal(found[1], [0, 3, 15, 16])


@pytest.mark.sample(3)
@pytest.mark.parametrize("world", WORLDS)
def test_open_extents(eight: Ranks, world: int) -> None:
    data = normal(11, (5, 23), mean=1e3)
    check(eight, world, OPEN_VARIANCE, data, [1], cuts(12, 23, world))
    check(eight, world, OPEN_VARIANCE, data, [0], cuts(13, 5, world))


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", WORLDS)
def test_decoding_with_a_sharded_cache(eight: Ranks, world: int) -> None:
    """One query, keys and values on several ranks: states and one merge."""
    data = normal(14, (2, 4, 1, 8), (2, 2, 41, 8), (2, 2, 41, 8))
    text = programs.attention(2, 4, 1, 41, 8, kv_heads=2)
    _, said = check(eight, world, text, data, [None, 2, 2], cuts(15, 41, world))
    assert said["strategy"] == "states"
    assert said["merge"]["ordered"] is False


def test_decoding_of_a_million_keys(eight: Ranks) -> None:
    """Where prices keep scores, softmax and products apart."""
    keys = 1 << 20
    text = on_a_wide_machine(programs.attention(1, 2, 1, keys, 4, kv_heads=1))
    q, k, v = normal(15, (1, 2, 1, 4), (1, 1, keys, 4), (1, 1, keys, 4))
    s = (q[0, :, 0].astype(np.float64) @ k[0, 0].astype(np.float64).T) / 2
    p = np.exp(s - s.max(1, keepdims=True))
    want = (p / p.sum(1, keepdims=True) @ v[0, 0].astype(np.float64))[None, :, None]
    # Sums of a million products with weights of like size are small beside the values.
    tolerance = 1e-5 * np.abs(v).max() / np.abs(want).max()
    check(eight, 2, text, [q, k, v], [None, 2, 2], cuts(15, keys, 2), tolerance=tolerance,
          expected=[want])  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("how", ["dtensor", "strided"])
@pytest.mark.parametrize("world", [2, 3])
def test_dtensors_and_tensors_with_gaps(eight: Ranks, world: int, how: str) -> None:
    check(eight, world, programs.softmax(5, 29), normal(0, (5, 29)), [1], how=how)
    check(eight, world, programs.softmax(7, 29), normal(0, (7, 29)), [0], how=how)
    check(eight, world, programs.variance(5, 37), normal(1, (5, 37)), [1], how=how)


def test_deterministic_results_have_the_same_bits_for_any_number_of_ranks(eight: Ranks) -> None:
    def results(text: str, data: list[np.ndarray], axes: list, seed: int) -> list[bytes]:
        found = []
        for world in WORLDS:
            length = data[-1].shape[axes[-1]]
            pieces = cuts(seed, length // 4, world)
            found.append(
                check(eight, world, text, data, axes, [4 * n for n in pieces],
                      deterministic=True, segment=4)[0][0].tobytes()
            )  # fmt: skip
        return found

    assert len(set(results(programs.variance(5, 64), normal(1, (5, 64), mean=10), [1], 1))) == 1
    text = programs.attention(1, 2, 3, 64, 8)
    data = normal(2, (1, 2, 3, 8), (1, 2, 64, 8), (1, 2, 64, 8))
    assert len(set(results(text, data, [None, 2, 2], 2))) == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", WORLDS)
def test_vocabulary_parallel_loss(eight: Ranks, world: int) -> None:
    """A linear layer and cross-entropy, with the classes shared out: three numbers a row are sent."""
    rng = np.random.default_rng(world)
    rows, hidden, classes = 6, 8, 29
    data = [*normal(world, (rows, hidden), (classes, hidden)), rng.integers(0, classes, rows)]
    text = programs.linear_cross_entropy(rows, hidden, classes)
    for lengths in (None, cuts(16, classes, world), cuts(17, classes, world, empty=True)):
        _, said = check(eight, world, text, data, [None, 0, None], lengths)
    assert said["merge"]["bytes"] == 3 * 4 * rows


@pytest.mark.sample(3)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("loss", [losses.gathered, losses.mean, losses.smooth])
def test_losses_as_they_are_written(eight: Ranks, world: int, loss: Any) -> None:
    """The label's logit is gathered, by a place that one rank has."""
    rng = np.random.default_rng(world)
    rows, classes = 7, 29
    (x,) = normal(world, (rows, classes))
    label = rng.integers(0, classes, rows)
    if loss is not losses.gathered:
        label[2] = -100
    want = losses.expected(x, label, 0.1 if loss is losses.smooth else 0.0)
    if loss is losses.mean:
        want = want.sum() / (label != -100).sum()
    for lengths in (None, cuts(24, classes, world, empty=True)):
        check(eight, world, loss, [x, label], [1, None], lengths, expected=[want])
    check(eight, world, loss, [x, label], [0, 0], expected=[want])


@pytest.mark.sample(3)
@pytest.mark.parametrize("world", WORLDS)
def test_a_linear_loss_as_it_is_written(eight: Ranks, world: int) -> None:
    rng = np.random.default_rng(world)
    h, w = normal(world, (7, 8), (29, 8))
    label = rng.integers(0, 29, 7)
    want = losses.expected(h.astype(np.float64) @ w.astype(np.float64).T, label)
    axes = [None, 0, None]
    check(eight, world, losses.linear, [h, w, label], axes, cuts(25, 29, world), expected=[want])


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", WORLDS)
def test_routing_over_sharded_experts(eight: Ranks, world: int) -> None:
    data = normal(world, (6, 8), (8, 19))
    check(eight, world, programs.moe_routing(6, 8, 19, 3), data, [None, 1], cuts(18, 19, world))


@pytest.mark.sample(2)
@pytest.mark.parametrize("world", WORLDS)
def test_recurrences_over_sharded_sequences(eight: Ranks, world: int) -> None:
    """Ordered merges: the last value, and every one, of which each rank needs those before."""
    rng = np.random.default_rng(world)
    a = rng.uniform(0.5, 1.0, (3, 23)).astype(np.float32)
    b = rng.standard_normal((3, 23)).astype(np.float32)
    products, values, h = np.cumprod(a.astype(np.float64), 1), np.zeros((3, 23)), np.zeros(3)
    for j in range(23):
        h = a[:, j] * h + b[:, j]
        values[:, j] = h
    for lengths in (None, cuts(19, 23, world), cuts(20, 23, world, empty=True)):
        text = redfuse.scan(affine, [3, None], "f32", 1)
        _, said = check(eight, world, text, [a, b], [1, 1], lengths, expected=[products, values])
        assert said["merge"]["ordered"] and said["shared"][0]["kind"] == "prefixes"
        for merge in ("gather", "tree"):
            text = redfuse.reduction(affine, [3, None], "f32", 1)
            last = [products[:, -1], values[:, -1]]
            check(eight, world, text, [a, b], [1, 1], lengths, expected=last, merge=merge)


def test_one_dim_of_a_mesh_of_two(eight: Ranks) -> None:
    (data,) = normal(21, (2, 5, 37))
    assert max(eight.run(8, over_grid, text=programs.variance(5, 37), data=data)) < 1e-5
