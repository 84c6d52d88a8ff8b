"""Small kernels in PTX, for the tests of the simulator."""

from __future__ import annotations

import numpy as np

import simulators

_HEAD = """.version 8.1
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 memory[];
.visible .entry {name}({parameters}
)
{directives}{{
"""


def kernel(body: str, parameters: int = 2, name: str = "main", directives: str = "") -> str:
    """A kernel whose parameters are addresses p0, p1, ...; the first line of ``body`` is line 9 or later,
    as :func:`line_of` says."""
    given = ",".join(f"\n\t.param .u64 p{i}" for i in range(parameters))
    head = _HEAD.format(name=name, parameters=given, directives=directives and directives + "\n")
    return f"{head}{body.strip(chr(10))}\n\tret;\n}}\n"


def line_of(text: str, instruction: str) -> int:
    """The line of the program in which an instruction is."""
    return text[: text.index(instruction)].count("\n") + 1


# %rd1, %rd2: the addresses of this thread's words of both arrays; %r1: the thread's number.
OWN_WORDS = """
    ld.param.b64 %rd1, [p0];
    ld.param.b64 %rd2, [p1];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
"""


def run(text: str, *arrays: object, threads: int = 32, blocks: int = 1, shared: int = 0) -> None:
    simulators.load(text).launch("main", blocks, threads, arrays, shared=shared)


def run_on_elements(op: str, a: np.ndarray, b: np.ndarray, dtype: type | None = None) -> np.ndarray:
    """What ``op`` makes of 32-bit words, a thread each; or instructions that make %c of %a and %b."""
    body = op if ";" in op else f"{op} %c, %a, %b;"
    text = kernel(
        f"""
    ld.param.b64 %rd1, [p0];
    ld.param.b64 %rd2, [p1];
    ld.param.b64 %rd3, [p2];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd1, %rd1, %rd4;
    add.s64 %rd2, %rd2, %rd4;
    add.s64 %rd3, %rd3, %rd4;
    ld.global.b32 %a, [%rd1];
    ld.global.b32 %b, [%rd2];
    {body}
    st.global.b32 [%rd3], %c;""",
        3,
    )
    out = np.zeros(len(a), dtype or a.dtype)
    run(text, np.ascontiguousarray(a), np.ascontiguousarray(b), out, threads=len(a))
    return out
