"""Element-wise kernels whose tensors are contiguous along different dims, run by the simulator and
compared with the fp64 references."""

from __future__ import annotations

from pathlib import Path

import pytest
import redfuse
from drivers.simulated import small

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(3)


def generic(
    extents: dict[str, int], ins: list[tuple[str, str]], outs: list[tuple[str, str]], body: str
) -> str:
    """An element-wise op: extents by dim, dims and type of each tensor, and a body of %a0, %a1, ..."""
    dims = ", ".join(extents)
    maps = ", ".join(f"affine_map<({dims}) -> ({', '.join(of)})>" for of, _ in [*ins, *outs])

    def tensor(of: str, dtype: str) -> str:
        return f"tensor<{''.join(f'{extents[d]}x' for d in of)}{dtype}>"

    kinds = ", ".join(['"parallel"'] * len(extents))
    arguments = ", ".join(f"%x{i}: {tensor(*each)}" for i, each in enumerate(ins))
    results = ", ".join(tensor(*each) for each in outs)
    empty = "\n  ".join(f"%e{i} = tensor.empty() : {tensor(*each)}" for i, each in enumerate(outs))
    given = ", ".join(f"%x{i}" for i in range(len(ins)))
    made = ", ".join(f"%e{i}" for i in range(len(outs)))
    scalars = ", ".join(f"%a{i}: {dtype}" for i, (_, dtype) in enumerate(ins))
    unused = ", ".join(f"%o{i}: {dtype}" for i, (_, dtype) in enumerate(outs))
    returned = "%r" if len(outs) == 1 else ", ".join(f"%r#{i}" for i in range(len(outs)))
    return f"""
func.func @main({arguments}) -> ({results}) {{
  {empty}
  %r{"" if len(outs) == 1 else f":{len(outs)}"} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
    ins({given} : {", ".join(tensor(*each) for each in ins)}) outs({made} : {results}) {{
  ^bb0({scalars}, {unused}):
    {body}
  }} -> ({results})
  return {returned} : {results}
}}
"""


SQUARE = "%s = arith.mulf %a0, %a0 : {0}\n    linalg.yield %s : {0}"
SHORT = """%w = arith.extf %a0 : {0} to f32
    %q = arith.mulf %w, %w : f32
    %d = arith.subf %q, %w : f32
    %s = arith.truncf %d : f32 to {0}
    linalg.yield %s : {0}"""
ADDED = """%s = arith.addf %a0, %a1 : f32
    %b = arith.addf %s, %a2 : f32
    %z = arith.constant 0.0 : f32
    %m = arith.maximumf %b, %z : f32
    %p = arith.cmpf ogt, %b, %z : f32
    linalg.yield %m, %p : f32, i1"""


def copy(extents: dict[str, int], of: str, to: str, dtype: str) -> str:
    """Squares (of 16 bits: less the elements), laid out otherwise."""
    short = dtype in ("f16", "bf16")
    return generic(
        extents, [(of, dtype)], [(to, dtype)], (SHORT if short else SQUARE).format(dtype)
    )


def image(c: int, h: int, w: int, n: int = 2) -> dict[str, int]:
    """Extents."""
    return {"n": n, "c": c, "h": h, "w": w}


