"""A function in a process of its own, with limits of time and memory: whatever it does there, the
caller goes on."""

from __future__ import annotations

import dataclasses
import faulthandler
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

GIB = 1 << 30
TIMED_OUT = "timed out"
WAITING = "waiting"  # what a job tells while others keep it from going on: that is not its time
MOST_WORDS = 4000  # of what a process that died has written


@dataclasses.dataclass
class Outcome:
    """What became of a job.

    answer: what the function returned, None if it did not return. words: the end of its stderr.
    last: what it told last. how: "" if it returned, "timed out", or how it ended.
    """

    job: Any
    answer: dict | None
    how: str
    last: str
    words: str
    seconds: float


class _Child:
    """A forked process and the pipe through which it tells lines of JSON."""

    def __init__(self, work: Callable[[Any, Callable[[str], None]], dict], job: Any, memory: float):
        self.job, self.start = job, time.monotonic()
        self.told, self.waited = self.start, 0.0
        self.answer: dict | None = None
        self.last, self.rest = "", b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by end()
        self.pipe, there = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.id = os.fork()
        if self.id == 0:
            os.close(self.pipe)
            self._run(work, os.fdopen(there, "w"), memory)
        os.close(there)

    def _run(self, work: Callable, out: TextIO, memory: float) -> None:
        """In the child; does not return."""
        status = 1
        try:
            os.setpgid(0, 0)
            faulthandler.disable()
            os.dup2(self.errors.fileno(), 1)
            os.dup2(self.errors.fileno(), 2)
            sys.stdout = sys.stderr = os.fdopen(2, "w", closefd=False)
            limit = int(memory * GIB)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

            def tell(words: str) -> None:
                out.write(json.dumps(words) + "\n")
                out.flush()

            answer = work(self.job, tell)
            out.write(json.dumps(answer) + "\n")
            out.flush()
            status = 0
        except BaseException as error:
            import traceback

            traceback.print_exception(error)
        finally:
            sys.stderr.flush()
            os._exit(status)

    def read(self) -> bool:
        """Takes what the pipe has; False at its end."""
        data = os.read(self.pipe, 1 << 16)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if isinstance(told, str):
                self.waited, self.told = self._waited(), time.monotonic()
                self.last = told
            else:
                self.answer = told
        return bool(data)

    def _waited(self) -> float:
        return self.waited + (time.monotonic() - self.told if self.last == WAITING else 0.0)

    def seconds(self) -> float:
        """Of its own, so far."""
        return time.monotonic() - self.start - self._waited()

    def end(self, how: str = "") -> Outcome:
        """Ends the process with those that it started."""
        if how:
            for kill in (os.killpg, os.kill):
                try:
                    kill(self.id, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        _, status = os.waitpid(self.id, 0)
        code = os.waitstatus_to_exitcode(status)
        if self.answer is None and not how:
            how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        os.close(self.pipe)
        self.errors.seek(0)
        words = self.errors.read().decode(errors="replace")[-MOST_WORDS:]
        self.errors.close()
        return Outcome(self.job, self.answer, how, self.last, words, self.seconds())


def run(
    work: Callable[[Any, Callable[[str], None]], dict],
    jobs: Iterator[Any],
    processes: int,
    seconds: float,
    memory: float,
) -> Iterator[Outcome]:
    """``work(job, tell)`` of all jobs, in the order in which they end.

    seconds: of one job, without the time that it waits; memory: GiB of one process. What ``tell``
    is told is the outcome's ``last`` where the job does not return.
    """
    children: dict[int, _Child] = {}
    try:
        for job in jobs:
            child = _Child(work, job, memory)
            children[child.pipe] = child
            while len(children) >= processes:
                yield from _ended(children, seconds)
        while children:
            yield from _ended(children, seconds)
    finally:
        for child in children.values():
            child.end("stopped")


def _ended(children: dict[int, _Child], seconds: float) -> Iterator[Outcome]:
    """Waits for something to happen; the children that are over."""
    ready, _, _ = select.select(list(children), [], [], 0.5)
    over = [(pipe, "") for pipe in ready if not children[pipe].read()]
    gone = {pipe for pipe, _ in over}
    over += [
        (pipe, TIMED_OUT)
        for pipe, child in children.items()
        if pipe not in gone and child.seconds() > seconds
    ]
    for pipe, how in over:
        yield children.pop(pipe).end(how)
