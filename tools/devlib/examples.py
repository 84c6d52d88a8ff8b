"""The examples in the descriptions of passes: whether a pass does what its example shows.

A description has a block of IR before the pass and one after it. A block that has a function
stands for itself: it is run. Where nothing of the block after it is left out (`...`), that has
to be what the pass gives, but for names and what `canonicalize` and `cse` take away in both.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from textwrap import dedent

from .passes import Pass
from .shell import ROOT

DESCRIPTION = re.compile(r"let description = \[\{\n(.*?)\}\];", re.S)
BLOCK = re.compile(r"^```mlir\n(.*?)^```$", re.S | re.M)
WHOLE = re.compile(r"\b(func|llvm)\.func|\bgpu\.module")
ALIAS = re.compile(r"^#\w+ = .*\n", re.M)


def description(one: Pass) -> str:
    """What a pass's declaration says, or nothing."""
    path, line = one.declared
    declared = "".join(path.read_text().splitlines(keepends=True)[line - 1 :])
    following = re.search(r"^def ", declared[1:], re.M)
    found = DESCRIPTION.search(declared[: following.start() + 1] if following else declared)
    return dedent(found[1]) if found else ""


def blocks(one: Pass) -> list[str]:
    """The blocks of IR in a pass's description."""
    return BLOCK.findall(description(one))


def options(one: Pass) -> str:
    """The flag of a pass, with the options that its description names for the example."""
    found = re.search(rf"`-({one.flag}=[^`]+)`", description(one))
    return f"-{found[1]}" if found else f"-{one.flag}"


def _run(opt: Path, text: str, *flags: str) -> str:
    """What redfuse-opt makes of IR; a ValueError with its first complaint."""
    done = subprocess.run(
        [opt, "-", *flags], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[0] if done.stderr else "it crashed")
    return done.stdout


def _same(opt: Path, one: Pass, before: str, after: str) -> bool:
    """Whether a pass makes of one block the other one, which may use the first one's aliases."""
    own = set(re.findall(r"^#\w+", after, re.M))
    aliases = [line for line in ALIAS.findall(before) if line.split()[0] not in own]
    clean = ("-canonicalize", "-cse")
    made = _run(opt, before, options(one), *clean)
    return made == _run(opt, _run(opt, "".join(aliases) + after), *clean)


def problem(opt: Path, one: Pass) -> str | None:
    """What is wrong with the example of a pass, which redfuse-opt runs; None: nothing."""
    found = blocks(one)
    if len(found) < 2:
        return "its description has no example: a block of mlir before, and one after"
    before, after = found[:2]
    if not WHOLE.search(before):
        return None
    try:
        if _run(opt, before) == _run(opt, before, options(one)):
            return "it leaves its example as it is"
        if WHOLE.search(after) and "..." not in after and not _same(opt, one, before, after):
            return "it gives something else than the example's second block"
    except ValueError as error:
        return f"its example does not run: {error}"
    return None


def problems(opt: Path, passes: list[Pass]) -> list[str]:
    """Lines `file:line: pass: what is wrong` for passes whose examples are not what they do."""
    told = []
    for one in passes:
        if wrong := problem(opt, one):
            path, line = one.declared
            told.append(f"{path.relative_to(ROOT)}:{line}: {one.flag}: {wrong}")
    return told
