"""Executables and the process around them: its end, its children, other processes."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import interrupted
import numpy as np
import pytest
import redfuse

BEFORE = f"""
import os, signal, sys, threading, time
import numpy as np
import redfuse
sys.path.insert(0, {os.path.dirname(interrupted.__file__)!r})
from interrupted import FOR_EVER, PRODUCTS, SMALL, long, repeated
x = np.ones((64, 64), np.float32)
y = np.eye(256, dtype=np.float32)
def start(work):
    threading.Thread(target=work, daemon=True).start()
"""
AT_THE_END = {
    "a long call": "exe = redfuse.compile(repeated(PRODUCTS, 256))\n"
                   "start(lambda: exe(y, y, int(FOR_EVER)))",
    "short calls": "exe = redfuse.compile(SMALL)\n"
                   "def work():\n    while True: exe(x)\n"
                   "for _ in range(3): start(work)",
    "compilations": "def work():\n"
                    "    while True: redfuse.compile(SMALL, options={'cache': False})\n"
                    "for _ in range(2): start(work)",
}  # fmt: skip


@pytest.mark.parametrize("name", list(AT_THE_END))
def test_the_process_ends_while_other_threads_work(name: str) -> None:
    code = BEFORE + AT_THE_END[name] + "\ntime.sleep(0.5)\nprint('end')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_fork_after_calls() -> None:
    """The child calls, compiles and is interrupted as its parent is."""
    code = (
        BEFORE
        + """
exe, big = redfuse.compile(SMALL), redfuse.compile(repeated(PRODUCTS, 256))
def check():
    assert (big(y, y, 3) == y).all()
    assert (exe(x) == 64).all()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        big(y, y, int(FOR_EVER))
    except KeyboardInterrupt:
        pass
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []), "as before the signal"
    redfuse.compile(SMALL, options={"cache": False})
check()
for _ in range(3):
    child = os.fork()
    if not child:
        try:
            check()
        finally:
            os._exit(1 if sys.exc_info()[0] else 0)
    assert os.waitpid(child, 0)[1] == 0
    check()
"""
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)


def test_pickles_and_copies(scale: str) -> None:
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    y = np.arange(5, dtype=np.float32)
    exe = redfuse.compile(scale)
    for made in (pickle.loads(pickle.dumps(exe)), copy.copy(exe), copy.deepcopy(exe)):
        np.testing.assert_array_equal(made(x, y), x * y)
        assert made.signature == exe.signature


@pytest.mark.parametrize("brackets", ["scf.if %c {\n}\n", "(\n)\n", "[\n]\n"])
def test_texts_that_are_nested_too_deeply(brackets: str) -> None:
    opening, closing = brackets.splitlines()
    for depth in (300, 100000):
        text = f"func.func @main(%c: i1) {{\n{(opening + chr(10)) * depth}{closing * depth}}}"
        with pytest.raises(redfuse.ParseError, match="<text>:201: brackets are nested") as caught:
            redfuse.compile(text)
        assert caught.value.line == 201
