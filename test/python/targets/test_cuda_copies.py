"""Parts that are put beside each other, by copies of rows that share a kernel. By the simulators, in
every bit as numpy has them."""

from __future__ import annotations

import re

import numpy as np
import pytest
import redfuse
from drivers.simulated import execute
from redfuse.runtime.specs import numpy_dtype


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join(map(str, [*shape, element]))}>"


def beside(parts: list[tuple[int, ...]], axis: int, element: str) -> str:
    """The negated parts along an axis, and each argument as it is, which is copied."""
    types = [tensor(shape, element) for shape in parts]
    whole = list(parts[0])
    whole[axis] = sum(shape[axis] for shape in parts)
    result = tensor(tuple(whole), element)
    results = ", ".join([result, *types])
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    rank = len(whole)
    dims = ", ".join(f"d{d}" for d in range(rank))
    same = f"affine_map<({dims}) -> ({dims})>"
    kinds = ", ".join(['"parallel"'] * rank)
    negate = "subi %zero, %x" if element[0] == "i" else "negf %x"
    lines = [f"func.func @main({arguments}) -> ({results}) {{"]
    lines += [f"  %zero = arith.constant 0 : {element}"] if element[0] == "i" else []
    lines += [f"  %r0 = tensor.empty() : {result}"]
    place = 0
    for i, (shape, t) in enumerate(zip(parts, types, strict=True)):
        offsets = [place if d == axis else 0 for d in range(rank)]
        lines.append(f"""  %e{i} = tensor.empty() : {t}
  %b{i} = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{kinds}]}}
      ins(%a{i} : {t}) outs(%e{i} : {t}) {{
  ^bb0(%x: {element}, %o: {element}):
    %y = arith.{negate} : {element}
    linalg.yield %y : {element}
  }} -> {t}
  %r{i + 1} = tensor.insert_slice %b{i} into %r{i}{offsets} {list(shape)} {[1] * rank} : {t} into {result}""")
        place += shape[axis]
    values = ", ".join([f"%r{len(parts)}", *(f"%a{i}" for i in range(len(parts)))])
    return "\n".join([*lines, f"  return {values} : {results}", "}"])


# Parts, axis, element, kernels that copy.
CASES = {
    # Of a dense block: all parts are of the same shape but the first.
    "channels": ([(3, 8, 14, 14), *[(3, 4, 14, 14)] * 3], 1, "f32", 1),
    "columns": ([(37, 512), (37, 1032), (37, 640)], 1, "i16", 1),
    # Elements one by one, as the pitch is odd, and two at a time; a result is copied as a whole.
    "odd": ([(5, 801), (5, 1022)], 1, "i16", 2),
    "even": ([(5, 802), (5, 1024)], 1, "i16", 2),
    "rows": ([(7, 333), (11, 333)], 0, "f32", 1),
    # Rows of less than a KiB, by vectors and by elements, and more than a block copies.
    "short": ([(9, 100), (9, 28)], 1, "f32", 1),
    "shorter": ([(700, 3), (700, 4)], 1, "i8", 2),
    "narrow": ([(131, 17, 6), (131, 17, 10)], 2, "i16", 1),
    # A thread moves four vectors of the first part: 4 million elements.
    "large": ([(2, 2097152), (2, 2064)], 1, "i8", 2),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chip", ["sm_90a", "sm_80"])
@pytest.mark.sample(3)
def test_parts(chip: str, name: str) -> None:
    parts, axis, element, kernels = CASES[name]
    exe = redfuse.compile(
        beside(parts, axis, element), target=f"cuda:{chip}", options={"cache": False}
    )
    assert len(re.findall(r"\.entry host_\d+", exe.asm)) == kernels
    if name == "large":
        # Too many threads for the simulator.
        return
    data = np.random.default_rng(7)
    arrays = [data.integers(-100, 100, shape).astype(numpy_dtype(element)) for shape in parts]
    expected = [np.concatenate([-a for a in arrays], axis), *arrays]
    got, _ = execute(exe, arrays, [np.full_like(e, 3) for e in expected])
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)
