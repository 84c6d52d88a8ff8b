"""Formulas as people write them: Unicode text and LaTeX.

``equations`` turns a certificate into the merge of two partial results: ``t`` is one state, ``s``
another, a prime the merged one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .certificates import Certificate, Reduction
from .formulas import Expr, name

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_REDUCERS = {
    "add": ("Σ", r"\sum"), "mul": ("Π", r"\prod"),
    "maximumf": ("max", r"\max"), "maxnumf": ("max", r"\max"), "maxsi": ("max", r"\max"),
    "maxui": ("max", r"\max"), "minimumf": ("min", r"\min"), "minnumf": ("min", r"\min"),
    "minsi": ("min", r"\min"), "minui": ("min", r"\min"), "and": ("all", r"\bigwedge"),
    "or": ("any", r"\bigvee"), "xor": ("parity", r"\bigoplus"),
}  # fmt: skip
_CALLS = {"maximumf": "max", "maxnumf": "max", "maxsi": "max", "maxui": "max", "minimumf": "min",
          "minnumf": "min", "minsi": "min", "minui": "min", "roundeven": "round"}  # fmt: skip
_LATEX_CALLS = {"exp": r"\exp", "log": r"\log", "max": r"\max", "min": r"\min", "tanh": r"\tanh",
                "sin": r"\sin", "cos": r"\cos"}  # fmt: skip
_RELATIONS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}
_LATEX_RELATIONS = {"≠": r"\neq", "≤": r"\leq", "≥": r"\geq", "==": "=", "!=": r"\neq",
                    "<=": r"\leq", ">=": r"\geq"}  # fmt: skip
# Bounds that stand for none, as the starts of integer extrema.
_LIMITS = {2**63 - 1: "INT64_MAX", -(2**63): "INT64_MIN"}
_BINDING = {"+": 1, "-": 1, "neg": 1, "*": 2, "/": 2, "**": 4}


def _comparison(function: str) -> str | None:
    """The sign of arith.cmpf and cmpi, from names such as cmpf_oge and cmpi_sle."""
    kind, _, predicate = function.partition("_")
    return _RELATIONS.get(predicate[-2:]) if kind in ("cmpf", "cmpi") else None


def _number_text(value: Fraction | float) -> str:
    if isinstance(value, float):
        return "NaN" if value != value else "∞" if value > 0 else "−∞"
    if value in _LIMITS:
        return _LIMITS[int(value)]
    # Integers of more than 64 bits are what floats such as -1e30 are exactly.
    is_float = abs(value) <= sys.float_info.max and float(value) == value
    if value.denominator == 1 and (abs(value) < 2**64 or not is_float):
        return str(value.numerator).replace("-", "−")
    # Constants of programs are mostly f32: their shortest spelling is what was meant.
    import numpy

    short = numpy.float32(float(value))
    text = str(short) if float(short) == float(value) else f"{float(value):.17g}"
    return text.replace("-", "−")


class _Writer:
    """Writes with as few parentheses as the binding of operators allows."""

    def write(self, e: Expr, least: int = 0) -> str:
        binding = self.binding(e)
        text = self.node(e)
        return self.parentheses(text) if binding < least else text

    def binding(self, e: Expr) -> int:
        if e.head == "number" and not isinstance(e.value, float):
            is_negative = e.value < 0 and e.value not in _LIMITS  # type: ignore[operator]
            return 1 if is_negative else 5
        if e.head == "call" and _comparison(str(e.value)):
            return 0
        if e.head in ("==", "!=", "<", "<=", ">", ">=", "not"):
            return 0
        if e.head == "reduce":
            return 2
        return _BINDING.get(e.head, 5)

    def parentheses(self, text: str) -> str:
        return f"({text})"

    def node(self, e: Expr) -> str:
        raise NotImplementedError


class _Text(_Writer):
    def node(self, e: Expr) -> str:
        head, args = e.head, e.args
        if head == "number":
            return _number_text(e.value)  # type: ignore[arg-type]
        if head == "name":
            return text_name(e)
        if head == "neg":
            return "−" + self.write(args[0], 2)
        if head in ("+", "-"):
            sign = {"+": " + ", "-": " − "}[head]
            right = args[1]
            if head == "+" and right.head == "neg":
                sign, right = " − ", right.args[0]
            return self.write(args[0], 1) + sign + self.write(right, 2 if sign == " − " else 1)
        if head == "*":
            return f"{self.write(args[0], 2)}·{self.write(args[1], 3)}"
        if head == "/":
            return f"{self.write(args[0], 2)}/{self.write(args[1], 3)}"
        if head == "**":
            if args[1].head == "number" and getattr(args[1].value, "denominator", 0) == 1:
                power = str(args[1].value).translate(_SUPERSCRIPTS)
                return self.write(args[0], 5) + power
            return f"{self.write(args[0], 5)}^{self.write(args[1], 5)}"
        if head == "not":
            return "not " + self.write(args[0], 5)
        if head == "reduce":
            word = _REDUCERS.get(str(e.value), (str(e.value), ""))[0]
            dims = " ".join(text_name(name(f"i{d}")) for d in e.dims)
            if len(args) > 1:
                return f"{word}[{dims}]({', '.join(map(self.write, args))})"
            return f"{word}[{dims}] {self.write(args[0], 2)}"
        if head == "call":
            return self.call(str(e.value), args)
        sign = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥"}.get(head, head)
        return f"{self.write(args[0], 1)} {sign} {self.write(args[1], 1)}"

    def call(self, function: str, args: Sequence[Expr]) -> str:
        relation = _comparison(function)
        if relation:
            return f"{self.write(args[0], 1)} {relation} {self.write(args[1], 1)}"
        if function == "sqrt":
            return f"√{self.write(args[0], 5)}"
        if function == "Abs":
            return f"|{self.write(args[0])}|"
        if function in ("select", "where"):
            otherwise = self.write(args[2]) if len(args) > 2 else "nothing"
            return f"({self.write(args[1])} if {self.write(args[0])} else {otherwise})"
        return f"{_CALLS.get(function, function)}({', '.join(map(self.write, args))})"


class _Latex(_Writer):
    def parentheses(self, text: str) -> str:
        return rf"\left({text}\right)"

    def node(self, e: Expr) -> str:
        head, args = e.head, e.args
        if head == "number":
            return _latex_number(e.value)  # type: ignore[arg-type]
        if head == "name":
            return latex_name(e)
        if head == "neg":
            return "-" + self.write(args[0], 2)
        if head in ("+", "-"):
            return f"{self.write(args[0], 1)} {head} {self.write(args[1], 2 if head == '-' else 1)}"
        if head == "*":
            dot = r" \cdot " if args[1].head == "number" else r" \, "
            return f"{self.write(args[0], 2)}{dot}{self.write(args[1], 3)}"
        if head == "/":
            return rf"\frac{{{self.write(args[0])}}}{{{self.write(args[1])}}}"
        if head == "**":
            return f"{self.write(args[0], 5)}^{{{self.write(args[1])}}}"
        if head == "not":
            return rf"\neg {self.write(args[0], 5)}"
        if head == "reduce":
            known = _REDUCERS.get(str(e.value))
            sign = known[1] if known else rf"\operatorname*{{{_plain(str(e.value))}}}"
            dims = ", ".join(latex_name(name(f"i{d}")) for d in e.dims)
            inner = ", ".join(map(self.write, args)) if len(args) > 1 else self.write(args[0], 2)
            return rf"{sign}_{{{dims}}} {self.parentheses(inner) if len(args) > 1 else inner}"
        if head == "call":
            return self.call(str(e.value), args)
        return (
            f"{self.write(args[0], 1)} {_LATEX_RELATIONS.get(head, head)} {self.write(args[1], 1)}"
        )

    def call(self, function: str, args: Sequence[Expr]) -> str:
        relation = _comparison(function)
        if relation:
            sign = _LATEX_RELATIONS.get(relation, relation)
            return f"{self.write(args[0], 1)} {sign} {self.write(args[1], 1)}"
        if function == "sqrt":
            return rf"\sqrt{{{self.write(args[0])}}}"
        if function == "Abs":
            return rf"\left|{self.write(args[0])}\right|"
        if function in ("select", "where"):
            cases = rf"{self.write(args[1])} & \text{{if }} {self.write(args[0])}"
            if len(args) > 2:
                cases += rf" \\ {self.write(args[2])} & \text{{else}}"
            return rf"\begin{{cases}} {cases} \end{{cases}}"
        if not function:
            return self.parentheses(", ".join(map(self.write, args)))
        word = _CALLS.get(function, function)
        command = _LATEX_CALLS.get(word, rf"\operatorname{{{_plain(word)}}}")
        return command + self.parentheses(", ".join(map(self.write, args)))


def _plain(word: str) -> str:
    return word.replace("_", r"\_")


def _latex_number(value: Fraction | float) -> str:
    if value in _LIMITS:
        return rf"\mathrm{{{_plain(_LIMITS[int(value)])}}}"
    text = _number_text(value).replace("−", "-").replace("∞", r"\infty")
    text = text.replace("NaN", r"\mathrm{NaN}")
    mantissa, e, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else text


def text_name(e: Expr) -> str:
    """A name with its number below and its primes: t₁′."""
    plain = str(e.value)
    letter = plain.rstrip("0123456789")
    return letter + plain[len(letter) :].translate(_SUBSCRIPTS) + "′" * e.primes


def latex_name(e: Expr) -> str:
    """A name in LaTeX: t_{1}'."""
    plain = str(e.value)
    letter = plain.rstrip("0123456789")
    subscript = f"_{{{plain[len(letter) :]}}}" if letter != plain else ""
    return letter + subscript + "'" * e.primes


