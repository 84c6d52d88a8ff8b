"""Integers that memory does not hold as they are, inside programs: constants, intermediates,
arithmetic; fused, op by op, and as the reference of --check."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import redfuse
from redfuse.reference import reference

WIDTHS = [2, 3, 4, 5, 6, 7, 12, 24, 33, 48]
MODES = {"fused": {}, "streamed": {"schedule": "stream"}, "unfused": {"fuse": False}}
MAP = "#m = affine_map<(i) -> (i)>\n"
GENERIC = 'linalg.generic {indexing_maps = [%s], iterator_types = ["parallel"]}'


def generic(inputs: int) -> str:
    return GENERIC % ", ".join(["#m"] * (inputs + 1))


def results(text: str, *arguments: np.ndarray) -> list[np.ndarray]:
    """By every mode, which all give the same as the reference does."""
    found = []
    for options in MODES.values():
        exe = redfuse.compile(text, target="cpu", options={"cache": False, **options})
        found.append(np.asarray(exe(*arguments)))
    found.append(np.asarray(reference(text, arguments)[0]))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    return found


def signed(v: np.ndarray, width: int) -> np.ndarray:
    low = v & ((1 << width) - 1)
    return np.where(low >> (width - 1), low - (1 << width), low)


def unsigned(v: np.ndarray, width: int) -> np.ndarray:
    return v & ((1 << width) - 1)


@pytest.mark.sample(3)
@pytest.mark.parametrize("width", WIDTHS)
def test_constants(width: int) -> None:
    """Read in order, and at computed places; extended with and without a sign."""
    random = np.random.default_rng(width)
    values = random.integers(-(1 << (width - 1)), 1 << (width - 1), 11)
    text = f"""{MAP}
func.func @main(%p: tensor<11xi64>) -> tensor<11xi64> {{
  %a = arith.constant dense<{values.tolist()}> : tensor<11xi{width}>
  %s = arith.constant dense<-1> : tensor<11xi{width}>
  %e = tensor.empty() : tensor<11xi64>
  %r = {generic(3)} ins(%p, %a, %s : tensor<11xi64>, tensor<11xi{width}>, tensor<11xi{width}>)
      outs(%e : tensor<11xi64>) {{
  ^bb0(%q: i64, %b: i{width}, %t: i{width}, %o: i64):
    %k = arith.index_cast %q : i64 to index
    %v = tensor.extract %a[%k] : tensor<11xi{width}>
    %x = arith.extui %v : i{width} to i64
    %y = arith.extsi %b : i{width} to i64
    %z = arith.extui %t : i{width} to i64
    %c = arith.constant 1000003 : i64
    %d = arith.muli %x, %c : i64
    %f = arith.addi %d, %y : i64
    %g = arith.subi %f, %z : i64
    linalg.yield %g : i64
  }} -> tensor<11xi64>
  return %r : tensor<11xi64>
}}"""
    places = random.permutation(11)
    want = unsigned(values[places], width) * 1000003 + values - unsigned(np.int64(-1), width)
    np.testing.assert_array_equal(results(text, places)[0], want)


@pytest.mark.sample(3)
@pytest.mark.parametrize("width", WIDTHS)
def test_stores(width: int) -> None:
    """Floats and integers cut to the width, in a tensor between two operations."""
    t = f"tensor<37xi{width}>"
    text = f"""{MAP}
func.func @main(%x: tensor<37xf32>, %y: tensor<37xi64>) -> tensor<37xi64> {{
  %e = tensor.empty() : {t}
  %a = {generic(2)} ins(%x, %y : tensor<37xf32>, tensor<37xi64>) outs(%e : {t}) {{
  ^bb0(%u: f32, %v: i64, %o: i{width}):
    %s = arith.fptosi %u : f32 to i64
    %w = arith.addi %s, %v : i64
    %z = arith.trunci %w : i64 to i{width}
    linalg.yield %z : i{width}
  }} -> {t}
  %b = tensor.cast %a : {t} to tensor<?xi{width}>
  %c = tensor.cast %b : tensor<?xi{width}> to {t}
  %f = tensor.empty() : tensor<37xi64>
  %r = {generic(1)} ins(%c : {t}) outs(%f : tensor<37xi64>) {{
  ^bb0(%u: i{width}, %o: i64):
    %z = arith.extsi %u : i{width} to i64
    linalg.yield %z : i64
  }} -> tensor<37xi64>
  return %r : tensor<37xi64>
}}"""
    random = np.random.default_rng(width)
    x = random.uniform(-1000, 1000, 37).astype(np.float32)
    y = random.integers(-(2**60), 2**60, 37)
    want = signed(np.trunc(x).astype(np.int64) + y, width)
    np.testing.assert_array_equal(results(text, x, y)[0], want)


def clipped(v: np.ndarray, width: int) -> np.ndarray:
    return np.where(v == 0, 1, v)


ARITHMETIC: dict[str, tuple[str, Callable[..., np.ndarray]]] = {
    # name: whether it looks at signs, and what it gives
    "addi": ("u", lambda a, b, w: a + b), "subi": ("u", lambda a, b, w: a - b),
    "muli": ("u", lambda a, b, w: a * b), "andi": ("u", lambda a, b, w: a & b),
    "ori": ("u", lambda a, b, w: a | b), "xori": ("u", lambda a, b, w: a ^ b),
    "divui": ("u", lambda a, b, w: a // clipped(b, w)),
    "remui": ("u", lambda a, b, w: a % clipped(b, w)),
    "maxui": ("u", lambda a, b, w: np.maximum(a, b)),
    "minui": ("u", lambda a, b, w: np.minimum(a, b)),
    "maxsi": ("s", lambda a, b, w: np.maximum(a, b)),
    "minsi": ("s", lambda a, b, w: np.minimum(a, b)),
    "shli": ("u", lambda a, b, w: a << (b % w)),
    "shrui": ("u", lambda a, b, w: a >> (b % w)),
    "shrsi": ("s", lambda a, b, w: a >> (b % w)),
}  # fmt: skip


@pytest.mark.parametrize("width", [2, 4, 7, 24])
@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.sample(5)
def test_arithmetic(name: str, width: int) -> None:
    kind, exact = ARITHMETIC[name]
    random = np.random.default_rng(width)
    a, b = (random.integers(-(2**40), 2**40, 41) for _ in "ab")
    if name in ("divui", "remui"):
        b = clipped(unsigned(b, width), width)
    if name in ("shli", "shrui", "shrsi"):
        b = unsigned(b, width) % width
    i = f"i{width}"
    text = f"""{MAP}
