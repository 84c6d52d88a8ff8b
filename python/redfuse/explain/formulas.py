"""The formulas of certificates: one spelling that people and computer algebra read.

A formula is an :class:`Expr`, a tree of tuples-like nodes that the parser makes and that
:mod:`redfuse.explain.notation` prints and :mod:`redfuse.verification` evaluates. The language:

    x0, a1, d2, t3', y4, i5, c6    names; a prime is the value after a segment
    37, 9.5e-06, oo, nan           numbers
    + - * / ** and parentheses     as in Python
    exp(a), select(c, a, b)        calls; ``where(not a2, v)`` is v where a2 does not hold
    add[1, 2](a)                   a reduction over iteration dims
    a == b, a < b                  conditions of guards

The attribute ``#redfuse.formula`` has the parser.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ..attributes import formula_tree


@dataclass(frozen=True)
class Expr:
    """A node: ``head`` is "number", "name", "call", "reduce", "not" or an operator.

    value: the number (Fraction, or float for oo and nan), the name without primes, or the function.
    primes: how many primes a name has. dims: what a reduction runs over.
    """

    head: str
    args: tuple[Expr, ...] = ()
    value: object = None
    primes: int = 0
    dims: tuple[int, ...] = ()

    def walk(self) -> Iterator[Expr]:
        """This node and all below."""
        yield self
        for arg in self.args:
            yield from arg.walk()

    def names(self) -> set[str]:
        """The names in it, with their primes."""
        return {e.key for e in self.walk() if e.head == "name"}

    @property
    def key(self) -> str:
        """A name with its primes."""
        return f"{self.value}{chr(39) * self.primes}"

    def replaced(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """The tree with every node for which ``change`` gives another one exchanged."""
        new = change(self)
        if new is not None:
            return new
        args = tuple(arg.replaced(change) for arg in self.args)
        same = all(a is b for a, b in zip(args, self.args, strict=True))
        return self if same else Expr(self.head, args, self.value, self.primes, self.dims)


def number(value: int | float | Fraction) -> Expr:
    """A number as a formula."""
    return Expr("number", value=Fraction(value) if _is_finite(value) else value)


def name(text: str) -> Expr:
    """A name as a formula; primes at its end count."""
    plain = text.rstrip("'")
    return Expr("name", value=plain, primes=len(text) - len(plain))


def _is_finite(value: int | float | Fraction) -> bool:
    return not isinstance(value, float) or value - value == 0


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Expr:
    """The formula in ``text``; raises ArgumentError that shows where it stops being one."""
    return _formula(formula_tree(text))


def _formula(node: tuple) -> Expr:
    head, value, primes, dims, args = node
    if head == "number":
        return number(_number(value))
    return Expr(head, tuple(map(_formula, args)), value or None, primes, dims)


def _number(digits: str) -> int | float:
    if digits.lstrip("-") == "oo":
        return float("-inf" if digits.startswith("-") else "inf")
    try:
        return int(digits)
    except ValueError:
        return float(digits)
