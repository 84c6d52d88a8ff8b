"""Kernels on the matrix units of sm_90a, run by the simulator and compared with fp64."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import redfuse
import rounding_programs
from drivers.simulated import execute, small
from redfuse.attributes import Hint
from redfuse.bench import programs
from redfuse.frontends.mlir import read
from redfuse.options import Options
from redfuse.runtime.specs import numpy_dtype
from redfuse.store.data import random_inputs
from redfuse.tuning.space import places

sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("hardware", "e2e")]
from random_units import Shape
from torch_like import Torch

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(3)


def attention(q, k, v, kind: str) -> np.ndarray:
    """fp64, [batch, heads, rows, dim]."""
    q, k, v = (np.asarray(x).astype(np.float64) for x in (q, k, v))
    k, v = (x.repeat(q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    i, j = np.indices(s.shape[-2:])
    if "causal" in kind:
        s = np.where(i >= j, s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v


# batch, heads, rows, keys, dim, kind, key heads, what queries are multiplied by, hints
CASES = {
    "d128": (1, 1, 128, 384, 128, "none", 1, 1, {}),
    "causal": (1, 2, 256, 256, 128, "causal", 2, 1, {}),
    "dynamic": (1, 3, 320, 320, 128, "causal", 3, 1, {"blocks": 2}),
    "dynamic-odd": (1, 2, 300, 300, 64, "causal", 1, 8, {"blocks": 3}),
    "staged": (1, 1, 200, 200, 80, "causal", 1, 1, {"hints": {"staged": True}}),
    "staged-three": (1, 2, 256, 192, 64, "none", 1, 1, {"hints": {"staged": True, "rows": 192}}),
    "odd": (1, 1, 70, 300, 80, "none", 1, 1, {}),
    "d64": (1, 2, 128, 512, 64, "none", 1, 8, {}),
    "lazy": (1, 1, 128, 512, 64, "none", 1, 1, {"hints": {"threshold": 2}}),
    "sums": (1, 1, 128, 512, 64, "none", 1, 3, {}),
    "growing-sums": (1, 1, 64, 640, 64, "none", 1, -1, {}),
    "growing": (1, 1, 128, 512, 64, "none", 1, -1, {"hints": {"threshold": 2}}),
    "huge": (1, 1, 128, 384, 64, "none", 1, 1e12, {"hints": {"threshold": 2}}),
    "lazy-three": (
        1,
        1,
        450,
        450,
        64,
        "causal",
        1,
        -1,
        {"hints": {"threshold": 2, "rows": 192}, "blocks": 2},
    ),
    "d256": (1, 1, 128, 192, 256, "none", 1, 1, {}),
    "d192-causal": (1, 1, 150, 150, 192, "causal", 1, 4, {}),
    "three": (1, 1, 384, 400, 128, "none", 1, 4, {"hints": {"rows": 192}}),
    "three-dynamic": (1, 2, 500, 500, 64, "causal", 1, 4, {"hints": {"rows": 192}, "blocks": 2}),
    "resident": (1, 2, 256, 256, 64, "causal", 2, 1, {"hints": {"operand": "shared"}, "blocks": 1}),
    "few-half": (1, 16, 1, 1024, 64, "none", 1, 1, {"hints": {"blocks": 2, "splits": 4}}),
    "few-cluster": (
        2,
        12,
        1,
        1000,
        64,
        "none",
        2,
        1,
        {"hints": {"splits": 8, "cluster": 8, "columns": 64}},
    ),
    "few-clusters": (
        1,
        18,
        1,
        1000,
        80,
        "none",
        2,
        1,
        {"hints": {"splits": 8, "cluster": 4, "columns": 64, "blocks": 2}},
    ),
    "rows-clusters": (1, 40, 3, 500, 64, "none", 2, 1, {"hints": {"splits": 4, "cluster": 2}}),
    "few": (1, 8, 8, 512, 64, "none", 1, 1, {}),
}


def compiled(
    path: Path, chip: str, hints: dict[str, Hint], kind: str = "stream"
) -> redfuse.Executable:
    """A program of one kernel, with hints for the model's first choice."""
    options: dict = {"cache": False, "tuned": False, "schedule": "stream"}
    if hints:
        (place,) = places(read(path), Options(schedule=kind), f"cuda:{chip}")
        schedule = place.starts[0]
        for key, value in hints.items():
            schedule = schedule.with_hint(key, value)
        options = {"cache": False, "schedules": (schedule.text,)}
    return redfuse.compile(path, target=f"cuda:{chip}", options=options)


