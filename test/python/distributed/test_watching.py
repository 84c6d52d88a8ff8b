"""A collective of GPUs that does not end is an error in the thread that started it."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
from redfuse.distributed import groups
from redfuse.distributed.watching import LOOK, Watch, raise_in
from redfuse.errors import RankError


def event_of(ends: float) -> SimpleNamespace:
    """Behind a collective that has ended once the clock says so."""
    return SimpleNamespace(query=lambda: time.monotonic() > ends)


def test_what_does_not_end_is_told_once() -> None:
    told: list[tuple[str, int]] = []
    start = time.monotonic()
    watch = Watch()
    watch.add(event_of(start), start + 1, lambda thread: told.append(("ended", thread)))
    watch.add(event_of(start + 0.5), start + 1, lambda thread: told.append(("slow", thread)))
    for number in range(3):
        watch.add(
            event_of(start + 60), start + 1, lambda thread, n=number: told.append((f"{n}", thread))
        )
    time.sleep(1 + 4 * LOOK)
    # The others wait behind the first.
    assert told == [("0", threading.get_ident())]
    watch.add(event_of(start + 60), time.monotonic(), lambda thread: told.append(("again", thread)))
    time.sleep(4 * LOOK)
    assert [name for name, _ in told] == ["0", "again"]


def test_a_gpu_that_has_failed_ends_no_watch() -> None:
    def query() -> bool:
        raise RuntimeError("CUDA error")

    told: list[int] = []
    watch, start = Watch(), time.monotonic()
    watch.add(SimpleNamespace(query=query), start, told.append)
    time.sleep(2 * LOOK)
    watch.add(event_of(start + 60), start, told.append)
    time.sleep(3 * LOOK)
    assert told == [threading.get_ident()]


def test_the_error_comes_where_the_collective_was_started() -> None:
    """While that thread waits for something else."""
    watch, start = Watch(), time.monotonic()
    with pytest.raises(RankError, match="rank 3 did not answer") as caught:
        watch.add(
            event_of(start + 60),
            start,
            lambda thread: raise_in(thread, "rank 3 did not answer", [3]),
        )
        while time.monotonic() < start + 10:
            time.sleep(0.01)
    assert caught.value.ranks == (3,) and caught.type.__name__ == "RankError"
    assert time.monotonic() - start < 5


def test_a_thread_that_has_ended_is_told_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    ended = threading.Thread(target=lambda: None)
    ended.start()
    ended.join()
    assert ended.ident is not None
    raise_in(ended.ident, "rank 1 did not answer", [1])
    assert "rank 1 did not answer" in capfd.readouterr().err


@pytest.mark.parametrize("work", [None, SimpleNamespace(wait=lambda: None)])
def test_collectives_of_gpus_are_watched_whatever_they_give_back(
    work: SimpleNamespace | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch gives back nothing for those of the current stream."""
    monkeypatch.setattr(groups, "torch_distributed", lambda: None)
    watched: list[str] = []
    group = groups.Group.__new__(groups.Group)
    group.on_gpu, group._failure = True, ""
    monkeypatch.setattr(group, "_watch", watched.append)
    group.run(lambda _: work, "states")
    assert watched == ["states"]
