"""Ctrl-C, and SIGTERM for commands: real processes, told at random moments to end."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import interrupted
import pytest
from processor import slowness
from redfuse.targets.cuda import find_ptxas

SCRIPT = str(Path(interrupted.__file__))
COMMAND = "import sys, redfuse.cli as c; print('start', flush=True); sys.exit(c.main(sys.argv[1:]))"
SECOND = 1.0


@pytest.fixture(scope="module")
def limit() -> float:
    """A second, of a processor that is neither slow nor shared."""
    shared = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return SECOND * slowness() * max(1.0, shared)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment whose temporary files and cache are here; nothing of them may be left but
    entries of the cache."""
    for name in ("tmp", "cache"):
        (tmp_path / name).mkdir()
    yield {
        **os.environ,
        "TMPDIR": str(tmp_path / "tmp"),
        "REDFUSE_CACHE_DIR": str(tmp_path / "cache"),
    }
    assert os.listdir(tmp_path / "tmp") == []
    assert [n for n in os.listdir(tmp_path / "cache") if n.startswith(".")] == []


def interrupt(words: list[str], place: dict[str, str], moments: Iterator[float], limit: float
              ) -> None:  # fmt: skip
    """Runs ``interrupted.py``, and lets it end what it does each time that it starts."""
    process = subprocess.Popen(
        [sys.executable, SCRIPT, *words], env=place, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    asked, last = 0.0, ""
    for line in process.stdout:
        last, _, clock = line.partition(" ")
        if last == "start":
            time.sleep(next(moments))
            asked = time.monotonic()
            process.send_signal(signal.SIGINT)
        if last == "ended":
            assert float(clock) - asked < limit
    code = process.wait(timeout=120)
    assert (last, code) == ("fine", 0), process.stderr.read()


@pytest.mark.parametrize("fuse", ["fused", "plain"])
@pytest.mark.parametrize("kind", ["products", "sums"])
@pytest.mark.sample(3)
def test_a_call(kind: str, fuse: str, place: dict[str, str], limit: float) -> None:
    """Of a kernel on the pool's threads, of a loop of the host, and of one block for a long
    time; soon after its start, and late."""
    moments = random.Random(f"{kind} {fuse}")
    for longest in (0.02, 1.0):
        interrupt([kind, "cpu", fuse], place, iter(moments.uniform(0, longest) for _ in range(9)),
                  limit)  # fmt: skip


TARGETS = ["cpu", "cuda:sm_90a"] if find_ptxas() else ["cpu"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", range(5))
@pytest.mark.sample(3)
def test_a_compilation(number: int, target: str, place: dict[str, str], limit: float) -> None:
    """In all of its stages, LLVM and ptxas included, and in the look at the cache."""
    moments = random.Random(f"{number} {target}")
    interrupt(["compile", target, "fused"], place, iter([moments.uniform(0, 1 + number)]), limit)


@pytest.mark.sample(3)
@pytest.mark.parametrize("part", [0.8, 0.87, 0.94])
def test_the_code_generator(part: float, place: dict[str, str], limit: float) -> None:
    """Whose passes rely on those before them: none of them is left out (an assertion of LLVM's
    failed where one was)."""
    words = ["compile", "cpu", "fused"]
    with subprocess.Popen(
        [sys.executable, SCRIPT, *words], env=place, text=True, stdout=subprocess.PIPE
    ) as process:  # fmt: skip
        assert process.stdout is not None
        start, again = (float(process.stdout.readline().split()[1]) for _ in range(2))
        process.kill()
    for folder in (place["TMPDIR"], place["REDFUSE_CACHE_DIR"]):  # as they were
        shutil.rmtree(folder)
        os.mkdir(folder)
    interrupt(words, place, iter([part * (again - start)]), limit)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.sample(3)
def test_large_constants(number: int, place: dict[str, str], limit: float) -> None:
    """While they are read, printed for the cache and written beside the code."""
    moment = random.Random(f"constants {number}").uniform(0, 8)
    interrupt(["constants", "cpu", "fused"], place, iter([moment]), limit)


def ended(words: list[str], place: dict[str, str], moment: float, number: int, limit: float
          ) -> None:  # fmt: skip
    """Runs a command, and tells it to end so many seconds after it has started."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words], env=place, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "start\n"
    time.sleep(moment)
    asked = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert time.monotonic() - asked < limit
    assert process.returncode == 128 + number, errors
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith(("redfuse: interrupted", "redfuse: ended by SIG"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", ["compile", "run", "bench", "tune", "verify"])
def test_a_command(
    words: str, number: signal.Signals, tmp_path: Path, place: dict[str, str], limit: float
) -> None:
    """It says so, in one line; what it was to write is not there."""
    program = tmp_path / "program.mlir"
    program.write_text(interrupted.long(200))
    out = tmp_path / "out"
    given = {
        "compile": ["compile", program, "-o", out],
        "run": ["run", program, "--check", "--save", out],
        "bench": ["bench", "softmax/*", "--json", out],
        "tune": ["tune", program, "--json", out],
        "verify": ["verify", program, "--json"],
    }[words]
    moment = random.Random(f"{words} {number}").uniform(0.5, 2.5)
    # What the interpreter's end takes is beside it.
    ended([str(word) for word in given], place, moment, number, 2 * limit)
    assert not out.exists()
    children = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    assert not Path(children).exists() or "defunct" not in Path(children).read_text()


def test_calls_of_other_threads_go_on(scale: str) -> None:
    """A signal ends what the main thread does: a call beside it is not touched."""
    code = f"""
import os, signal, sys, threading, time
import numpy as np
import redfuse
sys.path.insert(0, {os.path.dirname(SCRIPT)!r})
from interrupted import FOR_EVER, PRODUCTS, repeated
exe = redfuse.compile(repeated(PRODUCTS, 256))
x = np.eye(256, dtype=np.float32)
results = []
def other():
    for _ in range(40):
        results.append(bool((exe(x, x, 20) == x).all()))
thread = threading.Thread(target=other)
thread.start()
for _ in range(5):
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        exe(x, x, int(FOR_EVER))
        raise SystemExit("it has ended by itself")
    except KeyboardInterrupt:
        pass
thread.join()
assert results == [True] * 40, results
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_a_handler_that_does_not_raise() -> None:
    """Runs at once; the call starts again, and its result is right."""
    code = f"""
import os, signal, sys, threading, time
import numpy as np
import redfuse
sys.path.insert(0, {os.path.dirname(SCRIPT)!r})
from interrupted import SUMS, repeated
exe = redfuse.compile(repeated(SUMS, 64))
x = np.ones((64, 64), np.float32)
least, heard, asked = 1e9, [], []
for _ in range(5):
    start = time.monotonic()
    exe(x, x, 20000)
    least = min(least, time.monotonic() - start)
count = int(1.5 / least) * 20000
signal.signal(signal.SIGINT, lambda *_: heard.append(time.monotonic()))
before = signal.getsignal(signal.SIGINT)
def ask():
    asked.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.3, ask).start()
result = exe(x, x, count)
again = time.monotonic() - heard[0]
assert heard[0] - asked[0] < again, "not at the end: then a whole call followed"
assert (result == count + 1).all()
assert signal.getsignal(signal.SIGINT) is before
time.sleep(2)
os.kill(os.getpid(), signal.SIGINT)
assert len(heard) == 2, "the handler is there when nothing runs"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
