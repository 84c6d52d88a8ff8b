"""Runs the GPU tests and benchmarks: on this machine, or packed for one that has a GPU but no
network."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

from .pack import GPU, find_python, own_version, pack, size_text
from .setup import Venv
from .shell import ROOT, DevError, call, say


def gpu(venv: Venv, arguments: list[str], environment: Mapping[str, str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="tools/dev gpu",
        description="Packs the compiler and the GPU tests, and runs them elsewhere or here.",
        epilog="Arguments after -- are those of test/hardware/main.py: --out FOLDER, "
        "--budget SECONDS, and the steps to run.",
    )
    parser.add_argument("folder", nargs="?", help="where to pack to (build/gpu/pack)")
    parser.add_argument("--python", help="version on the other machine, as 3.12 (this one's)")
    parser.add_argument(
        "--no-tests", action="store_true", help="leave the tests out: a clone of this is there too"
    )
    parser.add_argument(
        "--via", metavar="COMMAND",
        help="run there at once: COMMAND takes a line of shell as its last argument and hands on "
        "stdin and stdout, as `ssh host` does",
    )  # fmt: skip
    parser.add_argument("--here", action="store_true", help="run on this machine, nothing packed")
    own, rest = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, rest = arguments[:at], arguments[at + 1 :]
    given = parser.parse_args(own)
    if given.here:
        main = ROOT / "test" / "hardware" / "main.py"
        return call([venv.python, main, *rest], env=environment)
    version = given.python or own_version(venv)
    if version != own_version(venv):
        find_python(version)
    out = Path(given.folder).absolute() if given.folder else GPU / "pack"
    pack(venv, out, version, tests=not given.no_tests)
    say(f"gpu: {out} ({size_text(out)}), for Python {version}")
    if given.via:
        return _run_via(shlex.split(given.via), out, rest)
    shown = out.relative_to(ROOT) if out.is_relative_to(ROOT) else out
    say("gpu: nothing was run. Copy the folder there (python3 there has PyTorch) and run")
    print(f"bash {shown}/run.sh --out results")
    return 0


def _run_via(command: list[str], out: Path, arguments: list[str]) -> int:
    """Sends the folder through ``command``, runs it, and fetches the results to ``out``."""
    there = "redfuse-gpu"
    receive = f"mkdir -p {there} && tar -C {there} -xf -"
    say(f"gpu: sending {out}")
    process = subprocess.Popen([*command, receive], stdin=subprocess.PIPE)
    assert process.stdin is not None
    with tarfile.open(fileobj=process.stdin, mode="w|") as archive:
        archive.add(out, arcname=".")
    process.stdin.close()
    if process.wait():
        raise DevError(f"{command[0]} did not take the files")
    words = " ".join(map(shlex.quote, arguments))
    code = subprocess.run([*command, f"bash {there}/run.sh --out {there}/results {words}"])
    results = subprocess.run([*command, f"tar -C {there} -cf - results"], capture_output=True)
    if results.returncode == 0:
        with subprocess.Popen(["tar", "-C", str(out), "-xf", "-"], stdin=subprocess.PIPE) as tar:
            tar.communicate(results.stdout)
        say(f"gpu: results are in {out / 'results'}")
    return code.returncode
