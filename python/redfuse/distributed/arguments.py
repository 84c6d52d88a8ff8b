"""Arguments and results of a distributed call: shards and DTensors, as tensors of this rank."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError
from ..runtime.arrays import check_array
from .groups import Group
from .layout import Layout
from .sharding import Sharding


@dataclasses.dataclass(frozen=True)
class Taken:
    """A rank's arguments.

    tensors: contiguous, local. shapes: of each, with -1 at the sharded axis; lengths: how many
        elements this rank has of each dim that is shared out. key: all of that, for a lookup.
    distributed: whether an argument was a DTensor.
    """

    tensors: list[Any]
    shapes: list[list[int]]
    lengths: list[int]
    distributed: bool

    @functools.cached_property
    def key(self) -> tuple:
        """What tells calls apart that ranks have agreed about."""
        return (*map(tuple, self.shapes), tuple(self.lengths))


def kinds_of(arguments: Sequence[Any]) -> tuple | None:
    """What :func:`take` looks at, for a lookup; ``None`` where an argument is neither a number nor
    a plain torch tensor."""
    torch = sys.modules["torch"]
    found: list[Any] = []
    for value in arguments:
        if type(value) is torch.Tensor:
            found.append((value.dtype, value.device, value.shape))
        elif type(value) in (int, float, bool):
            found.append(type(value))
        else:
            return None
    return tuple(found)


def take_again(arguments: Sequence[Any], like: Taken) -> Taken:
    """Arguments of which :func:`take` has checked others of the same kinds."""
    tensors = [_plain(v) if hasattr(v, "dtype") else v for v in arguments]
    return dataclasses.replace(like, tensors=tensors)


def take(arguments: Sequence[Any], sharding: Sharding, group: Group) -> Taken:
    """Checks and prepares arguments. Raises ArgumentError."""
    signature = sharding.signature
    if len(arguments) != len(signature.inputs):
        raise ArgumentError(f"expected {len(signature.inputs)} arguments of {signature}, got "
                            f"{len(arguments)}")  # fmt: skip
    tensors, distributed = [], False
    for index, value in enumerate(arguments):
        if _is_dtensor(value):
            distributed = True
            value = _local(value, index, sharding, group)
        tensors.append(_checked(value, index, sharding, group))
    lengths = []
    for dim in sharding.sharded:
        found = {}
        for index, axis, scale in dim.arguments:
            length = tensors[index].shape[axis]
            if length % scale:
                raise ArgumentError(
                    f"argument {index}: a shard of {length} along axis {axis}; expected a multiple "
                    f"of {scale}, which is what the program has there for an element of the dim",
                    index,
                )
            found[index] = length // scale
        if len(set(found.values())) > 1:
            text = ", ".join(f"{n} of argument {i}" for i, n in found.items())
            raise ArgumentError(
                f"the shards of one dim ({dim.text()}) have different lengths: {text}"
            )
        lengths.append(next(iter(found.values())))
    shapes = []
    for index, tensor in enumerate(tensors):
        shape = list(getattr(tensor, "shape", ()))
        if sharding.inputs[index] is not None:
            shape[sharding.inputs[index]] = -1  # type: ignore[index]
        shapes.append(shape)
    return Taken(tensors, shapes, lengths, distributed)


def give(
    results: Sequence[tuple[Any, ...]], taken: Taken, sharding: Sharding,
    layouts: Sequence[Layout], group: Group,
) -> Any:  # fmt: skip
    """The results of all pieces of a rank's rows as the call's: put together, as DTensors if the
    arguments were."""
    found = []
    for index, axis in enumerate(sharding.outputs):
        parts = [one[index] for one in results]
        if axis is None or len(parts) == 1:
            found.append(parts[0])
        else:
            import torch

            found.append(torch.cat(parts, axis))
    if taken.distributed:
        found = [_spread(v, i, sharding, layouts, group) for i, v in enumerate(found)]
    return found[0] if len(found) == 1 else tuple(found)


def _is_dtensor(value: Any) -> bool:
    try:
        from torch.distributed.tensor import DTensor
    except ImportError:
        return False
    return isinstance(value, DTensor)


def _local(value: Any, index: int, sharding: Sharding, group: Group) -> Any:
    if value.device_mesh != group.mesh:
        raise ArgumentError(
            f"argument {index}: a DTensor on {value.device_mesh}; expected one on the program's "
            f"mesh {group.mesh}",
            index,
        )
    axis = sharding.inputs[index]
    placement = value.placements[0]
    rank = value.ndim
    fits = placement.is_replicate() if axis is None else placement.is_shard()
    if fits and axis is not None:
        fits = placement.dim % rank == axis
    if not fits:
        wanted = "Replicate()" if axis is None else f"Shard({axis})"
        raise ArgumentError(
            f"argument {index}: a DTensor placed {placement}; expected {wanted} (use "
            "DTensor.redistribute)",
            index,
        )
    return value.to_local()


def _checked(value: Any, index: int, sharding: Sharding, group: Group) -> Any:
    spec = sharding.signature.inputs[index]
    if spec.scalar:
        return value
    axis = sharding.inputs[index]
    what = f"argument {index} of {sharding.signature.name}"
    if axis is not None:
        what += f" (axis {axis} is sharded)"
    check_array(value, sharding.shards[index], what, index)
    if not type(value).__module__.startswith("torch"):
        from ..runtime.tensors import to_torch

        value = to_torch(value)
    if value.device.type != group.mesh.device_type:
        raise ArgumentError(
            f"{what}: a tensor on {value.device}; expected one on {group.mesh.device_type}", index
        )
    return _plain(value)


def _plain(value: Any) -> Any:
    """A tensor without a gradient, contiguous: itself, if it is that."""
    if value.requires_grad:
        value = value.detach()
    return value if value.is_contiguous() else value.contiguous()


def _spread(
    value: Any, index: int, sharding: Sharding, layouts: Sequence[Layout], group: Group
) -> Any:
    from torch.distributed.tensor import DTensor, Replicate, Shard

    axis = sharding.outputs[index]
    if axis is None:
        return DTensor.from_local(value, group.mesh, [Replicate()], run_check=False)
    dim = sharding.dim_of_result(index)
    assert dim is not None
    shape = list(value.shape)
    shape[axis] = layouts[sharding.sharded.index(dim)].length * dim.scales[index]
    stride, step = [], 1
    for extent in reversed(shape):
        stride.insert(0, step)
        step *= max(1, extent)
    import torch

    return DTensor.from_local(
        value, group.mesh, [Shard(axis)], run_check=False, shape=torch.Size(shape),
        stride=tuple(stride),
    )  # fmt: skip
