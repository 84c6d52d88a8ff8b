"""Architectures of GPUs are named in one place: include/redfuse/Support/Chips.def.

Other code asks that table what a GPU can do. Comments, descriptions and texts for users, in which a
name is one word of several, may give examples.
"""

from __future__ import annotations

import re
from pathlib import Path

from .shell import ROOT

TABLE = "include/redfuse/Support/Chips.def"
FOLDERS = ("include", "lib", "python", "tools")
KINDS = {".h", ".cpp", ".td", ".def", ".inc", ".py"}
# What says nothing to a compiler: comments, and long texts (docstrings, descriptions in .td).
CPP_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|\[\{.*?\}\]|(?P<literal>"(?:[^"\\\n]|\\.)*")', re.S)
PYTHON_TEXT = re.compile(
    r'#[^\n]*|"""(?:[^\\]|\\.)*?"""|(?P<literal>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')', re.S
)
NAME = re.compile(r"(?<![A-Za-z0-9])(?:sm_?\d{2,3}[a-z]?|gfx\d[0-9a-f]{2,})(?![A-Za-z0-9])", re.I)


def _without_texts(text: str, is_python: bool) -> str:
    """The code alone, with as many lines."""

    def blank(match: re.Match[str]) -> str:
        literal = match["literal"]
        if literal and not re.search(r"\s", literal):
            return literal
        return "\n" * match[0].count("\n")

    return (PYTHON_TEXT if is_python else CPP_TEXT).sub(blank, text)


def found_in(text: str, is_python: bool) -> list[tuple[int, str]]:
    """Lines of code that name an architecture, and what they name."""
    lines = _without_texts(text, is_python).splitlines()
    return [(i, m[0]) for i, line in enumerate(lines, 1) for m in NAME.finditer(line)]


def _sources() -> list[Path]:
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")))
    return [p for p in paths if p.suffix in KINDS and str(p.relative_to(ROOT)) != TABLE]


def problems() -> list[str]:
    """Lines `file:line: what is wrong`."""
    return [
        f"{path.relative_to(ROOT)}:{line}: names {name}; {TABLE} says what a chip can do"
        for path in _sources()
        for line, name in found_in(path.read_text(), path.suffix == ".py")
    ]