def to_text(e: Expr) -> str:
    """A formula in Unicode."""
    return _Text().write(e)


def to_latex(e: Expr) -> str:
    """A formula in LaTeX, for math mode."""
    return _Latex().write(e)


# ---- the merge ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Equation:
    """``left = right`` in a section: data, state, merge, result. note: what the formula leaves
    out."""

    section: str
    left: Expr
    right: Expr
    note: str = ""

    def text(self) -> str:
        """In Unicode."""
        return f"{to_text(self.left)} = {to_text(self.right)}" + (
            f"   ({self.note})" if self.note else ""
        )

    def latex(self) -> str:
        """A line of an align environment."""
        note = rf" && \text{{{self.note}}}" if self.note else ""
        return rf"{to_latex(self.left)} &= {to_latex(self.right)}{note}"


def equations(certificate: Certificate) -> list[Equation]:
    """The state of a segment, the merge of two states, and the results, as equations."""
    used = _used(certificate)
    made = [
        Equation("data", name(key), formula)
        for key, formula in certificate.where.items()
        if key in used
    ]
    for combiner in certificate.combiners.values():
        sides = [name(f"{side}{k}") for side in "lr" for k in range(len(combiner.results))]
        left = Expr("call", tuple(sides), combiner.name)
        made.append(Equation("data", left, _tuple(combiner.results)))
    for key in certificate.state:
        if key in certificate.kept:
            note = f"mean in the segment, by {certificate.kept[key].weight}"
            made.append(Equation("state", name(key), certificate.kept[key].data, note))
        for component in certificate.basis:
            if component.names[0] == key:
                lazy = certificate.lazy.get(key)
                note = f"or at most {lazy.powers} powers of 2 less, kept" if lazy else ""
                made.append(Equation("state", _left(component), _segment(component), note))
    for key in certificate.state:
        if key in certificate.kept:
            weight = certificate.kept[key].weight
            note = f"or that of s, where its {weight} is larger"
            made.append(Equation("merge", name(key + "'"), name(key), note))
        for component in certificate.basis:
            if component.names[0] == key:
                left = _left(component, 1)
                made.append(Equation("merge", left, _merged(certificate, component)))
    for scan in certificate.source:
        if scan.is_scan:
            made.append(Equation("result", _left(scan), _running(certificate, scan),
                                 "t is that of what came before"))  # fmt: skip
    for formulas in (certificate.finalise, certificate.shared, certificate.results):
        made += [Equation("result", name(key), formula) for key, formula in formulas.items()]
    return made


