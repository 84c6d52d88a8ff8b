"""What the ranks of a test do, and how the test compares it with the unfused program in fp64."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from ranks import Ranks
from redfuse.distributed.layout import Layout
from redfuse.reference import Reference

_programs: dict[Any, Any] = {}


def call(mesh: Any, text: Any, shards: list[Any], axes: list[int | None], given: dict[str, Any],
         how: str = "") -> tuple[list[np.ndarray], list[int | None], dict[str, Any]]:  # fmt: skip
    """A rank's results, the axis along which each is sharded, and what explain says. ``how``:
    "dtensor" makes DTensors of the shards, "strided" tensors with gaps, "static" code for each
    length of a shard, as on GPUs."""
    import redfuse.distributed as rd
    import torch
    from torch.distributed.tensor import DTensor, Replicate, Shard

    placements = [Replicate() if axis is None else Shard(axis) for axis in axes]
    if callable(text):  # whole arguments are shapes and dtypes
        given["inputs"] = [
            torch.empty(shape, dtype=getattr(torch, dtype), device="meta")
            for shape, dtype in given["inputs"]
        ]
    key = (text, mesh.size(), repr(axes), repr(given), how == "static")
    if key not in _programs:
        _programs[key] = rd.compile(text, mesh, placements, **given)
        if how == "static":
            _programs[key].folds.static = True
    program = _programs[key]
    tensors = [torch.from_numpy(a.copy()) for a in shards]
    if how == "strided":
        tensors = [torch.stack([t, t], -1)[..., 0] for t in tensors]
    if how == "dtensor":
        tensors = [
            DTensor.from_local(t, mesh, [p]) for t, p in zip(tensors, placements, strict=True)
        ]
    results = program(*tensors)
    found = list(results) if isinstance(results, tuple) else [results]
    if how == "dtensor":
        assert all(isinstance(r, DTensor) for r in found)
        found = [r.to_local() for r in found]
    return [r.numpy() for r in found], list(program.sharding.outputs), program.explain(json=True)


@functools.cache
def reference(text: str) -> Reference:
    """The unfused program in fp64."""
    return Reference(text, opt_level=0)


def check(
    ranks: Ranks, world: int, text: Any, arrays: Sequence[np.ndarray], axes: list[int | None],
    lengths: Sequence[int] | None = None, order: str = "contiguous", tolerance: float = 1e-5,
    how: str = "", expected: Sequence[np.ndarray] | None = None, **given: Any,
) -> tuple[list[np.ndarray], dict[str, Any]]:  # fmt: skip
    """Runs a program (MLIR text, or a function of PyTorch) on the shards of ``arrays`` along
    ``axes``, and compares. ``lengths``: of the shards, if they are not even. Returns the results, put together, and what explain says."""
    layouts = []
    for array, axis in zip(arrays, axes, strict=True):
        if axis is None:
            layouts.append(None)
        elif order == "zigzag":
            layouts.append(Layout.zigzag(array.shape[axis], world))
        else:
            length = array.shape[axis]
            layouts.append(Layout.contiguous(lengths) if lengths else Layout.even(length, world))

    def shards(rank: int) -> list[np.ndarray]:
        return [
            a if layout is None else layout.shard(a, axis or 0, rank)
            for a, axis, layout in zip(arrays, axes, layouts, strict=True)
        ]

    # What ranks say to each other is the same however fast they compute.
    given = {"order": order, "options": {"opt_level": 0}, **given}
    if callable(text):
        given["inputs"] = [(a.shape, str(a.dtype)) for a in arrays]
    ranks.start(world, call, lambda rank: {"text": text, "shards": shards(rank), "axes": axes,
                                           "given": given, "how": how})  # fmt: skip
    answers = [ranks.answer(world, rank) for rank in range(world)]
    for rank, (verdict, said) in enumerate(answers):
        assert verdict == "ok", f"rank {rank} of {world}: {said[0]}: {said[1]}\n{said[2]}"
    wanted = reference(text)(*arrays) if expected is None else expected
    outputs = answers[0][1][1]
    together = []
    for number, (axis, want) in enumerate(zip(outputs, wanted, strict=True)):
        parts = [said[0][number] for _, said in answers]
        if axis is None:
            for part in parts[1:]:
                np.testing.assert_array_equal(parts[0], part)
            whole = parts[0]
        else:
            sizes = [p.shape[axis] for p in parts]
            whole = Layout.of(order, sizes).unshard(parts, axis)
        compare(whole, want, tolerance)
        together.append(whole)
    return together, answers[0][1][2]


def compare(got: np.ndarray, want: np.ndarray, tolerance: float) -> None:
    """Infinities and NaN where they belong, the rest near."""
    assert got.shape == want.shape
    want = np.asarray(want)
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    if finite.any():
        scale = np.abs(want[finite]).max()
        assert np.abs(got[finite] - want[finite]).max() <= tolerance * max(scale, 1e-30)


def over_grid(mesh: Any, text: str, data: np.ndarray) -> float:
    """The largest difference from fp64 where two groups of ranks have data of their own, shared out
    over the second dim of a mesh."""
    import redfuse.distributed as rd
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard

    grid = init_device_mesh("cpu", (2, mesh.size() // 2), mesh_dim_names=("data", "columns"))
    program = rd.compile(text, grid, [Shard(1)], mesh_dim="columns")
    group, rank = grid.get_coordinate()
    layout = Layout.even(data.shape[2], mesh.size() // 2)
    got = program(torch.from_numpy(layout.shard(data[group], 1, rank)))
    return float(np.abs(got.numpy() - data[group].astype(np.float64).var(1)).max())
