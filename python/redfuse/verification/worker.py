"""SymPy in a process of its own, so that it can be stopped: a proof may take for ever.

The process reads a JSON list of certificates (their entries) on stdin and writes a JSON line for
each check: the number of the certificate and the fields of the check; then a line with the number
alone when a certificate is done.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .report import UNCHECKED, Check

SECONDS = 12.0


class Proofs:
    """The symbolic checks of some certificates, made while others go on. ``result`` collects
    them."""

    def __init__(self, certificates: Sequence[Mapping[str, Any]]):
        self._keys = [json.dumps(dict(c), sort_keys=True) for c in certificates]
        self._unique = list(dict.fromkeys(self._keys))
        self._found: list[list[Check]] = [[] for _ in self._unique]
        self._done: set[int] = set()
        self._started = time.monotonic()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "redfuse.verification.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment,
        )  # fmt: skip
        self._errors = ""
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._write, self._read, self._read_errors)
        ]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("[" + ",".join(self._unique) + "]")
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # It ended early: its errors say why.

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, fields = json.loads(line)
            if fields is None:
                self._done.add(number)
            else:
                self._found[number].append(Check(**fields))

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self._errors = self._process.stderr.read()

    def result(self, seconds: float = SECONDS) -> list[list[Check]]:
        """The checks of each certificate. Waits until ``seconds`` after the start at most; what is
        not decided then is not checked."""
        left = max(0.1, self._started + seconds - time.monotonic())
        try:
            self._process.wait(left)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join()
        found = []
        for key in self._keys:
            number = self._unique.index(key)
            checks = list(self._found[number])
            if number not in self._done:
                why = self._errors.strip().splitlines()[-1:] or [f"stopped after {seconds:g} s"]
                checks.append(Check("the remaining identities", "algebra", UNCHECKED, "",
                                    f"{why[0]}; the checks by numbers cover them"))  # fmt: skip
            found.append(checks)
        return found


def main() -> None:
    """The other process."""
    import dataclasses

    from ..explain.certificates import Certificate
    from . import symbolic

    for number, entries in enumerate(json.load(sys.stdin)):
        for check in symbolic.checks(Certificate.of(entries)):
            print(json.dumps([number, dataclasses.asdict(check)]), flush=True)
        print(json.dumps([number, None]), flush=True)


if __name__ == "__main__":
    main()
