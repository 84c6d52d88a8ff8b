"""Programs to compile: our own, and those of folders that a person names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

EXPORT = Path(__file__).with_name("export.py")


class Given(NamedTuple):
    """A program: its text, or why there is none."""

    name: str
    text: str
    error: str = ""


def own() -> Iterator[Given]:
    """Those of own.py."""
    from own import PROGRAMS

    for name, make in PROGRAMS.items():
        yield Given(name, make())


def of_folder(
    folder: Path, dtypes: Sequence[str], out: Path, shard: tuple[int, int]
) -> Iterator[Given]:
    """The .mlir and .py files in a folder and below, by path; exported texts are kept in ``out``."""
    number, count = shard
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".mlir", ".py"))[
        number - 1 :: count
    ]
    for path in files:
        if path.suffix == ".mlir":
            yield Given(
                f"{folder.name}/{path.relative_to(folder).with_suffix('')}", path.read_text()
            )
    if scripts := [str(p) for p in files if p.suffix == ".py"]:
        yield from exported(scripts, dtypes, out / folder.name)


def exported(files: Sequence[str], dtypes: Sequence[str], out: Path) -> Iterator[Given]:
    """PyTorch programs as linalg text, as they are exported by a process of their own."""
    kinds = [word for dtype in dtypes for word in ("--as", dtype)]
    command = [sys.executable, "-W", "ignore", str(EXPORT), *files, "--out", str(out), *kinds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            told = json.loads(line)
            text = "" if told["error"] or not told["text"] else Path(told["text"]).read_text()
            yield Given(told["name"], text, told["error"])
    if process.returncode:
        raise SystemExit(f"{EXPORT.name} ended with status {process.returncode}")
