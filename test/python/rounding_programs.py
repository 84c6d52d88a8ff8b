"""Products whose 16-bit rounding decides something, as text, and what they are exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from drivers.simulated import execute
from redfuse import Executable
from redfuse.runtime.specs import numpy_dtype

_MAPS = """
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#s = affine_map<(m, n) -> (m, n)>
#r = affine_map<(m, n) -> (m)>
#o = affine_map<(m) -> (m)>
"""

# What is made of a rounded score %s (f32) and its column %j (i64): the types of the accumulators,
# what they start from, and what they become.
_BODIES = {
    "argmax": (
        ("f32", "i64"), ("0xFF800000", "0"),
        ["%v = arith.maximumf %s, %o0 : f32", "%g = arith.cmpf ogt, %s, %o0 : f32",
         "%w = arith.select %g, %j, %o1 : i64"],
    ),
    "argmin": (
        ("f32", "i64"), ("0x7F800000", "0"),
        ["%g = arith.cmpf olt, %s, %o0 : f32", "%v = arith.select %g, %s, %o0 : f32",
         "%w = arith.select %g, %j, %o1 : i64"],
    ),
    "maximum": (("f32",), ("0xFF800000",), ["%v = arith.maximumf %s, %o0 : f32"]),
    "clamped": (
        ("f32",), ("0xFF800000",),
        ["%t = arith.constant 200.0 : f32", "%g = arith.cmpf ogt, %s, %t : f32",
         "%e = arith.select %g, %t, %s : f32", "%v = arith.maximumf %e, %o0 : f32"],
    ),
    "above": (
        ("i32",), ("0",),
        ["%t = arith.constant 271.5 : f32", "%g = arith.cmpf ogt, %s, %t : f32",
         "%e = arith.extui %g : i1 to i32", "%v = arith.addi %o0, %e : i32"],
    ),
    "chosen": (
        ("i64",), ("0",),
        ["%t = arith.constant 272.0 : f32", "%g = arith.cmpf oeq, %s, %t : f32",
         "%z = arith.constant 0 : i64", "%e = arith.select %g, %j, %z : i64",
         "%v = arith.maxsi %o0, %e : i64"],
    ),
    "integers": (
        ("i32",), ("0",),
        ["%t = arith.constant 0.5 : f32", "%p = arith.mulf %s, %t : f32",
         "%e = arith.fptosi %p : f32 to i32", "%v = arith.addi %o0, %e : i32"],
    ),
    "whole": (
        ("f32",), ("0.0",),
        ["%t = arith.constant 0.0625 : f32", "%p = arith.mulf %s, %t : f32",
         "%e = math.floor %p : f32", "%v = arith.addf %o0, %e : f32"],
    ),
    "eighths": (
        ("f32",), ("0.0",),
        ["%h = arith.truncf %s : f32 to f8E5M2", "%e = arith.extf %h : f8E5M2 to f32",
         "%v = arith.addf %o0, %e : f32"],
    ),
}  # fmt: skip


def _row(values: np.ndarray, find: Callable) -> np.ndarray:
    return np.stack([find(row) for row in values])


def _eighths(s: np.ndarray) -> np.ndarray:
    return s.astype(numpy_dtype("f8E5M2")).astype(np.float64).sum(-1)


BEST = 4


def _best(s: np.ndarray) -> list[np.ndarray]:
    """Of equals, the first."""
    order = np.argsort(-s, axis=-1, kind="stable")[:, :BEST]
    return [np.take_along_axis(s, order, -1), order]


EXACT: dict[str, Callable[[np.ndarray], list[np.ndarray]]] = {
    "argmax": lambda s: [s.max(-1), s.argmax(-1)],
    "argmin": lambda s: [s.min(-1), s.argmin(-1)],
    "maximum": lambda s: [s.max(-1)],
    "clamped": lambda s: [np.minimum(s, 200).max(-1)],
    "above": lambda s: [(s > 271.5).sum(-1)],
    "chosen": lambda s: [np.where(s == 272, np.arange(s.shape[1]), 0).max(-1)],
    "integers": lambda s: [np.trunc(s / 2).astype(np.int64).sum(-1)],
    "whole": lambda s: [np.floor(s / 16).sum(-1)],
    "eighths": lambda s: [_eighths(s)],
    "best": lambda s: _best(s),
}


def _reduced(name: str, rows: int, columns: int) -> tuple[str, str, list[str]]:
    """A reduction of the rows of %wider: its text, its results and their types."""
    kinds, starts, body = _BODIES[name]
    wide = f"tensor<{rows}x{columns}xf32>"
    types = [f"tensor<{rows}x{kind}>" for kind in kinds]
    lines = []
    for i, (kind, start, type_) in enumerate(zip(kinds, starts, types, strict=True)):
        lines += [
            f"  %i{i} = arith.constant {start} : {kind}",
            f"  %x{i} = tensor.empty() : {type_}",
            f"  %f{i} = linalg.fill ins(%i{i} : {kind}) outs(%x{i} : {type_}) -> {type_}",
        ]
    fills = ", ".join(f"%f{i}" for i in range(len(kinds)))
    arguments = ", ".join(f"%o{i}: {kind}" for i, kind in enumerate(kinds))
    yields = ", ".join(["%v", "%w"][: len(kinds)])
    maps = ", ".join(["#s"] + ["#r"] * len(kinds))
    lines.append(f"""  %made:{len(kinds)} = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "reduction"]}}
      ins(%wider : {wide}) outs({fills} : {", ".join(types)}) {{
  ^bb0(%s: f32, {arguments}):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    {chr(10).join(body)}
    linalg.yield {yields} : {", ".join(kinds)}
  }} -> ({", ".join(types)})
