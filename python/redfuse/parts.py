"""What of a program's dims one process of several has."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Part:
    """What of a program's dims one process has.

    dims: (argument, axis) of each dim along which nothing is reduced; all arguments and results
        that are walked with it have the same part. Two scalars come last among the arguments for
        each of them: where the part starts, and how long the whole is.
    sizes: how long the part of each dim is, 0 where that is open.
    chunk: how long the chunks of the streamed dim are, 0 where that is open.
    """

    dims: tuple[tuple[int, int], ...] = ()
    sizes: tuple[int, ...] = ()
    chunk: int = 0
