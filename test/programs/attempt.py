"""One program compiled for one target, and what there is to say of it."""

from __future__ import annotations

import dataclasses
import logging
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import redfuse
import redfuse.lowering
from redfuse.errors import CodeWarning, FusionWarning

COMPILED, UNFUSED, REFUSED, ERROR, CRASHED, LATE = (
    "compiled", "not fused", "refused", "error", "crashed", "timed out",
)  # fmt: skip
BAD = (ERROR, CRASHED, LATE)


@dataclasses.dataclass
class Row:
    """How a program fared for a target: a line of the record.

    message: why it was refused, or what went wrong. spills: bytes, by kernel. advisories: what else
    the assembler warns of.
    """

    program: str
    target: str
    digest: str = ""
    build: str = ""
    status: str = COMPILED
    message: str = ""
    seconds: float = 0.0
    kernels: int = 0
    registers: int = 0
    spills: dict[str, int] = dataclasses.field(default_factory=dict)
    advisories: list[str] = dataclasses.field(default_factory=list)
    stages: dict[str, float] = dataclasses.field(default_factory=dict)


class _Teller(logging.Handler):
    """Hands on which stage the compiler is at."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self.tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg == redfuse.lowering.AT_STAGE:
            self.tell(str(record.args[0]))


def attempt(job: dict, tell: Callable[[str], None]) -> dict:
    """The fields of a row for ``{"path" or "source", "target"}``."""
    redfuse.lowering.LOG.setLevel(logging.DEBUG)
    redfuse.lowering.LOG.addHandler(_Teller(tell))
    source = Path(job["path"]) if "path" in job else job["source"]
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            exe = redfuse.compile(
                source, target=job["target"], options={"cache": False, "tuned": False}
            )
        except redfuse.UnsupportedError as error:
            return {"status": REFUSED, "message": str(error)}
        except redfuse.Error as error:
            return {"status": ERROR, "message": f"{type(error).__name__}: {error}"}
    return {**facts(exe, told), "seconds": time.perf_counter() - start}


def facts(exe: redfuse.Executable, told: list[warnings.WarningMessage]) -> dict:
    """Of what was compiled."""
    texts = [str(w.message) for w in told if issubclass(w.category, FusionWarning)]
    return {
        "status": UNFUSED if texts else COMPILED,
        "message": "\n".join(texts),
        "kernels": len(exe.explanation["kernels"]),
        "registers": max((k.registers for k in exe.resources), default=0),
        "spills": {k.kernel: k.spills for k in exe.resources if k.spills},
        "advisories": [
            advisory
            for w in told
            if issubclass(w.category, CodeWarning)
            for advisory in advisories(str(w.message))
        ],
        "stages": {k: round(v, 2) for k, v in exe.timings.items()},
    }


def advisories(text: str) -> list[str]:
    """What an assembler warns of beside spills (C75xx: serialised matrix instructions)."""
    parts = text.partition(": ")[2].split("; ")
    return [p for p in parts if "registers are spilled" not in p]


def last_words(text: str) -> str:
    """What a process that died said, without its stack."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [x for x in lines if re.search(r"ssert|rror|LLVM|bad_alloc|emory", x)]
    return " ".join((told or lines)[:3])[:500]
