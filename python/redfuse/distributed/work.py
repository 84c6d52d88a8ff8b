"""What a program computes, as far as choices between strategies depend on it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from .call import Call, Unit
from .dims import Dim
from .masks import Mask, masks_of
from .sharding import Sharding

# An extent: a number, or an argument and one of its axes.
Extent = int | tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Work:
    """reductions: the extents over which each one goes, and which it keeps. masks: what is left out
    by positions."""

    reductions: tuple[tuple[Extent, ...], ...]
    masks: tuple[Mask, ...]

    def operations(self, call: Call) -> float:
        """Of all ranks together: two for each element of each reduction, less what masks leave
        out."""
        total = sum(
            2.0 * math.prod(self._extent(e, call) for e in extents) for extents in self.reductions
        )
        return total * self._live_part(call)

    def state_bytes(self, call: Call) -> float:
        """What the states of this rank's rows weigh."""
        if call.folds is None:
            return 0.0
        rows = 1.0
        for dim in call.sharding.rows:
            rows *= max(call.layout_of(dim).lengths)
        total = 0.0
        for spec in call.folds.facts.specs:
            open_dims = sum(n is None for n in spec.shape)
            total += (
                math.prod(n for n in spec.shape if n is not None) * spec.itemsize
                * (rows if open_dims and call.sharding.rows else 1.0)
            )  # fmt: skip
        return total

    def live(self, sharding: Sharding) -> Callable[[Unit, int, int], bool] | None:
        """Whether rows meet elements of the stream at all; ``None`` where nothing is known."""
        stream = sharding.stream
        if stream is None or len(sharding.rows) != 1:
            return None
        rows = sharding.rows[0]
        masks = [m for m in self.masks if (m.row, m.column) == (rows.arguments, stream.arguments)]
        if not masks:
            return None
        return lambda unit, start, stop: all(
            mask.is_live(unit[0].start, unit[0].start + unit[0].length, start, stop)
            for mask in masks
        )

    def _live_part(self, call: Call) -> float:
        layout, stream = call.stream_layout, call.sharding.stream
        if stream is None or layout is None or len(call.sharding.rows) != 1:
            return 1.0
        rows = call.sharding.rows[0]
        length = call.layout_of(rows).length
        return math.prod(
            mask.part(length, layout.length)
            for mask in self.masks
            if (mask.row, mask.column) == (rows.arguments, stream.arguments)
        )

    @staticmethod
    def _extent(extent: Extent, call: Call) -> int:
        if isinstance(extent, int):
            return extent
        argument, axis = extent
        dim = call.sharding.dim_of(argument)
        if dim is not None and dim.axis_of(argument) == axis:
            return call.layout_of(dim).length * dim.scale_of(argument)
        return int(call.arguments[argument].shape[axis])


def work_of(module: Any, dims: Sequence[Dim]) -> Work:
    """Of a module of cascades."""
    import mlir.ir as ir

    found = []
    for function in module.body.operations:
        if "redfuse.dims" not in function.attributes:
            continue
        arguments = list(function.regions[0].blocks[0].arguments)
        for op in function.regions[0].blocks[0].operations:
            operation = op.operation
            if operation.name != "redfuse.cascade":
                continue
            extents = _extents(operation, arguments, ir)
            for inner in operation.regions[0].blocks[0].operations:
                if inner.operation.name == "redfuse.reduce":
                    over, into = (list(inner.attributes[name]) for name in ("over", "into"))
                    found.append(tuple(extents.get(int(d), 1) for d in (*over, *into)))
        return Work(tuple(found), masks_of(function, dims))
    return Work((), ())


def _extents(operation: Any, arguments: list[Any], ir: Any) -> dict[int, Extent]:
    """Of each iteration dim."""
    found: dict[int, Extent] = {}
    maps = [attribute.value for attribute in operation.attributes["indexing_maps"]]
    for value, map_ in zip(operation.operands, maps, strict=True):
        kind = ir.RankedTensorType(value.type)
        number = next((i for i, a in enumerate(arguments) if a == value), None)
        for axis, expression in enumerate(map_.results):
            if not isinstance(expression, ir.AffineDimExpr):
                continue
            dim = ir.AffineDimExpr(expression).position
            if not kind.is_dynamic_dim(axis):
                found[dim] = kind.get_dim_size(axis)
            elif number is not None:
                found.setdefault(dim, (number, axis))
    return found
