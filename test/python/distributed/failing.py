"""What ranks do in tests of failures."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np


def call_of(mesh: Any, text: str, axes: list[int | None], shards: list[np.ndarray], act: str = "",
            **given: Any) -> float:  # fmt: skip
    """Calls a program; before that a rank may do something else: "die", "sleep SECONDS", "die in"
    and "raise in" the middle of the call."""
    import redfuse.distributed as rd
    import torch
    from redfuse.distributed.groups import Group
    from torch.distributed.tensor import Replicate, Shard

    placements = [Replicate() if axis is None else Shard(axis) for axis in axes]
    program = rd.compile(text, mesh, placements, **given)
    word, _, seconds = act.partition(" ")
    if act == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "sleep":
        time.sleep(float(seconds))
    if act in ("die in", "raise in"):
        whole = Group.all_gather

        def broken(self: Group, mine: Any, what: str, everyone: Any = None) -> Any:
            if act == "raise in":
                raise ValueError("no disk")
            os.kill(os.getpid(), signal.SIGKILL)
            return whole(self, mine, what, everyone)

        Group.all_gather = broken  # type: ignore[method-assign]
    start = time.monotonic()
    try:
        program(*[torch.from_numpy(a) for a in shards])
    except Exception as error:
        again = ""
        try:
            program(*[torch.from_numpy(a) for a in shards])
        except Exception as second:
            again = str(second)
        error.args = (f"{error} | after {time.monotonic() - start:.1f} s | then: {again}",)
        raise
    return time.monotonic() - start
