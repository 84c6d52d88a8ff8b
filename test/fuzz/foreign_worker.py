"""A process that tries functions of other projects: a line of JSON each in and out.

In: ``{"id", "entry", "text", "steps": passes, "unfused" and "fused"}``. Out: ``outcomes``, by step a
pair: "compiled", "refused", "not fused", "not MLIR that is known here", and the reason; ``kind`` is
"raw" for an exception that is no redfuse.Error.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import traceback
import warnings
from typing import Any

import redfuse
from redfuse import _ext
from redfuse.errors import CompileError, Error, FusionWarning, ParseError
from redfuse.frontends.mlir import read
from redfuse.options import Options

BYTES = 8 << 30
NUMBER = re.compile(r"\d+")
QUOTED = re.compile(r"@[\w.$-]+")
POSITION = re.compile(r"<text>:\d+:\d+: (?:error: )?")
NAMED = re.compile(r"'?\b((?:[a-z]+_)?[a-z]+\.[a-z_][\w.]*)\b'?")


def reason(error: BaseException) -> str:
    """What several errors have in common."""
    found = [line for line in str(error).splitlines() if line.strip()]
    line = next((part for part in found if POSITION.search(part)), found[0] if found else "")
    line = POSITION.sub("", line).strip()
    return f"{type(error).__name__}: {NUMBER.sub('N', QUOTED.sub('@f', line))[:110]}"


def compiled(task: dict, fuse: bool) -> tuple[str, str]:
    """By the compiler."""
    chosen = Options(entry=task["entry"], fuse=fuse, cache=False, opt_level=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", FusionWarning)
        try:
            redfuse.compile(task["text"], target="cpu", options=chosen)
        except CompileError as error:
            return "CompileError", reason(error)
        except Error as error:
            return "refused", reason(error)
    for warning in told:
        if issubclass(warning.category, FusionWarning):
            return "not fused", reason(warning.message)
    return "compiled", ""


def passed(module: Any, name: str) -> None:
    """By a pass alone; whatever it says is fine."""
    _ext.run_passes(module.operation.clone(), f"builtin.module({name})")


def answer(task: dict) -> dict[str, Any]:
    """All steps."""
    outcomes = {}
    try:
        module = read(task["text"]).parse()
    except ParseError as error:
        return {"outcomes": {"parse": ("not MLIR that is known here", reason(error))}}
    for step in task["steps"]:
        try:
            if step in ("fused", "unfused"):
                outcomes[step] = compiled(task, step == "fused")
            else:
                passed(module, step)
        except Error:
            pass
        except Exception as error:
            told = f"{error!r}\n{traceback.format_exc()}"
            return {"kind": "raw", "at": step, "where": "", "data": "", "detail": told}
    return {"outcomes": outcomes}


def main() -> None:
    """Until the input ends."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which maps terabytes
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        task = json.loads(line)
        out.write(json.dumps({"id": task["id"], **answer(task)}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
