"""Names that two files of a folder of C++ give to different things.

CI and wheels compile several files of a folder as one (CMAKE_UNITY_BUILD), so what a file keeps for
itself needs a name of its own in its folder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from .shell import ROOT

DEFINITION = re.compile(
    r"^static (?:constexpr |inline |const )*[\w:<>*& ,]*?[ *&](\w+)\s*([(=\[])", re.M
)
FURTHER = re.compile(r",\s*(\w+)\s*(?:\[\w*\]\s*)?=")  # a = 1, b = 2
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\} // namespace", re.M | re.S)
TYPE = re.compile(r"^(?:template <[^>]*>\n)?(?:struct|class|enum class) (\w+)", re.M)


def _names(text: str) -> dict[str, int]:
    """What a file keeps for itself, with the lines: variables, types, functions by their
    parameters' types."""
    found = {}
    for match in DEFINITION.finditer(text):
        name = match[1]
        if match[2] == "(":
            parameters = text[match.end() : text.index(")", match.end())].split(",")
            types = [re.sub(r"\s*\w+$", "", " ".join(p.split())) for p in parameters]
            name += f"({', '.join(types)})"
        else:
            declared = text[match.end() : text.index(";", match.end())]
            for further in FURTHER.finditer(declared):
                at = match.end() + further.start(1)
                found[further[1]] = text.count("\n", 0, at) + 1
        found[name] = text.count("\n", 0, match.start()) + 1
    for space in UNNAMED.finditer(text):
        for match in TYPE.finditer(space[1]):
            found[match[1]] = text.count("\n", 0, space.start(1) + match.start()) + 1
    return found


def problems() -> list[str]:
    """Lines `file:line: what is wrong`."""
    told = []
    for folder in sorted({path.parent for path in (ROOT / "lib").rglob("*.cpp")}):
        places: dict[str, list[tuple[Path, int]]] = defaultdict(list)
        for path in sorted(folder.glob("*.cpp")):
            for name, line in _names(path.read_text()).items():
                places[name].append((path.relative_to(ROOT), line))
        for name, [first, *others] in places.items():
            for path, line in others:
                told.append(f"{path}:{line}: {name} is {first[0].name}'s as well; rename one")
    return told
