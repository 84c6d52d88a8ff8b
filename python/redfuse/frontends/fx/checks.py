"""What PyTorch guards of open extents, checked when the program is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlir.dialects import arith, cf, tensor

from . import complexes
from .builder import Builder

# Bounds that say nothing: PyTorch's infinities are of this size.
_ENDLESS = 1 << 60


def check_extents(
    importer: Any, names: Sequence[str], nodes: Mapping[str, Any], ranges: Mapping[Any, Any]
) -> None:
    """Asserts, of arguments with open extents, that equal ones are equal, that those that follow
    from others do, and that they are in their ranges. ranges: (lower, upper) by symbol."""
    first: dict[str, str] = {}
    bounds = {str(symbol): bound for symbol, bound in ranges.items()}
    for number, name in enumerate(names):
        value = complexes.real_of(importer.values[nodes[name]])
        for d, size in enumerate(value.shape):
            if isinstance(size, int):
                continue
            expr, place = size.node.expr, f"dim {d} of argument {number}"
            if expr.is_Integer:
                continue
            extent = tensor.dim(value.value, Builder.index(d))
            if expr.is_Symbol and str(expr) not in first:
                first[str(expr)] = place
                _check_range(extent, place, bounds.get(str(expr)))
                continue
            expected = f"the extent of {first[str(expr)]}" if str(expr) in first else (
                "the extent " + _words(expr, first))  # fmt: skip
            same = arith.cmpi(arith.CmpIPredicate.eq, extent, importer.extent(size))
            _assert(same, f"{place}: expected {expected}")


def _check_range(extent: Any, place: str, bound: Any) -> None:
    if bound is None:
        return
    lower, upper = (int(n) if n.is_Integer else None for n in (bound.lower, bound.upper))
    at_least = lower is not None and lower > 0
    at_most = upper is not None and upper < _ENDLESS
    words = f"{place}: expected an extent of " + (
        f"{lower} to {upper}" if at_least and at_most
        else f"at least {lower}" if at_least else f"at most {upper}")  # fmt: skip
    for is_there, number, kind in ((at_least, lower, arith.CmpIPredicate.sge),
                                   (at_most, upper, arith.CmpIPredicate.sle)):  # fmt: skip
        if is_there:
            _assert(arith.cmpi(kind, extent, Builder.index(number)), words)


def _words(expr: Any, first: Mapping[str, str]) -> str:
    """An expression of symbols, each as the place that it was seen at."""
    text = str(expr)
    places = [f"{s} is {first[str(s)]}" for s in expr.free_symbols if str(s) in first]
    return f"{text} ({', '.join(places)})" if places else text


def _assert(condition: Any, words: str) -> None:
    cf.AssertOp(condition, words)