def error_of(exe: redfuse.Executable, kind: str, scale: float, most_blocks: int = 1 << 30) -> float:
    """The error of attention, relative, 2-norm, for queries that are multiplied by ``scale``; below
    0 scores grow towards the last keys instead."""
    q, k, v = random_inputs(exe.signature, 7)
    if scale < 0:
        grown = np.linspace(0, 16, k.shape[-2])[:, None]
        k = (np.asarray(k).astype(np.float32) * grown).astype(k.dtype)
    else:
        q = (np.asarray(q).astype(np.float32) * scale).astype(q.dtype)
    expected = attention(q, k, v, kind)
    (got,), _ = execute(exe, [q, k, v], [expected], most_blocks=most_blocks)
    return float(np.linalg.norm(got.astype(np.float64) - expected) / np.linalg.norm(expected))


def run(
    name: str, batch, heads, rows, keys, dim, kind, kv_heads, scale, options, tmp: Path
) -> float:
    """The error, relative, 2-norm."""
    path = tmp / f"{name}.mlir"
    path.write_text(programs.attention(batch, heads, rows, keys, dim, "bf16", kv_heads, kind))
    hints = options.get("hints", {})
    exe = compiled(path, "sm_90a", hints)
    assert "wgmma.mma_async" in exe.asm
    assert f".reqnctapercluster {hints.get('cluster', 1)}," in exe.asm + ".reqnctapercluster 1,"
    return error_of(exe, kind, scale, options.get("blocks", 1 << 30))


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_attention(name: str, tmp_path: Path) -> None:
    *shape, hints = CASES[name]
    assert run(name, *shape, hints, tmp_path) < 3e-3


# rows, length of the sum, columns, how many are kept; hints
ROUTING = {
    "whole": (70, 128, 40, 3, {"splits": 1}),
    "halves": (64, 320, 64, 8, {"splits": 2}),
    "eighths": (100, 576, 64, 6, {"rows": 128, "splits": 8, "ahead": 2, "late": True}),
    "wide": (33, 512, 128, 8, {"splits": 4, "ahead": 8}),
}


