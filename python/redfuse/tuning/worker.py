"""The other side of ``measure``: starts that process, asks it, and ends it when it hangs."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from ..errors import Error


class WorkerError(Error):
    """The process ended, or did not answer in time."""


class Worker:
    """One process that measures candidates; started again after it ended.

    request: see ``measure.Subject``. default: the schedules that results are compared with.
    """

    def __init__(self, request: dict, default: Sequence[str]):
        self._request, self._default = request, list(default)
        self._process: subprocess.Popen[str] | None = None
        self._errors: Any = None
        self._first_ms = self._scale = 0.0  # times of a later process are in the first one's terms

    def first(self, seconds: float) -> dict[str, Any]:
        """Starts the process; what it says of the default schedules. Raises WorkerError."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path))),
        }
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (the process writes to it)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "redfuse.tuning.measure"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            env=environment,
        )  # fmt: skip
        self._say(self._request)
        found = self._ask(self._default, seconds)
        if "ms" in found:
            self._first_ms = self._first_ms or found["ms"]
            self._scale = self._first_ms / found["ms"]
        return found

    def trial(self, schedules: Sequence[str], seconds: float) -> dict[str, Any]:
        """What ``Subject.trial`` answers; an ``error`` also where the process ends or takes
        longer."""
        try:
            if self._process is None:
                self.first(4 * seconds)
            found = self._ask(schedules, seconds)
            return {**found, "ms": found["ms"] * self._scale} if "ms" in found else found
        except WorkerError as error:
            return {"error": str(error)}

    def close(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, self._errors):
            if stream is not None:
                # What was written and not sent has nobody to go to.
                with contextlib.suppress(OSError):
                    stream.close()

    def _say(self, value: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended: reading says so

    def _ask(self, schedules: Sequence[str], seconds: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        self._say(list(schedules))
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            start = time.monotonic()
            while not selector.select(max(0.0, start + seconds - time.monotonic())):
                if time.monotonic() - start >= seconds:
                    self.close()
                    raise WorkerError(f"no result in {seconds:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            why = self._why()
            self.close()
            raise WorkerError(f"the process that measures ended: {why}")
        found = json.loads(line)
        if found.pop("over", False):  # the GPU's context is spoilt: the next one needs another
            self.close()
        return found

    def _why(self) -> str:
        assert self._process is not None
        code = self._process.wait()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        said = next((line for line in reversed(lines) if "rror" in line or "ssert" in line), "")
        return f"{'signal' if code < 0 else 'exit code'} {abs(code)}; {said[:300]}"
