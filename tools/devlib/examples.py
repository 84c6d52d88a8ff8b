"""The examples in the descriptions of passes: whether a pass does what its example shows.

A description has a block of IR before the pass and one after it. A block that has a function
stands for itself: it is run. The block after it has to be what the pass gives, but for names and
what `canonicalize` and `cse` take away in both; where something of it is left out (`...`), the
ops and attributes that it names have to be there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from .passes import Pass

DESCRIPTION = re.compile(r"let description = \[\{\n(.*?)\}\];", re.S)
BLOCK = re.compile(r"^```mlir\n(.*?)^```$", re.S | re.M)
WHOLE = re.compile(r"\b(func|llvm)\.func|\bgpu\.module")
LEFT_OUT = re.compile(r"\.\.\.|//")
COMMENT = re.compile(r"//.*")
NAMED = re.compile(r"\b[a-z]\w*\.[a-z][\w.]*\w")
SUMMARY = re.compile(r'let summary = "([^"]*)";')
ALIAS = re.compile(r"^#\w+ = .*\n", re.M)


def _declaration(one: Pass) -> str:
    path, line = one.declared
    text = "".join(path.read_text().splitlines(keepends=True)[line - 1 :])
    following = re.search(r"^def ", text[1:], re.M)
    return text[: following.start() + 1] if following else text


def summary(one: Pass) -> str:
    """A pass in a line, or nothing where that is not one line."""
    found = SUMMARY.search(_declaration(one))
    return found[1] if found else ""


def description(one: Pass) -> str:
    """What a pass's declaration says, or nothing."""
    found = DESCRIPTION.search(_declaration(one))
    return dedent(found[1]) if found else ""


def blocks(one: Pass) -> list[str]:
    """The blocks of IR in a pass's description."""
    return BLOCK.findall(description(one))


def is_run(one: Pass) -> bool:
    """Whether the example of a pass is IR that redfuse-opt reads, not a part of it."""
    found = blocks(one)
    return bool(found) and bool(WHOLE.search(found[0]))


def options(one: Pass) -> str:
    """The flag of a pass, with the options that its description names for the example."""
    found = re.search(rf"`-({one.flag}=[^`]+)`", description(one))
    return f"-{found[1]}" if found else f"-{one.flag}"


def _run(opt: Path, text: str, *flags: str) -> str:
    """What redfuse-opt makes of IR; a ValueError with its first complaint."""
    # A pass that calls Python calls this one.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    done = subprocess.run(
        [opt, "-", *flags], input=text, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[0] if done.stderr else "it crashed")
    return done.stdout


def _whole(before: str, after: str) -> str:
    """The second block, which may use the aliases of the first one."""
    own = set(re.findall(r"^#\w+", after, re.M))
    aliases = [line for line in ALIAS.findall(before) if line.split()[0] not in own]
    return "".join(aliases) + after


def _problem(opt: Path, one: Pass, before: str, after: str) -> str | None:
    clean = ("-canonicalize", "-cse")
    made = _run(opt, before, options(one))
    if _run(opt, before) == made:
        return "it leaves its example as it is"
    if not WHOLE.search(after) or LEFT_OUT.search(after):
        absent = [name for name in NAMED.findall(COMMENT.sub("", after)) if name not in made]
        return f"it makes no {absent[0]} of its example" if absent else None
    if _run(opt, made, *clean) != _run(opt, _whole(before, after), *clean):
        return "it gives something else than the example's second block"
    return None


def problem(opt: Path, one: Pass) -> str | None:
    """What is wrong with the example of a pass, which redfuse-opt runs; None: nothing."""
    found = blocks(one)
    if len(found) < 2:
        return "its description has no example: a block of mlir before, and one after"
    if not is_run(one):
        return None
    try:
        return _problem(opt, one, found[0], found[1])
    except ValueError as error:
        return f"its example does not run: {error}"
