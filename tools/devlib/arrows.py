"""Which folders of lib/ may include which: as their CMake files declare.

A folder's files may include its own headers, those of the folders that its `redfuse_library` names
in DEPENDS, and the `Passes.h` of the area that it, or one of those folders, is in. CMake takes only
folders that were added before, so arrows never run back.
"""

from __future__ import annotations

import re
from pathlib import Path

from .shell import ROOT

LIBRARY = re.compile(r"redfuse_library\(([^)]*)\)")
DEPENDS = re.compile(r"\bDEPENDS\s+(.*?)(?:\bALONE\b|$)", re.S)
INCLUDE = re.compile(r'^#include "redfuse/([^"]+)/[^"/]+"', re.M)
HEADERS = ROOT / "include" / "redfuse"


def declared() -> dict[str, set[str]]:
    """The folders of lib/ that are libraries, with those they depend on."""
    found = {}
    for path in sorted((ROOT / "lib").rglob("CMakeLists.txt")):
        if library := LIBRARY.search(path.read_text()):
            depends = DEPENDS.search(library[1])
            folder = str(path.parent.relative_to(ROOT / "lib"))
            found[folder] = set(depends[1].split()) if depends else set()
    return found


def _sources(folder: str) -> list[Path]:
    places = (ROOT / "lib" / folder, HEADERS / folder)
    return sorted(path for place in places for path in (*place.glob("*.cpp"), *place.glob("*.h")))


def _is_within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith(outer + "/")


def problems() -> list[str]:
    """Lines `file:line: what is wrong`."""
    told = []
    libraries = declared()
    for folder, depends in libraries.items():
        used = set()
        for path in _sources(folder):
            text = path.read_text()
            for match in INCLUDE.finditer(text):
                to = match[1]
                used.add(to)
                area = to not in libraries and any(_is_within(f, to) for f in {folder, *depends})
                if to == folder or to in depends or area:
                    continue
                line = text.count("\n", 0, match.start()) + 1
                told.append(
                    f"{path.relative_to(ROOT)}:{line}: includes redfuse/{to}, but lib/{folder}/"
                    f"CMakeLists.txt depends on {' '.join(sorted(depends)) or 'nothing'}"
                )
        for unused in sorted(depends - used):
            # What is only registered or created by name has an area's Passes.h.
            if not any(_is_within(unused, to) for to in used):
                told.append(
                    f"lib/{folder}/CMakeLists.txt:1: depends on {unused} and includes none of it"
                )
    return told
