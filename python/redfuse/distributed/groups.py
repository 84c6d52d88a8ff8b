"""A process group whose ranks agree before they communicate, and whose failures name a rank.

All data goes by torch.distributed's collectives. What is added: before a call its ranks exchange a
short header over the host (Gloo), in which each says what it was given or why it cannot go on; and
who waits for a collective looks now and then whether another rank has failed. On GPUs nobody waits,
and a thread looks.
"""

from __future__ import annotations

import datetime
import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..errors import ArgumentError, RankError, UnsupportedError
from .streams import current_stream
from .watching import LOOK, raise_in, watch

# Bytes of a header. Messages are cut to fit.
HEADER = 4096
# Seconds that other ranks have to say what they wait for.
GRACE = 2.0

# Groups of Gloo beside those of GPUs: one for all programs.
_controls: dict[Any, Any] = {}


def torch_distributed() -> Any:
    """The module torch.distributed; raises UnsupportedError where there is none."""
    try:
        import torch.distributed as distributed
    except ImportError:
        raise UnsupportedError(
            "redfuse.distributed needs PyTorch: pip install redfuse[torch]"
        ) from None
    if not distributed.is_available():
        raise UnsupportedError(
            "redfuse.distributed needs a PyTorch with torch.distributed; this build has none"
        )
    return distributed


