"""Worker processes that may die: an assertion or a hang in a program is that program's failure."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")
SECONDS = 120.0  # for one program; they take a fraction of one
TASKS_OF_A_WORKER = 200  # contexts are not all freed


class Worker:
    """One process and what it is at."""

    def __init__(self, seconds: float, script: Path = WORKER) -> None:
        self.seconds, self.script = seconds, script
        self.task: dict | None = None
        self.start = 0.0
        self.process: subprocess.Popen | None = None
        self.errors: Any = None
        self.tasks = 0

    def give(self, task: dict) -> None:
        """Starts a task."""
        if self.process is None or self.tasks >= TASKS_OF_A_WORKER:
            self.stop()
            self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop()
            self.process = subprocess.Popen(
                [sys.executable, str(self.script), "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self.errors, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            self.tasks = 0
        self.task, self.start = task, time.monotonic()
        self.tasks += 1
        try:
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its output says so

    def answer(self) -> dict:
        """What became of the task; the process has something to say or is dead."""
        line = self.process.stdout.readline()
        if line:
            answer = json.loads(line)
            if answer.pop("restart", False):
                self.stop()
        else:
            code = self.process.wait()
            answer = {**self.task, "kind": "crash", "where": f"exit status {code}", "data": "",
                      "detail": self.last_words()}  # fmt: skip
            self.stop()
        self.task = None
        return answer

    def late(self) -> dict:
        """Ends a task that takes too long."""
        answer = {**self.task, "kind": "hang", "where": "", "data": "",
                  "detail": f"no answer in {self.seconds:.0f} s"}  # fmt: skip
        self.stop()
        self.task = None
        return answer

    def last_words(self) -> str:
        """The end of what the process wrote to stderr, without the stack."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").splitlines()
        told = [line for line in lines if "ssert" in line or "rror" in line or "LLVM" in line]
        return "\n".join((told or lines)[:12])

    def stop(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.errors.close()
            self.process = None


def run(
    tasks: Iterable[dict], jobs: int, script: Path = WORKER, seconds: float = SECONDS
) -> Iterator[dict]:
    """Answers in the order in which they come; what a task is, worker.py says.

    script: what a process runs: reads a line of JSON a task, writes one with its answer.
    seconds: for one task; longer is a hang.
    """
    workers = [Worker(seconds, script) for _ in range(jobs)]
    waiting = iter(tasks)
    try:
        exhausted = False
        while True:
            for worker in workers:
                if worker.task is None and not exhausted:
                    task = next(waiting, None)
                    if task is None:
                        exhausted = True
                    else:
                        worker.give(task)
            busy = {w.process.stdout: w for w in workers if w.task is not None}
            if not busy:
                return
            ready, _, _ = select.select(list(busy), [], [], 1.0)
            for stream in ready:
                yield busy[stream].answer()
            for worker in busy.values():
                if worker.task is not None and time.monotonic() - worker.start > seconds:
                    yield worker.late()
    finally:
        for worker in workers:
            worker.stop()


def minimise(
    answer: dict, jobs: int, plan: dict | None = None, attempts: int = 300, script: Path = WORKER
) -> dict:
    """A shorter list of choices, with smaller numbers, that fails in the same way."""
    best = dict(answer)
    wanted = answer["kind"]
    spent = 0

    def candidates(choices: list[int]) -> Iterator[list[int]]:
        size = max(1, len(choices) // 2)
        while size:
            for start in range(0, len(choices), size):
                yield choices[:start] + choices[start + size :]
            size //= 2
        for at, number in enumerate(choices):
            for smaller in {0, number // 2, number - 1}:
                if 0 <= smaller < number:
                    yield [*choices[:at], smaller, *choices[at + 1 :]]

    improved = True
    while improved and spent < attempts:
        improved = False
        tried = []
        for choices in candidates(best["choices"]):
            tried.append({"id": len(tried), "choices": choices, "plan": plan or {},
                          "data": answer.get("data_seed", 0)})  # fmt: skip
            if len(tried) + spent >= attempts:
                break
        for found in run(tried, jobs, script):
            spent += 1
            # The shortest of what is tried at once is as good as any.
            if found.get("kind") == wanted and _size(found) < _size(best):
                best = {**found, "data_seed": answer.get("data_seed", 0)}
                improved = True
                break
    return best


def _size(answer: dict) -> tuple[int, int]:
    choices = answer["choices"]
    return len(choices), sum(choices)