def _tuple(parts: Sequence[Expr]) -> Expr:
    return parts[0] if len(parts) == 1 else Expr("call", tuple(parts), "")


def _running(certificate: Certificate, scan: Reduction) -> Expr:
    """The prefixes in a segment, continued from the state before it."""
    prefixes = Expr("call", scan.operands, "prefixes")
    for component in certificate.basis:
        if (component.reducer, component.operands) == (scan.reducer, scan.operands):
            state = _left(component)
            if scan.reducer == "add":
                return Expr("+", (state, prefixes))
            return Expr("call", (state, prefixes), scan.reducer)
    return prefixes


def _used(certificate: Certificate) -> set[str]:
    """The names of data that the shown formulas need."""
    shown = [*(kept.data for kept in certificate.kept.values()), *certificate.finalise.values(),
             *certificate.results.values(), *certificate.shared.values(),
             *(o for c in certificate.basis for o in c.operands),
             *(o for s in certificate.source if s.is_scan for o in s.operands)]  # fmt: skip
    work = [n for formula in shown for n in formula.names()]
    used: set[str] = set()
    while work:
        key = work.pop()
        if key not in used:
            used.add(key)
            if key in certificate.where:
                work += certificate.where[key].names()
    return used


def _left(component: Reduction, primes: int = 0) -> Expr:
    return _tuple([Expr("name", value=n, primes=primes) for n in component.names])


def _segment(component: Reduction) -> Expr:
    """A component of one segment: relative to the segment's own pivot."""

    def plain(e: Expr) -> Expr | None:
        return Expr("name", value=e.value) if e.head == "name" and e.primes else None

    operands = tuple(operand.replaced(plain) for operand in component.operands)
    return Expr("reduce", operands, component.reducer, dims=component.over)


def _other(e: Expr) -> Expr:
    """The same of the other state."""

    def other(node: Expr) -> Expr | None:
        if node.head == "name" and not node.primes and str(node.value)[0] == "t":
            return name("s" + str(node.value)[1:])
        return None

    return e.replaced(other)


def _merged(certificate: Certificate, component: Reduction) -> Expr:
    key = component.names[0]
    ours: Expr = certificate.transport.get(key, _left(component))
    theirs = _other(ours)
    if component.reducer == "add":
        return Expr("+", (ours, theirs))
    if component.reducer == "mul":
        return Expr("*", (ours, theirs))
    return Expr("call", (ours, theirs), component.reducer)


def align(found: Sequence[Equation], headings: dict[str, str]) -> str:
    """Equations as a LaTeX align environment, section after section."""
    lines = []
    section = ""
    for equation in found:
        if equation.section != section:
            section = equation.section
            lines.append(rf"&\text{{{headings.get(section, section)}}} \\")
        lines.append(equation.latex() + r" \\")
    if lines:
        lines[-1] = lines[-1][: -len(r" \\")]
    return "\n".join([r"\begin{align*}", *(f"  {line}" for line in lines), r"\end{align*}"])
