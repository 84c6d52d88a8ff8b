"""First lines of C++ and TableGen files: their name, what they are for, 80 columns."""

from __future__ import annotations

import re
from pathlib import Path

from .shell import ROOT, tracked

WIDTH = 80
# What editors take a file for.
MODES = {".h": "-*- C++ -*-", ".td": "-*- tablegen -*-", ".cpp": "-", ".def": "-*- C++ -*-"}
_TITLE = re.compile(r"//===-+ *(?P<name>\S+) +-+ +(?P<what>\S.*?) *-*(?:\*-.*)?(?:=+//)?$")


def _title(path: Path, line: str) -> str | None:
    """The line as it should be; None where it has no words for it."""
    found = _TITLE.match(line.rstrip())
    if found is None:
        return None
    start = f"//===- {path.name} - {found['what']} "
    end = f"{MODES[path.suffix]}===//"
    return start + "-" * max(1, WIDTH - len(start) - len(end)) + end


def _files() -> list[Path]:
    return [path for path in tracked(*(f"*{suffix}" for suffix in MODES)) if path.is_file()]


def fix() -> None:
    """Writes first lines anew where they have words."""
    for path in _files():
        line, newline, rest = path.read_text().partition("\n")
        made = _title(path, line)
        if made is not None and made != line:
            path.write_text(made + newline + rest)


def problems() -> list[str]:
    """Lines `file:line: what is wrong`."""
    found = []
    for path in _files():
        line = path.read_text().partition("\n")[0]
        made = _title(path, line)
        where = f"{path.relative_to(ROOT)}:1: "
        if made is None:
            found.append(f"{where}expected '//===- {path.name} - what it is for ---...===//'")
        elif len(made) > WIDTH:
            found.append(f"{where}{len(made)} columns; expected {WIDTH}: say it in fewer words")
        elif made != line:
            found.append(f"{where}expected '{made}' (tools/dev lint --fix)")
    return found
