"""Processes with a process group of Gloo, that run functions of this folder when they are told."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing as mp
import os
import tempfile
import traceback
from collections.abc import Iterator
from typing import Any

# Imported once, before the processes are forked.
PRELOAD = [
    "torch",
    "torch.distributed.device_mesh",
    "torch.distributed.tensor",
    "redfuse.distributed.program",
]
LIMIT = 100.0


def _work(
    rank: int, size: int, store: str, worlds: list[list[int]], timeout: float, pipe: Any
) -> None:
    import datetime

    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=size,
        timeout=datetime.timedelta(seconds=timeout),
    )  # fmt: skip
    meshes = {len(ranks): DeviceMesh("cpu", ranks) for ranks in worlds}
    while True:
        task = pipe.recv()
        if task is None:
            break
        module, name, world, arguments = task
        try:
            function = getattr(importlib.import_module(module), name)
            pipe.send(("ok", function(meshes[world], **arguments)))
        except BaseException as error:
            # What is raised may have no pickle.
            pipe.send(("error", (type(error).__name__, str(error), traceback.format_exc())))
    with contextlib.suppress(Exception):
        dist.destroy_process_group()
    os._exit(0)


class Ranks:
    """``size`` processes; ``worlds`` are the ranks of the meshes that tasks may have."""

    def __init__(self, size: int, worlds: list[list[int]], timeout: float = 60.0):
        context = mp.get_context("forkserver")
        context.set_forkserver_preload(PRELOAD)
        self.folder = tempfile.TemporaryDirectory()
        self.worlds = {len(ranks): ranks for ranks in worlds}
        self.pipes, self.processes = [], []
        store = os.path.join(self.folder.name, "store")
        for rank in range(size):
            here, there = context.Pipe()
            process = context.Process(
                target=_work, args=(rank, size, store, worlds, timeout, there), daemon=True
            )
            process.start()
            self.pipes.append(here)
            self.processes.append(process)

    def start(self, world: int, function: Any, arguments: Any) -> None:
        """Tells all ranks of a world to run a function; ``arguments(rank)`` are its keywords."""
        for local, rank in enumerate(self.worlds[world]):
            self.pipes[rank].send((function.__module__, function.__name__, world, arguments(local)))

    def answer(self, world: int, local: int, limit: float = LIMIT) -> tuple[str, Any]:
        """What a rank has to say: ("ok", result) or ("error", (type, message, traceback))."""
        rank = self.worlds[world][local]
        if not self.pipes[rank].poll(limit):
            return "error", ("Silence", f"rank {rank} said nothing for {limit} s", "")
        try:
            return self.pipes[rank].recv()
        except EOFError:
            return "error", ("Death", f"rank {rank} is gone", "")

    def run(self, world: int, function: Any, **arguments: Any) -> list[Any]:
        """The results of a function on all ranks of a world; fails where one raises."""
        self.start(world, function, lambda _: arguments)
        answers = [self.answer(world, local) for local in range(world)]
        for local, (verdict, said) in enumerate(answers):
            assert verdict == "ok", f"rank {local} of {world}: {said[0]}: {said[1]}\n{said[2]}"
        return [said for _, said in answers]

    def errors(self, world: int, function: Any, arguments: Any) -> list[tuple[str, str] | None]:
        """What was raised on each rank: type and message."""
        self.start(world, function, arguments)
        answers = [self.answer(world, local) for local in range(world)]
        return [said[:2] if verdict == "error" else None for verdict, said in answers]

    def close(self) -> None:
        for pipe in self.pipes:
            with contextlib.suppress(OSError):
                pipe.send(None)
        for process in self.processes:
            process.join(1)
            if process.is_alive():
                process.kill()
        self.folder.cleanup()


@contextlib.contextmanager
def ranks_of(size: int, worlds: list[list[int]], timeout: float = 60.0) -> Iterator[Ranks]:
    """The processes, ended at the end."""
    found = Ranks(size, worlds, timeout)
    try:
        yield found
    finally:
        found.close()
