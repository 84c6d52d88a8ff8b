"""The formulas of certificates: one spelling that people and computer algebra read.

A formula is an :class:`Expr`, a tree of tuples-like nodes that the parser makes and that
:mod:`redfuse.explain.notation` prints and :mod:`redfuse.verification` evaluates. The language:

    x0, a1, d2, t3', y4, i5, c6    names; a prime is the value after a segment
    37, 9.5e-06, oo, nan           numbers
    + - * / ** and parentheses     as in Python
    exp(a), select(c, a, b)        calls; ``where(not a2, v)`` is v where a2 does not hold
    add[1, 2](a)                   a reduction over iteration dims
    a == b, a < b                  conditions of guards
"""

from __future__ import annotations

import ast
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


# What stands for a prime in a name of Python's, and for reducers with names that it cannot have.
_PRIME = "\u02b9"
_WORDS = {"'": _PRIME, "and[": "and_[", "or[": "or_["}
_BINARY: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def parse(text: str) -> Expr:
    """The formula in ``text``; raises ArgumentError that shows where it stops being one.

    But for some names a formula is an expression of Python, whose parser reads it.
    """
    python = text.strip()
    for word, other in _WORDS.items():
        python = python.replace(word, other)
    try:
        return _formula(ast.parse(python, mode="eval").body)
    except SyntaxError as error:
        place, rest = error.offset or 1, text.strip()[(error.offset or 1) - 1 :]
        raise _unexpected(text, place, rest) from None
    except _NoFormulaError as error:
        node = error.node
        raise _unexpected(text, node.col_offset + 1, ast.unparse(node)) from None


def _unexpected(text: str, column: int, got: str) -> ArgumentError:
    got = got.replace(_PRIME, "'")[:20]
    return ArgumentError(f"formula '{text}': expected a formula at column {column}, got {got!r}")


class _NoFormulaError(Exception):
    """Python, but no formula."""

    def __init__(self, node: ast.expr):
        super().__init__()
        self.node = node


def _formula(node: ast.expr) -> Expr:
    match node:
        case ast.Constant(value=bool() | str() | bytes() | complex() | None):
            raise _NoFormulaError(node)
        case ast.Constant(value=int() | float() as value):
            return number(value)
        case ast.Name(id="oo"):
            return number(float("inf"))
        case ast.Name(id="nan"):
            return number(float("nan"))
        case ast.Name(id=spelled) if _PRIME not in spelled.rstrip(_PRIME) != "":
            return name(spelled.replace(_PRIME, "'"))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _negated(_formula(operand))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Expr("not", (_formula(operand),))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _binary(_BINARY[type(op)], _formula(left), _formula(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _BINARY:
            return _binary(_BINARY[type(op)], _formula(left), _formula(right))
        case ast.Call(func=ast.Name(id=called), args=args, keywords=[]):
            return Expr("call", tuple(map(_formula, args)), called)
        case ast.Call(func=ast.Subscript(value=ast.Name(id=called), slice=dims), args=args):
            reducer = called.removesuffix("_")
            return Expr("reduce", tuple(map(_formula, args)), reducer, dims=_dims(dims))
    raise _NoFormulaError(node)


def _dims(node: ast.expr) -> tuple[int, ...]:
    found = node.elts if isinstance(node, ast.Tuple) else [node]
    dims = tuple(one.value for one in found if isinstance(one, ast.Constant))
    if len(dims) != len(found) or not all(type(d) is int for d in dims):
        raise _NoFormulaError(node)
    return dims  # type: ignore[return-value]


def _negated(operand: Expr) -> Expr:
    if operand.head == "number":
        return number(-operand.value)  # type: ignore[operator]
    return Expr("neg", (operand,))


def _binary(operator: str, left: Expr, right: Expr) -> Expr:
    """A sign is one of the whole product: -a*b is that of a*b."""
    if operator in "*/" and left.head == "neg":
        return Expr("neg", (Expr(operator, (left.args[0], right)),))
    if operator in "*/" and left.head == "number" and left.value < 0:  # type: ignore[operator]
        return Expr("neg", (Expr(operator, (_negated(left), right)),))
    return Expr(operator, (left, right))