""")
    return chr(10).join(lines), ", ".join(f"%made#{i}" for i in range(len(kinds))), types


def _ranked(rows: int, columns: int) -> tuple[str, str, list[str]]:
    """The first of the sorted rows of %wider, and where they were, as PyTorch exports topk."""
    wide, places = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}x{columns}xi64>"
    types = [f"tensor<{rows}x{BEST}x{kind}>" for kind in ("f32", "i64")]
    cuts = [
        f"  %best{i} = tensor.extract_slice %sorted#{i}[0, 0] [{rows}, {BEST}] [1, 1]"
        f" : {whole} to {part}\n"
        for i, (whole, part) in enumerate(zip((wide, places), types, strict=True))
    ]
    text = f"""  %no_places = tensor.empty() : {places}
  %places = linalg.generic {{indexing_maps = [#s], iterator_types = ["parallel", "parallel"]}}
      outs(%no_places : {places}) {{
  ^bb0(%out: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  }} -> {places}
  %sorted:2 = tm_tensor.sort dimension(1) outs(%wider, %places : {wide}, {places}) {{
  ^bb0(%x: f32, %y: f32, %i: i64, %j: i64):
    %o = arith.cmpf oge, %x, %y : f32
    tm_tensor.yield %o : i1
  }} -> {wide}, {places}
"""
    return text + "".join(cuts), "%best0, %best1", types


def program(name: str, rows: int, columns: int, length: int, dtype: str = "bf16") -> str:
    """A product of two matrices in f32, rounded, extended again, and what is made of each row of
    it; its log-sum-exp is the last result, for which the rounding may be left out."""
    chosen, made, types = (
        _ranked(rows, columns) if name == "best" else _reduced(name, rows, columns)
    )
    a, b = f"tensor<{rows}x{length}x{dtype}>", f"tensor<{columns}x{length}x{dtype}>"
    wide, half = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}x{columns}x{dtype}>"
    row = f"tensor<{rows}xf32>"
    results = f"{', '.join(types)}, {row}"
    return f"""{_MAPS}
func.func @main(%lhs: {a}, %rhs: {b}) -> ({results}) {{
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : {wide}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : {wide}) -> {wide}
  %product = linalg.generic {{indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%lhs, %rhs : {a}, {b}) outs(%zeros : {wide}) {{
  ^bb0(%x: {dtype}, %y: {dtype}, %t: f32):
    %u = arith.extf %x : {dtype} to f32
    %w = arith.extf %y : {dtype} to f32
    %m = arith.mulf %u, %w : f32
    %n = arith.addf %t, %m : f32
    linalg.yield %n : f32
  }} -> {wide}
  %empty_half = tensor.empty() : {half}
  %half = linalg.generic {{indexing_maps = [#s, #s], iterator_types = ["parallel", "parallel"]}}
      ins(%product : {wide}) outs(%empty_half : {half}) {{
  ^bb0(%x: f32, %y: {dtype}):
    %n = arith.truncf %x : f32 to {dtype}
    linalg.yield %n : {dtype}
  }} -> {half}
  %wider = linalg.generic {{indexing_maps = [#s, #s], iterator_types = ["parallel", "parallel"]}}
      ins(%half : {half}) outs(%empty : {wide}) {{
  ^bb0(%x: {dtype}, %y: f32):
    %n = arith.extf %x : {dtype} to f32
    linalg.yield %n : f32
  }} -> {wide}
{chosen}  %empty_row = tensor.empty() : {row}
  %lowest = linalg.fill ins(%least : f32) outs(%empty_row : {row}) -> {row}
  %top = linalg.generic {{indexing_maps = [#s, #r], iterator_types = ["parallel", "reduction"]}}
      ins(%wider : {wide}) outs(%lowest : {row}) {{
  ^bb0(%x: f32, %y: f32):
    %n = arith.maximumf %x, %y : f32
    linalg.yield %n : f32
  }} -> {row}
  %nothing = linalg.fill ins(%zero : f32) outs(%empty_row : {row}) -> {row}
  %total = linalg.generic {{indexing_maps = [#s, #r, #r],
      iterator_types = ["parallel", "reduction"]}}
      ins(%wider, %top : {wide}, {row}) outs(%nothing : {row}) {{
  ^bb0(%x: f32, %y: f32, %t: f32):
    %l = arith.subf %x, %y : f32
    %m = math.exp %l : f32
    %n = arith.addf %t, %m : f32
    linalg.yield %n : f32
  }} -> {row}
  %lse = linalg.generic {{indexing_maps = [#o, #o, #o], iterator_types = ["parallel"]}}
      ins(%total, %top : {row}, {row}) outs(%empty_row : {row}) {{
  ^bb0(%x: f32, %y: f32, %t: f32):
    %l = math.log %x : f32
    %n = arith.addf %l, %y : f32
    linalg.yield %n : f32
  }} -> {row}
  return {made}, %lse : {results}
}}
"""


def operands(
    rows: int, columns: int, length: int, seed: int, dtype: str = "bf16"
) -> list[np.ndarray]:
    """Whole numbers, of which every sum is exact in f32 and few are in bf16."""
    random = np.random.default_rng(seed)
    return [
        random.integers(-9, 10, (n, length)).astype(numpy_dtype(dtype)) for n in (rows, columns)
    ]


def expected(name: str, a: np.ndarray, b: np.ndarray, dtype: str = "bf16") -> list[np.ndarray]:
    """The results, the last of which allows for the rounding to be left out."""
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    rounded = exact.astype(numpy_dtype(dtype)).astype(np.float64)
    assert (rounded != exact).any()
    return [*EXACT[name](rounded), np.logaddexp.reduce(rounded, axis=-1)]


def hold(exe: Executable, name: str, rows: int, columns: int, length: int) -> None:
    """What a simulated GPU makes of ``program(name, rows, columns, length)``: exact, but for sums of
    exponentials."""
    a, b = operands(rows, columns, length, seed=4)
    *want, exact = expected(name, a, b)
    like = [np.zeros(spec.shape, numpy_dtype(spec.dtype)) for spec in exe.signature.outputs]
    (*got, total), _ = execute(exe, [a, b], like)
    for mine, true in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, true)
    np.testing.assert_allclose(total, exact, rtol=2.0**-8)
