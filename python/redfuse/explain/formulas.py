"""The formulas of certificates: one spelling that people and computer algebra read.

A formula is an :class:`Expr`, a tree of tuples-like nodes that the parser makes and that
:mod:`redfuse.explain.notation` prints and :mod:`redfuse.verification` evaluates. The language:

    x0, a1, d2, t3', y4, i5, c6    names; a prime is the value after a segment
    37, 9.5e-06, oo, nan           numbers
    + - * / ** and parentheses     as in Python; ``**`` binds tighter than a sign
    exp(a), select(c, a, b)        calls; ``where(not a2, v)`` is v where a2 does not hold
    add[1, 2](a)                   a reduction over iteration dims
    a == b, a < b                  conditions of guards
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ..errors import ArgumentError


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


_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*'*)"
    r"|(?P<operator>\*\*|==|!=|<=|>=|[-+*/()\[\],<>]))"
)
_BINDING = {"==": 1, "!=": 1, "<": 1, "<=": 1, ">": 1, ">=": 1, "+": 2, "-": 2, "*": 3, "/": 3}


def parse(text: str) -> Expr:
    """The formula in ``text``; raises ArgumentError that shows where it stops being one."""
    parser = _Parser(text)
    result = parser.expression(0)
    parser.expect("")
    return result


class _Parser:
    """Operator precedence, one token of look-ahead."""

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.kind = self.token = ""
        self.advance()

    def advance(self) -> None:
        if not self.text[self.at :].strip():
            self.kind, self.token, self.start = "end", "", self.at
            return
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            self.start = self.at
            self.fail("a formula")
        self.kind, self.token = str(match.lastgroup), match[match.lastgroup or 0]
        self.start, self.at = match.start(match.lastgroup or 0), match.end()

    def fail(self, expected: str) -> None:
        rest = self.text[self.start :]
        raise ArgumentError(
            f"formula '{self.text}': expected {expected} at column {self.start + 1}, got "
            f"{rest[:20]!r}"
        )

    def expect(self, token: str) -> None:
        if self.token != token:
            self.fail(f"'{token}'" if token else "the end")
        self.advance()

    def expression(self, least: int) -> Expr:
        left = self.unary()
        while self.kind == "operator" and _BINDING.get(self.token, 0) > least:
            operator = self.token
            self.advance()
            left = Expr(operator, (left, self.expression(_BINDING[operator])))
        return left

    def unary(self) -> Expr:
        if self.token == "-":
            self.advance()
            operand = self.expression(2)  # Of a whole product.
            if operand.head == "number":
                return number(-operand.value)  # type: ignore[operator]
            return Expr("neg", (operand,))
        if self.token == "not":
            self.advance()
            return Expr("not", (self.unary(),))
        base = self.atom()
        if self.token == "**":
            self.advance()
            return Expr("**", (base, self.unary()))
        return base

    def atom(self) -> Expr:
        kind, token = self.kind, self.token
        if kind == "number":
            self.advance()
            return number(Fraction(token) if re.fullmatch(r"\d+", token) else float(token))
        if token == "(":
            self.advance()
            inner = self.expression(0)
            self.expect(")")
            return inner
        if kind != "name":
            self.fail("a number, a name or '('")
        self.advance()
        if token in ("oo", "nan"):
            return number(float("inf" if token == "oo" else "nan"))
        dims: list[int] | None = None
        if self.token == "[":
            self.advance()
            dims = []
            while self.kind == "number":
                dims.append(int(self.token))
                self.advance()
                if self.token == ",":
                    self.advance()
            self.expect("]")
        if self.token != "(":
            if dims is not None:
                self.fail("'('")
            return name(token)
        self.advance()
        args: list[Expr] = []
        while self.token != ")":
            args.append(self.expression(0))
            if self.token != ")":
                self.expect(",")
        self.advance()
        if dims is not None:
            return Expr("reduce", tuple(args), token, dims=tuple(dims))
        return Expr("call", tuple(args), token)
