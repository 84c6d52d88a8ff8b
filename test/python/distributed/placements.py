"""DTensor's placements, or what programs ask of them where there is no PyTorch."""

from __future__ import annotations

import dataclasses

try:
    from torch.distributed.tensor import Replicate, Shard
except ImportError:

    class Replicate:  # type: ignore[no-redef]
        def is_replicate(self) -> bool:
            return True

    @dataclasses.dataclass(frozen=True)
    class Shard:  # type: ignore[no-redef]
        dim: int

        def is_replicate(self) -> bool:
            return False

        def is_partial(self) -> bool:
            return False


__all__ = ["Replicate", "Shard"]
