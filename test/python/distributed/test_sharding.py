"""What placements mean for a program: dims, layouts, errors. One process."""

from __future__ import annotations

import numpy as np
import pytest
import redfuse
from placements import Replicate, Shard
from redfuse.bench import programs
from redfuse.distributed.dims import dims_of
from redfuse.distributed.layout import Layout
from redfuse.distributed.links import Links, Sizes, merge_by, predicted
from redfuse.distributed.planning import Attention, plan
from redfuse.distributed.sharding import shard
from redfuse.distributed.work import work_of
from redfuse.frontends import mlir
from redfuse.options import Options


def sharding(text: str, *placements: object):
    signature, dims, module = dims_of(mlir.read(text), Options())
    return shard(signature, dims, placements), work_of(module, dims)


def test_dims_of_attention() -> None:
    text = programs.attention(1, 4, 6, 6, 8, kv_heads=2, kind="causal")
    found, work = sharding(text, Shard(2), Shard(2), Shard(2))
    assert found.stream is not None and found.stream.kind == "reduced"
    assert found.stream.arguments == ((1, 2, 1), (2, 2, 1))
    (rows,) = found.rows
    assert rows.arguments == ((0, 2, 1),) and rows.positional and found.stream.positional
    assert found.inputs == (2, 2, 2) and found.outputs == (2,)
    (mask,) = work.masks
    assert mask.high == 0 and mask.low < -(1 << 60)
    assert mask.is_live(4, 8, 0, 4) and mask.is_live(0, 4, 3, 6) and not mask.is_live(0, 4, 4, 8)
    # Key heads that two query heads share: the dim has twice as many elements in the queries.
    heads, _ = sharding(text, Shard(1), Shard(1), Shard(1))
    assert heads.stream is None
    assert heads.rows[0].scale_of(0) == 2 and heads.rows[0].scales == (2,)


@pytest.mark.parametrize(("low", "high"), [(-100, 0), (-2, 0), (-100, 3), (-3, -1), (-1, 2)])
def test_the_part_that_a_mask_leaves(low: int, high: int) -> None:
    from redfuse.distributed.masks import Mask

    mask = Mask((), (), low, high)
    for rows, columns in ((30, 30), (40, 20), (20, 40)):
        i, j = np.mgrid[:rows, :columns]
        exact = ((j - i >= low) & (j - i <= high)).mean()
        assert mask.part(rows, columns) == pytest.approx(exact, abs=0.04)


def test_placements_that_follow_from_others() -> None:
    found, _ = sharding(programs.layernorm(6, 8), Shard(1), None, None)
    assert found.inputs == (1, 0, 0) and found.outputs == (1,)
    with pytest.raises(
        redfuse.ArgumentError, match=r"argument 1: expected Shard\(0\), got Replicate"
    ):
        sharding(programs.layernorm(6, 8), Shard(1), Replicate(), None)
    with pytest.raises(redfuse.ArgumentError, match="which has no axis 2"):
        sharding(programs.softmax(6, 8), Shard(2))
    with pytest.raises(redfuse.ArgumentError, match="expected 1, one for each argument"):
        sharding(programs.softmax(6, 8), Shard(0), Shard(0))
    found, _ = sharding(programs.cross_entropy(6, 8), Shard(1), Replicate())
    assert found.stream is not None and found.stream.kind == "reduced"
    with pytest.raises(redfuse.UnsupportedError, match="cannot be sharded along axis 0"):
        sharding(table(9, 8), Shard(0), Replicate())


def table(rows: int, width: int) -> str:
    """Rows of a table by their numbers."""
    return f"""
func.func @main(%t: tensor<{rows}x{width}xf32>, %at: tensor<6xi64>) -> tensor<6x{width}xf32> {{
  %e = tensor.empty() : tensor<6x{width}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%at : tensor<6xi64>)
      outs(%e : tensor<6x{width}xf32>) {{
  ^bb0(%a: i64, %o: f32):
    %p = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%p, %j] : tensor<{rows}x{width}xf32>
    linalg.yield %v : f32
  }} -> tensor<6x{width}xf32>
  return %r : tensor<6x{width}xf32>
}}
"""


def test_layouts() -> None:
    assert Layout.even(10, 4).lengths == (3, 3, 3, 1)
    assert Layout.even(3, 8).lengths == (1, 1, 1, 0, 0, 0, 0, 0)
    zigzag = Layout.zigzag(16, 2)
    assert zigzag.spans == (((0, 4), (12, 16)), ((4, 12),))
    assert not zigzag.is_ordered and Layout.even(10, 4).is_ordered
    for layout in (zigzag, Layout.zigzag(13, 3), Layout.contiguous([0, 5, 0, 2])):
        x = np.arange(layout.length * 2).reshape(2, -1)
        shards = [layout.shard(x, 1, rank) for rank in range(len(layout.spans))]
        np.testing.assert_array_equal(layout.unshard(shards, 1), x)
    with pytest.raises(redfuse.ArgumentError, match="zigzag.*are shards of"):
        Layout.of("zigzag", [1, 9])


def test_predictions() -> None:
    links = Links()
    assert merge_by(100, 4, links) == "gather"
    assert merge_by(1e9, 64, links) == "tree"
    long = Sizes(2, 1.4e14, 5e8, 2.7e8, 2.7e8, 5e8, 0.0)
    times = predicted(long, links)
    assert min(times, key=times.get) == "ring"  # type: ignore[arg-type]
    assert "heads" not in times
    rows = plan(Attention(1 << 20, 16, 16, 128, live=0.5))
    assert [row.ranks for row in rows] == [8, 16, 32, 64, 128, 256, 512, 1024]
    assert all(0 < row.efficiency <= 1 for row in rows)


def test_the_page_of_plans_is_the_model() -> None:
    from pathlib import Path

    from redfuse.distributed.planning import table

    page = Path(__file__).parents[3] / "docs" / "design" / "distributed-planning.md"
    text = page.read_text()
    for problem in (
        Attention(131072, 16, 16, 128),
        Attention(1 << 20, 16, 16, 128, live=0.5),
        Attention(1 << 24, 64, 8, 128, live=0.5),
    ):
        assert table(plan(problem)) in text
