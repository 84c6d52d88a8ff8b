"""Which function lowers which operation of PyTorch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .builder import Builder, Tensor

LOWERINGS: dict[str, Callable[..., Any]] = {}


@dataclasses.dataclass
class Call:
    """One operation of a graph. value: what PyTorch's meta function says of the result."""

    b: Builder
    value: Any

    @property
    def shape(self) -> tuple[Any, ...]:
        """Of the result."""
        return tuple(self.value.shape)

    @property
    def dtype(self) -> Any:
        """Of the result."""
        return self.value.dtype

    def full(self, number: Any) -> Tensor:
        """A result of one number."""
        return self.b.full(self.shape, self.dtype, number)


def lowers(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function of a call and the operation's arguments by their names in its schema.
    Names without a library are aten's."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            LOWERINGS[name if name.count(".") == 2 else f"aten.{name}"] = function
        return function

    return add


def axis(dim: int, rank: int) -> int:
    """A dim counted from the end as one from the start."""
    return dim + rank if dim < 0 else dim


def axes(dims: Any, rank: int) -> list[int]:
    """Dims in order; none given are all."""
    if dims is None or dims == [] or dims == () or rank == 0:
        return list(range(rank))
    return sorted(axis(d, rank) for d in ([dims] if isinstance(dims, int) else dims))
