"""Running commands: long ones with progress and a log, short ones quietly."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "dev"
LOGS = ROOT / "build" / "logs"

# Without a terminal a line every so many seconds shows that a long step lives.
HEARTBEAT_S = 15.0


class DevError(Exception):
    """A failure to be told in one message, without a traceback."""


def say(message: str) -> None:
    """Prints a line of progress to stderr, so that stdout stays the job's own."""
    print(f"[dev] {message}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Keeps a second tools/dev of this tree from setting up or building at the same time."""
    path = ROOT / "build" / ".lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another tools/dev to finish its set-up or build")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Progress:
    """One line that is written over on a terminal; now and then a line elsewhere."""

    def __init__(self, title: str) -> None:
        self.title, self.start, self.last, self.detail = title, time.monotonic(), 0.0, ""
        self.terminal = sys.stderr.isatty()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._tick, daemon=True)
        if not self.terminal:
            say(f"{title} ...")
        self.thread.start()

    def seconds(self) -> float:
        return time.monotonic() - self.start

    def _tick(self) -> None:
        while not self.done.wait(0.2 if self.terminal else HEARTBEAT_S):
            line = f"[dev] {self.title} {self.seconds():.0f} s  {self.detail}"
            if self.terminal:
                sys.stderr.write("\r\x1b[K" + line[: _columns() - 1])
                sys.stderr.flush()
            else:
                print(line, file=sys.stderr, flush=True)

    def stop(self, verdict: str) -> None:
        self.done.set()
        self.thread.join()
        if self.terminal:
            sys.stderr.write("\r\x1b[K")
        say(f"{self.title}: {verdict} ({self.seconds():.1f} s)")


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        return 100


def step(
    title: str, command: Sequence[str | Path], *, log: str, env: Mapping[str, str] | None = None
) -> None:
    """Runs a long command with progress; its output goes to build/logs/LOG.

    Raises DevError with the end of the log when the command fails.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / log
    progress = _Progress(title)
    with path.open("w", buffering=1) as out:
        process = subprocess.Popen(
            [str(c) for c in command],
            cwd=ROOT,
            env=dict(env) if env is not None else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                out.write(line)
                # Ninja's "[3/40] Building CXX object CMakeFiles/...", pip's "Downloading ...".
                text = re.sub(r"CMakeFiles/\S+\.dir/", "", line.strip())
                if re.match(r"\[\d+/\d+\] |-- |[A-Z][a-z]+ing ", text):
                    progress.detail = text
            code = process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            progress.stop("interrupted")
            raise
    if code:
        progress.stop(f"failed with exit code {code}")
        tail = path.read_text(errors="replace").splitlines()[-60:]
        errors = [line for line in tail if re.search(r"error|fatal|No matching", line, re.I)]
        shown = tail if len(errors) > 20 or not errors else tail[-40:]
        raise DevError("\n".join(shown) + f"\n{title} failed; the whole log is in {path}")
    progress.stop("done")


def call(command: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> int:
    """Runs a command with this process's streams and returns its exit code."""
    sys.stdout.flush()
    return subprocess.run(
        [str(c) for c in command], cwd=ROOT, env=dict(env) if env is not None else None
    ).returncode


def output(command: Sequence[str | Path]) -> str:
    """The stdout of a short command, or DevError with its stderr."""
    done = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise DevError(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository that match, those not yet added included; deleted ones left out."""
    listed = output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    )
    return sorted({ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()})
