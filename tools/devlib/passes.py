"""Where a pass is: its declaration, its file, its docs and its tests, by its flag."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from .shell import ROOT, DevError

DECLARED = re.compile(r'^def (\w+)\s*:\s*(\w+)<"([\w-]+)"', re.M)
# A class of passes that puts words before what its uses say.
PREFIXES = {"NormalizePass": "redfuse-normalize-"}


class Pass(NamedTuple):
    """A pass; ``declared``: the .td file and the line."""

    flag: str
    name: str
    declared: tuple[Path, int]

    def folder(self) -> Path:
        """The area that it belongs to, as Transforms/Raise."""
        return self.declared[0].parent.relative_to(ROOT / "include" / "redfuse")

    def files(self) -> list[Path]:
        """The files that define it: one."""
        mark = f"#define GEN_PASS_DEF_{self.name.upper()}\n"
        return [path for path in sorted((ROOT / "lib").rglob("*.cpp")) if mark in path.read_text()]

    def tests(self) -> list[Path]:
        """Its own lit tests, by their names: the flag, and the flag with what is special."""
        found = sorted((ROOT / "test").rglob(f"{self.flag}*.mlir"))
        others = [p.flag for p in every() if p.flag.startswith(self.flag + "-")]
        return [f for f in found if not any(f.stem.startswith(other) for other in others)]


def every() -> list[Pass]:
    """All passes, by the files of their declarations."""
    found = []
    for path in sorted((ROOT / "include" / "redfuse").rglob("*Passes.td")):
        text = path.read_text()
        for match in DECLARED.finditer(text):
            flag = PREFIXES.get(match[2], "") + match[3]
            line = text.count("\n", 0, match.start()) + 1
            found.append(Pass(flag, match[1], (path, line)))
    return found


def problems() -> list[str]:
    """Lines `file:line: what is wrong`: a pass without a file of its own in the same
    folder of lib/, or without tests in that of test/."""
    told = []
    for one in every():
        where = f"{one.declared[0].relative_to(ROOT)}:{one.declared[1]}"
        files = one.files()
        if len(files) != 1:
            told.append(f"{where}: {one.flag} is defined in {len(files)} files, not in one")
        elif files[0].parent.relative_to(ROOT / "lib") != one.folder():
            told.append(f"{where}: {one.flag} is defined in {files[0].relative_to(ROOT)}")
        if not one.tests():
            told.append(f"{where}: {one.flag} has no lit test {one.flag}.mlir")
        elif not any(test.stem == f"{one.flag}-noop" for test in one.tests()):
            told.append(f"{where}: {one.flag} has no lit test {one.flag}-noop.mlir")
        for test in one.tests():
            if test.parent != ROOT / "test" / one.folder():
                told.append(f"{test.relative_to(ROOT)}:1: belongs to test/{one.folder()}")
    return told


def show(flags: list[str]) -> int:
    """Prints where passes are; all of them without ``flags``."""
    known = {one.flag: one for one in every()}
    for flag in flags:
        if flag.lstrip("-") not in known:
            near = [name for name in known if flag.lstrip("-") in name]
            raise DevError(f"no pass '{flag}'" + (f"; there is {', '.join(near)}" if near else ""))
    for flag in [flag.lstrip("-") for flag in flags] or known:
        one = known[flag]
        path, line = one.declared
        print(flag)
        print(f"  declared  {path.relative_to(ROOT)}:{line}")
        print(f"  file      {', '.join(str(f.relative_to(ROOT)) for f in one.files())}")
        print(f"  docs      docs/generated/passes.md#-{flag}")
        print(f"  tests     {', '.join(str(f.relative_to(ROOT)) for f in one.tests())}")
    return 0
