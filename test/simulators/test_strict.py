"""What no program may do: faults that name the line and the instruction."""

from __future__ import annotations

import numpy as np
import pytest

import simulators
from simulators import SimulationError
from simulators.kernels import OWN_WORDS, kernel, line_of, run

WORDS = np.arange(32, dtype=np.uint32)

# What is wrong, and the instruction at which it shows.
WRONG = {
    "register": ("add.s32 %r2, %r7, 1;", "add.s32", "uses bits of %r7 that nothing wrote"),
    "register_of_some": (
        "setp.lt.u32 %p1, %r1, 5;\n @%p1 mov.b32 %r7, 1;\n add.s32 %r2, %r7, 1;",
        "add.s32 %r2", "thread 5 reads %r7, which it never wrote",
    ),
    "predicate": ("@%p3 mov.b32 %r2, 1;", "@%p3", "uses bits of %p3 that nothing wrote"),
    "shared": (
        "mov.b32 %r3, memory;\n ld.shared.b32 %r4, [%r3];", "ld.shared", "was never written",
    ),
    "part_of_shared": (
        "mov.b32 %r3, memory;\n st.shared.b32 [%r3+4], 1;\n ld.shared.v2.b32 {%r4, %r5}, [%r3];",
        "ld.shared", "was never written",
    ),
    "beyond_shared": (
        "mov.b32 %r3, memory;\n st.shared.b32 [%r3+128], 1;", "st.shared", "is beyond shared memory",
    ),
    "before_an_array": ("ld.global.b32 %r4, [%rd1+-4];", "ld.global", "is in no array"),
    "behind_an_array": (
        "ld.global.b32 %r4, [%rd1+4];", "ld.global", "thread 31 of block 0: .* is in no array",
    ),
    "store": ("st.global.b32 [%rd2+128], 1;", "st.global", "is in no array"),
    "null": ("mov.b64 %rd9, 0;\n ld.global.b32 %r4, [%rd9];", "ld.global", "is in no array"),
    "alignment": (
        "ld.global.v2.b32 {%r4, %r5}, [%rd1];", "ld.global", "is not aligned to 8 bytes",
    ),
    "parameter": ("ld.param.b64 %rd9, [p7];", "ld.param.b64 %rd9", "no parameter p7"),
    "instruction": ("popc.b32 %r2, %r1;", "popc", "unknown instruction"),
    "word": ("add.sat.s32 %r2, %r1, 1;", "add.sat", "unknown instruction"),
    "atomic": ("atom.global.exch.b32 %r2, [%rd1], 1;", "atom", "unknown instruction"),
    "shuffle_mode": ("shfl.sync.up.b32 %r2, %r1, 1, 0, -1;", "shfl", "unknown instruction"),
    "variable": ("mov.b64 %rd9, table;", "mov.b64 %rd9", "reads table, which nothing wrote"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_faults(name: str) -> None:
    body, at, message = WRONG[name]
    text = kernel(OWN_WORDS + body)
    with pytest.raises(SimulationError, match=message) as caught:
        run(text, WORDS.copy(), WORDS.copy(), shared=128)
    assert caught.value.line == line_of(text, at)
    assert caught.value.text.startswith(at.split()[0])
    assert str(caught.value).startswith(f"line {caught.value.line}: ")


# What a kernel never writes does not matter, says the compiler. It may be moved, and dropped.
MOVED = {
    "halves": "mov.b32 %r2, {%rs1, %rs9};\n and.b32 %r3, %r2, 65535;",
    "shifted": "mov.b32 %r2, {%rs9, %rs1};\n shr.u32 %r3, %r2, 16;",
    "bytes": "prmt.b32 %r4, %r9, %r8, 0x3340;\n prmt.b32 %r5, %r1, %r4, 0x5410;\n"
    "prmt.b32 %r3, %r5, 0, 0x7610;",
    "implicit": "// implicit-def: %r7\n @%p9 mov.b32 %r7, 1;\n mov.b32 %r2, %r7;\n mov.b32 %r2, %r1;\n"
    "mov.b32 %r3, %r2;",
}


@pytest.mark.parametrize("name", MOVED)
def test_bits_that_do_not_matter(name: str) -> None:
    out = WORDS.copy()
    begin = f"{OWN_WORDS} cvt.u16.u32 %rs1, %r1;\n setp.ne.b32 %p9, %r1, %r1;\n{MOVED[name]}\n"
    run(kernel(begin + "st.global.b32 [%rd2], %r3;"), WORDS.copy(), out)
    np.testing.assert_array_equal(out, WORDS)
    kept = "%r5" if name == "bytes" else "%r7" if name == "implicit" else "%r2"
    for use in ("st.global.b32 [%rd2], X;", "add.s32 %r6, X, 1;", "@%p8 bra $END;\n$END:"):
        with pytest.raises(SimulationError, match="uses bits of %\\w+ that nothing wrote"):
            run(kernel(begin + use.replace("X", kept)), WORDS.copy(), out)


def test_lines_behind_inline_assembly() -> None:
    body = """
    // begin inline asm
    {
    .reg .pred p;
    setp.ne.b32 p, %r1, 0;
    @p st.global.b32 [%rd2], %r1;
    }
    // end inline asm
    add.s32 %r2, %r99, 1;"""
    text = kernel(OWN_WORDS + body)
    with pytest.raises(SimulationError) as caught:
        run(text, WORDS.copy(), WORDS.copy())
    assert caught.value.line == line_of(text, "add.s32 %r2")


def test_arguments() -> None:
    text = kernel(OWN_WORDS)
    with pytest.raises(SimulationError, match="main has 2 parameters, not 1"):
        run(text, WORDS)
    with pytest.raises(SimulationError, match="no kernel other"):
        simulators.load(text).launch("other", 1, 32, [WORDS, WORDS])