PROGRAMS = {
    "f32": copy(image(40, 6, 12), "nchw", "nhwc", "f32"),
    "f32_back": copy(image(40, 6, 12), "nhwc", "nchw", "f32"),
    "f32_long": copy({"i": 300, "j": 72}, "ij", "ji", "f32"),
    "f32_7x7": copy(image(36, 7, 7), "nchw", "nhwc", "f32"),
    "f32_7x7_back": copy(image(36, 7, 7), "nhwc", "nchw", "f32"),
    "f32_colours": copy(image(3, 12, 31), "nchw", "nhwc", "f32"),
    "f32_colours_back": copy(image(3, 12, 31), "nhwc", "nchw", "f32"),
    "f32_four": copy(image(4, 16, 19), "nchw", "nhwc", "f32"),
    "f32_four_back": copy(image(4, 16, 19), "nhwc", "nchw", "f32"),
    "f32_seven": copy({"i": 1100, "j": 7}, "ij", "ji", "f32"),
    "f16_colours": copy(image(3, 13, 40), "nchw", "nhwc", "f16"),
    "bf16_eight": copy({"i": 8, "j": 520}, "ij", "ji", "bf16"),
    "bf16_twelve_back": copy(image(12, 24, 24, 1), "nhwc", "nchw", "bf16"),
    "f32_two_of_two": copy({"i": 6, "j": 11, "k": 5, "l": 13}, "ijkl", "klij", "f32"),
    "colours_added": generic(
        image(3, 12, 17), [("nchw", "f32"), ("nhwc", "f32"), ("c", "f32")],
        [("nhwc", "f32"), ("nchw", "i1")], ADDED,
    ),
    "f32_odd": copy({"i": 97, "j": 61}, "ij", "ji", "f32"),
    "f32_odd_rows": copy({"i": 97, "j": 64}, "ij", "ji", "f32"),
    "f32_odd_columns": copy({"i": 64, "j": 101}, "ij", "ji", "f32"),
    "f32_three": copy({"i": 5, "j": 33, "k": 50}, "ijk", "kji", "f32"),
    "f64": copy({"i": 70, "j": 36}, "ij", "ji", "f64"),
    "f16": copy(image(48, 5, 16), "nchw", "nhwc", "f16"),
    "bf16": copy(image(72, 8, 24, 1), "nchw", "nhwc", "bf16"),
    "bf16_back": copy(image(72, 8, 24, 1), "nhwc", "nchw", "bf16"),
    "bf16_few": copy(image(32, 40, 31, 1), "nchw", "nhwc", "bf16"),
    "bf16_odd": copy({"i": 131, "j": 77}, "ij", "ji", "bf16"),
    "bf16_even": copy({"i": 130, "j": 44}, "ij", "ji", "bf16"),
    "narrowed": generic(
        image(40, 4, 16), [("nchw", "f32")], [("nhwc", "bf16")],
        "%t = arith.truncf %a0 : f32 to bf16\n    linalg.yield %t : bf16",
    ),
    "widened": generic(
        image(40, 4, 16), [("nchw", "bf16")], [("nhwc", "f32")],
        "%t = arith.extf %a0 : bf16 to f32\n    linalg.yield %t : f32",
    ),
    "integers": generic(
        {"i": 96, "j": 72}, [("ij", "i8")], [("ji", "i8")],
        "%t = arith.addi %a0, %a0 : i8\n    linalg.yield %t : i8",
    ),
    "both": generic(
        image(40, 6, 12), [("nchw", "f32"), ("nhwc", "f32"), ("c", "f32")],
        [("nhwc", "f32"), ("nchw", "i1")], ADDED,
    ),
    "both_odd": generic(
        image(37, 5, 13), [("nchw", "f32"), ("nhwc", "f32"), ("c", "f32")],
        [("nhwc", "f32"), ("nchw", "i1")], ADDED,
    ),
    "along_pixels": generic(
        image(40, 6, 12), [("nchw", "f32"), ("nchw", "f32"), ("hw", "f32")],
        [("nhwc", "f32"), ("nchw", "i1")], ADDED,
    ),
}  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_transposing(name: str, tmp_path: Path) -> None:
    small(PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("channels", [16, 32, 64])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_accesses(dtype: str, channels: int) -> None:
    """Loads and stores are of 16 bytes, whatever dim is contiguous, however large the image."""
    program = copy(image(channels, 64, 64), "nchw", "nhwc", dtype)
    exe = redfuse.compile(program, target="cuda:sm_90a", options={"cache": False})
    accesses = [line for line in exe.asm.splitlines() if "ld.global" in line or "st.global" in line]
    assert accesses and all(".v4.b32" in line or ".v2.b64" in line for line in accesses), accesses
