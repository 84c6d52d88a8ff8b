"""Programs whose dims are shared out among processes: several GPUs, several machines.

    import torch.distributed as dist
    from torch.distributed.tensor import Replicate, Shard
    import redfuse.distributed as rd

    attention = rd.compile("attention.mlir", mesh, [Replicate(), Shard(2), Shard(2)])
    out = attention(q, keys, values)        # this rank's shards, or DTensors
    print(attention.explain())

What is communicated follows from what the compiler derives: along a dim that is reduced each rank
folds its share into a state, and the states are merged. See docs/user/distributed.md. Needs the
extra ``torch``; collectives are those of torch.distributed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .graphs import capture
    from .layout import Layout
    from .links import Links
    from .measuring import measure
    from .planning import plan
    from .program import Program, compile

__all__ = ["Layout", "Links", "Program", "capture", "compile", "measure", "plan"]

_LAZY = {
    "Layout": "layout",
    "Links": "links",
    "Program": "program",
    "capture": "graphs",
    "compile": "program",
    "measure": "measuring",
    "plan": "planning",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'redfuse.distributed' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