@pytest.mark.parametrize("name", ROUTING)
def test_largest_of_products(name: str, tmp_path: Path) -> None:
    """Products that are exact and full of ties, which go by their columns, as a stable sort has it;
    a row of NaN keeps its first columns."""
    rows, length, columns, kept, hints = ROUTING[name]
    path = tmp_path / f"{name}.mlir"
    path.write_text(programs.moe_routing(rows, length, columns, kept, "bf16"))
    exe = compiled(path, "sm_90a", hints, "auto")
    assert "wgmma.mma_async" in exe.asm
    assert f".reqnctapercluster {hints['splits']}," in exe.asm + ".reqnctapercluster 1,"
    rng = np.random.default_rng(3)
    half = numpy_dtype("bf16")
    x = rng.integers(-1, 2, (rows, length)).astype(half)
    w = (rng.integers(-1, 2, (length, columns)) / 16).astype(half)
    x[rows // 2] = np.nan
    with np.errstate(invalid="ignore"):
        scores = x.astype(np.float64) @ w.astype(np.float64)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
    order = np.argsort(-p, axis=-1, kind="stable")[:, :kept]
    order[rows // 2] = np.arange(kept)
    values = np.take_along_axis(p, order, -1)
    got, _ = execute(exe, [x, w], [values.astype(np.float32), order])
    np.testing.assert_array_equal(got[1], order)
    np.testing.assert_allclose(got[0], values, rtol=1e-5)


# rows, length of the sum, columns, the cluster; which operands are transposed in memory. Some blocks
# have no element of the results: tiles that a cluster has beside the last ones.
CLUSTERS = {
    "pairs": (300, 200, 272, 2, ""),
    "pairs-of-columns": (140, 136, 80, 2, "b"),
    "four": (400, 136, 528, 4, "a"),
    "four-whole": (384, 64, 768, 4, "ab"),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_blocks_that_copy_for_each_other(name: str, tmp_path: Path) -> None:
    """Products that are exact."""
    rows, length, columns, cluster, swapped = CLUSTERS[name]
    p = Torch()
    shapes = {"a": (rows, length), "b": (length, columns)}
    a, b = (
        p.transpose(p.argument(*shape[::-1], dtype="bf16"), [1, 0])
        if operand in swapped
        else p.argument(*shape, dtype="bf16")
        for operand, shape in shapes.items()
    )
    path = tmp_path / f"{name}.mlir"
    path.write_text(p.text(p.cast(p.matmul(a, b), "f32")))
    exe = compiled(path, "sm_90a", {"cluster": cluster}, "auto")
    assert ".multicast::cluster" in exe.asm
    assert f".reqnctapercluster {cluster}," in exe.asm
    rng, half = np.random.default_rng(5), numpy_dtype("bf16")
    x, w = (rng.integers(-1, 2, shape).astype(half) for shape in shapes.values())
    expected = (x.astype(np.float32) @ w.astype(np.float32)).astype(half).astype(np.float32)
    given = [v.T.copy() if o in swapped else v for o, v in zip("ab", (x, w), strict=True)]
    (got,), _ = execute(exe, given, [expected])
    np.testing.assert_array_equal(got, expected)


# A third of the columns is seen, or all: a block has rows beyond the last one, to which no step
# is whole.
WINDOWS = {
    "short-40": {"rows": 40, "heads": 1, "kv_heads": 1},
    "short-65": {"rows": 65, "heads": 1, "kv_heads": 1},
    "long-200": {"rows": 200, "columns": 200, "dim": 128, "last": 128, "heads": 3},
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_rows_that_do_not_fill_a_tile(name: str, tmp_path: Path) -> None:
    shape = replace(Shape.of(31285), batch=1, **WINDOWS[name])
    small(shape.program(), tmp_path, {"schedule": "stream"})


def test_splits_begin_where_boxes_of_memory_may(tmp_path: Path) -> None:
    """Sums over rows of 40 elements, in two parts: the second may not begin at 20 of 16 bits."""
    shape = replace(Shape.of(99389), rows=66)
    small(shape.program(), tmp_path, {"schedule": "split"})


def clamped_logsumexp(rows: int, length: int, columns: int) -> str:
    """Of a product, doubled and clamped in bf16; the guard of its maximum is a constant of the kernel,
    in the merge of splits, too."""
    p = Torch()
    x, w = p.argument(rows, length, dtype="bf16"), p.argument(length, columns, dtype="bf16")
    scores = p.clamp_min(p.mul(p.matmul(x, w), 2.0), -4.0)
    return p.text(p.logsumexp(p.cast(scores, "f32")))


@pytest.mark.parametrize(("rows", "length", "columns"), [(70, 128, 1024), (128, 320, 2000)])
def test_splits_of_what_is_computed_in_16_bits(
    rows: int, length: int, columns: int, tmp_path: Path
) -> None:
    """Products that are exact, so that every rounding is the program's own."""
    exe = redfuse.compile(
        clamped_logsumexp(rows, length, columns), target="cuda:sm_90a", options={"cache": False}
    )
    assert "wgmma.mma_async" in exe.asm
    assert " splits = 1," not in exe.ir["plan"]
    rng = np.random.default_rng(rows)
    half = numpy_dtype("bf16")
    x = rng.integers(-1, 2, (rows, length)).astype(half)
    w = (rng.integers(-3, 4, (length, columns)) / 8).astype(half)
    scores = (x.astype(np.float32) @ w.astype(np.float32)).astype(half)
    scores = np.maximum((scores * half.type(2)).astype(np.float64), -4.0)
    top = scores.max(-1, keepdims=True)
    expected = np.log(np.exp(scores - top).sum(-1, keepdims=True)) + top
    (got,), _ = execute(exe, [x, w], [expected])
    np.testing.assert_allclose(got, expected, rtol=3e-6)


@pytest.mark.parametrize("name", rounding_programs.EXACT)
def test_what_a_rounding_decides(name: str) -> None:
    """Sums of warpgroups' instructions are rounded to bf16 before they are compared, counted, or
    chosen. A top-k is of all columns at once."""
    shape = (70, 64 if name == "best" else 331, 128)
    exe = redfuse.compile(
        rounding_programs.program(name, *shape), target="cuda:sm_90a", options={"cache": False}
    )
    assert "wgmma.mma_async" in exe.asm
    rounding_programs.hold(exe, name, *shape)