class Group:
    """The ranks of one dim of a DeviceMesh.

    rank, size: this process's place in it, and how many there are.
    on_gpu: whether data is exchanged between GPUs (NCCL).
    timeout: seconds after which a rank that does not answer is an error.
    """

    def __init__(self, mesh: Any, mesh_dim: str | int | None, timeout: float | None):
        distributed = torch_distributed()
        if mesh.ndim > 1 and mesh_dim is None:
            raise ArgumentError(
                f"mesh: has {mesh.ndim} dims; expected mesh_dim=, the name or number of the one "
                "that the program is sharded over"
            )
        self.mesh = mesh if mesh.ndim == 1 else mesh[_name_of(mesh, mesh_dim)]
        self.data = self.mesh.get_group()
        self.rank, self.size = self.mesh.get_local_rank(), self.mesh.size()
        self.on_gpu = self.mesh.device_type != "cpu"
        self.ranks = distributed.get_process_group_ranks(self.data)
        self.timeout = _timeout_of(self.data) if timeout is None else float(timeout)
        self._store = _store()
        self._name = f"redfuse/{'-'.join(map(str, self.ranks))}"
        self._call, self._failure = 0, ""
        self.control = self.data
        if self.on_gpu and self.size > 1:
            key = (self.data, self.timeout)
            if key not in _controls:
                _controls[key] = distributed.new_group(
                    self.ranks,
                    backend="gloo",
                    use_local_synchronization=True,
                    timeout=datetime.timedelta(seconds=self.timeout),
                )
            self.control = _controls[key]

    # ---- agreeing ----------------------------------------------------------------

    def agree(self, said: dict[str, Any], error: Exception | None = None) -> list[dict[str, Any]]:
        """What all ranks say, by rank. Raises RankError where one cannot go on, and this rank's
        own ``error`` on this rank."""
        import torch

        self._check_whole()
        self._call += 1
        if self.size == 1:
            if error is not None:
                raise error
            return [said]
        if error is not None:
            said = {"error": f"{type(error).__name__}: {error}"[: HEADER // 4]}
        text = json.dumps({**said, "call": self._call}).encode()
        if len(text) > HEADER:
            raise ArgumentError(f"a header of {len(text)} bytes; expected at most {HEADER}")
        mine = torch.zeros(HEADER, dtype=torch.uint8)
        mine[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        everyone = [torch.empty_like(mine) for _ in range(self.size)]
        work = torch_distributed().all_gather(everyone, mine, group=self.control, async_op=True)
        self._wait_on_host(work, "the others' arguments")
        found = [json.loads(bytes(one.numpy()).rstrip(b"\0")) for one in everyone]
        if error is not None:
            raise error
        failed = [rank for rank, one in enumerate(found) if "error" in one]
        if failed:
            raise RankError(
                "; ".join(f"rank {self.ranks[r]} failed: {found[r]['error']}" for r in failed),
                [self.ranks[r] for r in failed],
            )
        return found

    def check_same(self, said: Sequence[dict[str, Any]], names: dict[str, str]) -> None:
        """Raises RankError unless all ranks say the same of what ``names`` lists, with a text each
        for the message."""
        for key, text in names.items():
            values = [json.dumps(one[key]) for one in said]
            common = max(values, key=values.count)
            if values.count(common) == len(values):
                continue
            if values.count(common) == 1:
                common = values[0]
            odd = [rank for rank, value in enumerate(values) if value != common]
            raise RankError(
                f"ranks disagree about {text}: "
                + "; ".join(f"rank {self.ranks[r]} has {values[r]}" for r in odd[:4])
                + f", expected {common} as on rank {self.ranks[values.index(common)]}",
                [self.ranks[r] for r in odd],
            )

    # ---- collectives -------------------------------------------------------------

    def all_gather(self, mine: Any, what: str, everyone: Any = None) -> Any:
        """``[size, *shape]`` of tensors of one shape and dtype; in ``everyone`` if given."""
        flat = mine.contiguous()
        if everyone is None:
            everyone = flat.new_empty((self.size, *flat.shape))
        if self.size == 1:
            everyone[0].copy_(flat)
            return everyone
        if flat.numel() == 0:
            return everyone
        if self.on_gpu:
            self.run(lambda d: _all_gather_in_turn(d, everyone, flat, self.data), what)
            return everyone
        parts = list(everyone.unbind(0))
        self.run(lambda d: d.all_gather(parts, flat, group=self.data, async_op=True), what)
        return everyone

    def all_to_all(self, parts: Sequence[Any], received: Sequence[int], what: str) -> list[Any]:
        """Flat tensors of one dtype, ``parts[r]`` for rank r; ``received``: how many elements come
        from each."""
        import torch

        sent = [part.reshape(-1) for part in parts]
        lengths = [part.numel() for part in sent]
        out = torch.empty(sum(received), dtype=sent[0].dtype, device=sent[0].device)
        if self.size == 1:
            return [sent[0]]
        # Of bytes, which all back ends exchange.
        unit = out.element_size()
        source, target = _bytes(torch.cat(sent)), _bytes(out)
        self.run(
            lambda d: d.all_to_all_single(
                target, source, [n * unit for n in received], [n * unit for n in lengths],
                group=self.data, async_op=True,
            ),
            what,
        )  # fmt: skip
        return list(out.split(list(received)))

    def start_exchange(
        self, sent: Sequence[Any], to: int, received: Sequence[Any], source: int
    ) -> list[Any]:
        """Starts to send tensors to one rank and to receive others from one; what :meth:`finish`
        waits for."""
        self._check_whole()
        distributed = torch_distributed()
        ops = [
            distributed.P2POp(distributed.isend, one, self.ranks[to], self.data)
            for one in sent
            if one.numel()
        ] + [
            distributed.P2POp(distributed.irecv, one, self.ranks[source], self.data)
            for one in received
            if one.numel()
        ]
        return distributed.batch_isend_irecv(ops) if ops else []

    def finish(self, works: Sequence[Any], what: str) -> None:
        """Waits for what was started: on a GPU the current stream does."""
        if self.on_gpu:
            for work in works:
                self._wait(work, what)
        elif works:
            self._wait_on_host(Awaited(works), what)

    def send(self, tensor: Any, to: int, what: str) -> None:
        """A tensor for one rank."""
        self.finish([torch_distributed().isend(tensor, self.ranks[to], group=self.data)], what)

    def receive(self, tensor: Any, source: int, what: str) -> None:
        """A tensor from one rank, into ``tensor``."""
        self.finish([torch_distributed().irecv(tensor, self.ranks[source], group=self.data)], what)

    def broadcast(self, tensor: Any, source: int, what: str) -> None:
        """The tensor of one rank, into all others'."""
        self.run(
            lambda d: d.broadcast(tensor, self.ranks[source], group=self.data, async_op=True), what
        )

    def run(self, start: Callable[[Any], Any], what: str) -> None:
        """Starts a collective and waits for it. Raises RankError where it fails.

        start: is given torch.distributed; what it returns is waited for, ``None`` where the current
        stream waits already."""
        self._check_whole()
        try:
            work = start(torch_distributed())
        except RuntimeError as error:
            self._broken(what, error)
        if work is not None:
            self._wait(work, what)
        elif self.on_gpu:
            self._watch(what)

    # ---- failures ----------------------------------------------------------------

    def failed(self, error: BaseException) -> None:
        """Tells the others that this rank cannot go on in the middle of a call."""
        if self.size > 1 and not self._failure:
            self._failure = f"{type(error).__name__}: {error}"
            self._say(error=self._failure[: HEADER // 4])

    def _check_whole(self) -> None:
        if self._failure:
            raise RankError(
                f"the group of ranks {', '.join(map(str, self.ranks))} has failed before "
                f"({self._failure}); make a new process group, and compile again",
            )

    def _wait(self, work: Any, what: str) -> None:
        if self.on_gpu:
            try:
                work.wait()  # the stream waits
            except RuntimeError as error:
                self._broken(what, error)
            self._watch(what)
            return
        self._wait_on_host(work, what)

    def _wait_on_host(self, work: Any, what: str) -> None:
        start = time.monotonic()
        look, pause = start + LOOK, 0.0
        while not work.is_completed():
            now = time.monotonic()
            if now > look:
                look = now + LOOK
                if self._others():  # somebody has failed, or waits in vain
                    self._broken(what, None)
            if now - start > self.timeout:
                self._broken(what, None)
            time.sleep(pause)
            pause = min(0.002, max(2e-5, 1.5 * pause))
        try:
            work.wait()
        except RuntimeError as error:
            self._broken(what, error)

    def _watch(self, what: str) -> None:
        """Sees to it that a collective that does not end is an error in this thread, before NCCL's
        own watchdog ends the process. What is on the stream now waits for it."""
        import torch

        if torch.cuda.is_current_stream_capturing():
            return
        event = torch.cuda.Event()
        event.record(current_stream())
        until = time.monotonic() + max(self.timeout - GRACE - 2 * LOOK, self.timeout / 2)
        watch.add(event, until, lambda thread: self._late(what, thread))

    def _late(self, what: str, thread: int) -> None:
        import torch

        text, ranks = self._blamed(what)
        raise_in(thread, text, ranks)
        # The GPU stops waiting, and so does who waits for it.
        try:
            self.data._get_backend(torch.device(self.mesh.device_type)).abort()
        except (RuntimeError, AttributeError) as error:
            print(f"redfuse.distributed: {text}; {error}", file=sys.stderr, flush=True)

    def _say(self, **status: str) -> None:
        if self._store is not None:
            try:
                self._store.set(f"{self._name}/{self.rank}", json.dumps(status))
            except RuntimeError:  # the process that holds the store is gone, too
                self._store = None

    def _others(self) -> dict[int, dict[str, str]]:
        """What other ranks say of themselves: nothing, unless something went wrong."""
        found: dict[int, dict[str, str]] = {}
        try:
            for rank in range(self.size):
                key = f"{self._name}/{rank}"
                if rank == self.rank or self._store is None or not self._store.check([key]):
                    continue
                found[rank] = json.loads(self._store.get(key))
        except RuntimeError:
            self._store = None
        return found

    def _broken(self, what: str, error: Exception | None) -> NoReturn:
        """Raises RankError, which names the ranks that failed or do not answer."""
        cause = f" ({str(error).splitlines()[0]})" if error is not None and str(error) else ""
        text, ranks = self._blamed(what)
        raise RankError(f"{text}{cause}", ranks) from error

    def _blamed(self, what: str) -> tuple[str, list[int]]:
        """Which ranks failed or do not answer, as a text and their numbers: this rank says that it
        waits, and hears what the others say."""
        self._say(waiting=what)
        # All that are there see this within LOOK; those that are not are what is wrong.
        until = time.monotonic() + min(GRACE, self.timeout)
        while True:
            said = self._others()
            if len(said) == self.size - 1 or time.monotonic() > until:
                break
            time.sleep(LOOK / 4)
        failed = {r: status["error"] for r, status in said.items() if "error" in status}
        silent = [r for r in range(self.size) if r != self.rank and r not in said]
        if failed:
            ranks = list(failed)
            text = "; ".join(f"rank {self.ranks[r]} failed: {t}" for r, t in failed.items())
        elif silent and self._store is not None:
            ranks = silent
            names = ", ".join(str(self.ranks[r]) for r in silent)
            text = (
                f"rank{'s' if len(silent) > 1 else ''} {names} did not answer: died, hangs, or is "
                "still at work"
            )
        elif self._store is None:
            ranks = [0] if self.rank else []
            text = "the process that holds the store of the process group (rank 0) is gone"
        else:
            ranks = []
            text = "all ranks wait for each other: " + "; ".join(
                f"rank {self.ranks[r]} for {status['waiting']}" for r, status in said.items()
            )
        self._failure = text
        waited = f"rank {self.ranks[self.rank]} waited for {what}"
        return (
            f"{text}; {waited}, with a time-out of {self.timeout:g} s",
            [self.ranks[r] for r in ranks],
        )


class Awaited:
    """Messages between processes of a host, waited for by a thread: Gloo does not say whether one
    is there, and gives up a connection where a wait for it is cut short."""

    _tasks: queue.SimpleQueue[Awaited] | None = None

    def __init__(self, works: Sequence[Any]):
        self._works, self._done = works, threading.Event()
        self._error: RuntimeError | None = None
        if Awaited._tasks is None:
            Awaited._tasks = queue.SimpleQueue()
            threading.Thread(target=Awaited._serve, name="redfuse-waits", daemon=True).start()
        Awaited._tasks.put(self)

    @staticmethod
    def _serve() -> None:
        tasks = Awaited._tasks
        assert tasks is not None
        while True:
            one = tasks.get()
            try:
                for work in one._works:
                    work.wait()
            except RuntimeError as error:
                one._error = error
            one._done.set()

    def is_completed(self) -> bool:
        """Whether all messages are there, or one cannot come."""
        return self._done.is_set()

    def wait(self) -> None:
        """Raises what went wrong."""
        if self._error is not None:
            raise self._error


def _all_gather_in_turn(distributed: Any, everyone: Any, mine: Any, group: Any) -> None:
    """An all-gather on the current stream, between what is before and behind it there: on NCCL's
    own stream it would wait for this one, and this one for it."""
    # The name since PyTorch 2.12, and the one before.
    gather = getattr(distributed, "all_gather_single", None) or distributed.all_gather_into_tensor
    gather(everyone.view(-1), mine.view(-1), group=group)


def _bytes(tensor: Any) -> Any:
    import torch

    return tensor.contiguous().view(torch.uint8)


def _name_of(mesh: Any, mesh_dim: str | int | None) -> str:
    names = mesh.mesh_dim_names
    if names is None:
        raise ArgumentError(
            "mesh: its dims have no names; expected init_device_mesh(..., mesh_dim_names=(...))"
        )
    if isinstance(mesh_dim, int) and 0 <= mesh_dim < len(names):
        return names[mesh_dim]
    if mesh_dim not in names:
        raise ArgumentError(f"mesh_dim: expected one of {', '.join(names)}, got {mesh_dim!r}")
    return str(mesh_dim)


def _timeout_of(group: Any) -> float:
    """The process group's own time-out in seconds."""
    import torch

    for device in ("cpu", "cuda"):
        try:
            return group._get_backend(torch.device(device)).options._timeout.total_seconds()
        except (RuntimeError, AttributeError):
            continue
    return 600.0


def _store() -> Any:
    """The key-value store with which the process group was made: the way to hear of ranks that no
    collective reaches. PyTorch has no public name for it."""
    from torch.distributed import distributed_c10d

    try:
        return distributed_c10d.PrefixStore("redfuse", distributed_c10d._get_default_store())
    except (AttributeError, RuntimeError, ValueError):
        return None