func.func @main(%x: tensor<41xi64>, %y: tensor<41xi64>) -> tensor<41xi64> {{
  %e = tensor.empty() : tensor<41x{i}>
  %a:2 = linalg.generic {{indexing_maps = [#m, #m, #m, #m], iterator_types = ["parallel"]}}
      ins(%x, %y : tensor<41xi64>, tensor<41xi64>) outs(%e, %e : tensor<41x{i}>, tensor<41x{i}>) {{
  ^bb0(%u: i64, %v: i64, %o: {i}, %p: {i}):
    %s = arith.trunci %u : i64 to {i}
    %t = arith.trunci %v : i64 to {i}
    linalg.yield %s, %t : {i}, {i}
  }} -> (tensor<41x{i}>, tensor<41x{i}>)
  %c = arith.{name} %a#0, %a#1 : tensor<41x{i}>
  %d = arith.cmpi slt, %a#0, %c : tensor<41x{i}>
  %f = arith.select %d, %c, %a#1 : tensor<41xi1>, tensor<41x{i}>
  %g = tensor.empty() : tensor<41xi64>
  %r = {generic(1)} ins(%f : tensor<41x{i}>) outs(%g : tensor<41xi64>) {{
  ^bb0(%u: {i}, %o: i64):
    %z = arith.extui %u : {i} to i64
    linalg.yield %z : i64
  }} -> tensor<41xi64>
  return %r : tensor<41xi64>
}}"""
    cut = signed if kind == "s" else unsigned
    made = exact(cut(a, width), cut(b, width), width)
    chosen = np.where(signed(a, width) < signed(made, width), made, b)
    np.testing.assert_array_equal(results(text, a, b)[0], unsigned(chosen, width))


def test_sums_and_fills() -> None:
    """A reduction in an integer of 4 bits wraps, from an initial value."""
    text = """
func.func @main(%x: tensor<5x37xi8>) -> tensor<5xi8> {
  %e = tensor.empty() : tensor<5x37xi4>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<5x37xi8>) outs(%e : tensor<5x37xi4>) {
  ^bb0(%u: i8, %o: i4):
    %s = arith.trunci %u : i8 to i4
    linalg.yield %s : i4
  } -> tensor<5x37xi4>
  %c = arith.constant -3 : i4
  %t = tensor.empty() : tensor<5xi4>
  %f = linalg.fill ins(%c : i4) outs(%t : tensor<5xi4>) -> tensor<5xi4>
  %b = linalg.reduce ins(%a : tensor<5x37xi4>) outs(%f : tensor<5xi4>) dimensions = [1]
    (%u: i4, %v: i4) {
      %s = arith.addi %u, %v : i4
      linalg.yield %s : i4
    }
  %g = arith.extsi %b : tensor<5xi4> to tensor<5xi8>
  return %g : tensor<5xi8>
}"""
    x = np.random.default_rng(0).integers(-128, 128, (5, 37)).astype(np.int8)
    want = signed(x.astype(np.int64).sum(-1) - 3, 4)
    np.testing.assert_array_equal(results(text, x)[0], want)


def test_arguments_are_refused_by_name() -> None:
    text = "func.func @main(%x: tensor<8xi4>) -> tensor<8xi4> { return %x : tensor<8xi4> }"
    with pytest.raises(redfuse.UnsupportedError, match="xi4"):
        redfuse.compile(text, target="cpu")


def test_what_is_not_known_is_refused_by_name() -> None:
    text = f"""{MAP}
func.func @main(%x: tensor<8xi32>) -> tensor<8xi32> {{
  %e = tensor.empty() : tensor<8xi32>
  %r = {generic(1)} ins(%x : tensor<8xi32>) outs(%e : tensor<8xi32>) {{
  ^bb0(%u: i32, %o: i32):
    %s = arith.trunci %u : i32 to i4
    %c = math.ctpop %s : i4
    %t = arith.extui %c : i4 to i32
    linalg.yield %t : i32
  }} -> tensor<8xi32>
  return %r : tensor<8xi32>
}}"""
    for options in MODES.values():
        with pytest.raises(redfuse.UnsupportedError, match=r"math\.ctpop.*8, 16, 32 or 64"):
            redfuse.compile(text, target="cpu", options={"cache": False, **options})
