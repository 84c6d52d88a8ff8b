"""Claims of a certificate as identities, proved by SymPy.

Elements that count several times stand for as many as the program has, so that a mean divides by
the right number; three different ones are as good as any number for sums. Maxima are symbols: what
holds for every pivot holds for the running maximum.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..explain.certificates import Certificate, Combiner, Reduction
from ..explain.formulas import Expr
from .report import FAILED, PASSED, UNCHECKED, Check

_FUNCTIONS = {
    "exp": "exp", "log": "log", "sqrt": "sqrt", "Abs": "Abs", "absf": "Abs", "tanh": "tanh",
    "sin": "sin", "cos": "cos", "erf": "erf",
}  # fmt: skip
_EXTREMES = {
    "maximumf": "Max", "maxnumf": "Max", "maxsi": "Max", "maxui": "Max",
    "minimumf": "Min", "minnumf": "Min", "minsi": "Min", "minui": "Min",
}  # fmt: skip
# Comparisons that tell equal values from others, and what they are for equal ones.
_EQUAL = {
    "==": True, "cmpf_oeq": True, "cmpf_ueq": True, "cmpi_eq": True,
    "!=": False, "cmpf_one": False, "cmpf_une": False, "cmpi_ne": False,
}  # fmt: skip
_MAXIMA = ("maximumf", "maxnumf")


_OPAQUE = "reduction"  # how the symbol of one over dims that are not folded begins


class Undecided(Exception):  # noqa: N818
    """SymPy found no proof; at random points it holds."""


class Refuted(Exception):  # noqa: N818
    """A point where it does not hold."""


class Algebra:
    """Formulas of a certificate as SymPy expressions.

    truth: what conditions on data and reduced values are taken for, by turns. positive: whether
    data is taken to be positive, where logarithms and roots need that.
    """

    def __init__(self, certificate: Certificate, truth: int = 0, positive: bool = False):
        import sympy

        self.sp, self.certificate = sympy, certificate
        self.truth, self.positive = truth, positive
        self._dims: dict[str, frozenset[int]] = {}

    def dims(self, formula: Expr) -> frozenset[int]:
        """The iteration dims that a formula of data depends on."""
        if formula.head == "name":
            key = formula.key
            if key in self.certificate.inputs:
                return frozenset(self.certificate.inputs[key].dims)
            if key.startswith("i") and key[1:].isdigit():
                return frozenset([int(key[1:])])
            if key in self.certificate.where:
                if key not in self._dims:
                    self._dims[key] = self.dims(self.certificate.where[key])
                return self._dims[key]
            return frozenset()
        below = frozenset().union(*map(self.dims, formula.args)) if formula.args else frozenset()
        return below - set(formula.dims)

    def symbol(self, name: str, group: int | None = None, positive: bool = False) -> Any:
        """A real number."""
        suffix = "" if group is None else f"_{group}"
        kind = {"positive": True} if positive or self.positive else {"real": True}
        return self.sp.Symbol(f"{name}{suffix}", **kind)

    def expression(
        self, formula: Expr, given: Mapping[str, Any], group: int = 0, identity: Any = 0
    ) -> Any:
        """A formula for one element. given: expressions by name, with primes."""
        sp = self.sp

        def below() -> list[Any]:
            return [self.expression(f, given, group, identity) for f in formula.args]

        head = formula.head
        if head == "number":
            value = formula.value
            if isinstance(value, float):
                return sp.oo if value > 0 else sp.nan if value != value else -sp.oo
            return sp.Rational(value.numerator, value.denominator)  # type: ignore[attr-defined]
        if head == "name":
            key = formula.key
            if key in given:
                return given[key]
            if key in self.certificate.where:
                return self.expression(self.certificate.where[key], given, group, identity)
            if key in self.certificate.shared:
                return self.expression(self.certificate.shared[key], given, group, identity)
            is_data = bool(self.dims(formula) & set(self.certificate.over))
            return self.symbol(key, group if is_data else None)
        if head == "reduce":  # Over other dims: data of its own.
            is_data = bool(self.dims(formula) & set(self.certificate.over))
            return self.symbol(f"{_OPAQUE}{abs(hash(formula)) % 10**8}", group if is_data else None)
        if head == "call" and formula.value in ("where", "select"):
            holds = self._holds(formula.args[0], group, given)
            chosen = formula.args[1] if holds else (formula.args[2:] or (None,))[0]
            return identity if chosen is None else self.expression(chosen, given, group, identity)
        if head == "call":
            function = str(formula.value)
            if function in _EXTREMES:
                return getattr(sp, _EXTREMES[function])(*below())
            if function in _FUNCTIONS:
                return getattr(sp, _FUNCTIONS[function])(*below())
            return sp.Function(function)(*below())
        a, b = (*below(), None)[:2]
        operators: dict[str, Callable[[], Any]] = {
            "+": lambda: a + b,
            "-": lambda: a - b,
            "*": lambda: a * b,
            "/": lambda: a / b,
            "**": lambda: a**b,
            "neg": lambda: -a,
        }
        if head not in operators:
            raise Undecided(f"'{head}' in a formula")
        return operators[head]()

    def _holds(self, condition: Expr, group: int, given: Mapping[str, Any]) -> bool:
        """What a condition is taken for: any value will do that is the same wherever it occurs.
        States that are combined are equal where they are so by algebra, as identities are, else
        not."""
        if condition.head == "not":
            return not self._holds(condition.args[0], group, given)
        if condition.head == "name" and condition.key in self.certificate.where:
            return self._holds(self.certificate.where[condition.key], group, given)
        if condition.head == "call" and condition.value in ("andi", "ori", "xori"):
            a, b = (self._holds(c, group, given) for c in condition.args)
            return {"andi": a and b, "ori": a or b, "xori": a != b}[str(condition.value)]
        compared = condition.value if condition.head == "call" else condition.head
        if compared in _EQUAL and any(n in given and n[0] in "lr" for n in condition.names()):
            a, b = (self.expression(c, given, group) for c in condition.args)
            return bool(self.sp.expand(a - b) == 0) == _EQUAL[str(compared)]
        is_data = bool(self.dims(condition) & set(self.certificate.over))
        return (sum(map(ord, repr(condition))) + (group if is_data else 0) + self.truth) % 2 == 0

    # ---- proofs ----------------------------------------------------------------------

    def prove_zero(self, expression: Any) -> None:
        """Raises Refuted with a point, or Undecided, unless ``expression`` is 0."""
        sp = self.sp
        expanded = sp.expand(expression, power_base=False)
        if expanded == 0:
            return
        self._try_points(expanded)
        numerator, _ = sp.fraction(sp.together(expanded))
        if sp.expand(numerator) == 0 or sp.simplify(expanded) == 0:
            return
        raise Undecided("no proof found; it holds at random points")

    def _try_points(self, expression: Any) -> None:
        sp = self.sp
        symbols = sorted(expression.free_symbols, key=str)
        rng = random.Random(11)
        for _ in range(3):
            point = {s: sp.Rational(rng.randint(3, 60), 20) for s in symbols}
            for s in symbols:
                if not s.is_positive and rng.random() < 0.4:
                    point[s] = -point[s]
            value = expression.subs(point)
            try:
                number = complex(value.evalf(30))
            except (TypeError, ValueError):
                continue  # An opaque function, or no number there.
            if number != number or abs(number) == float("inf"):
                continue
            size = max([1.0, *(abs(float(v)) for v in point.values())])
            if abs(number) > 1e-18 * size**4:
                if any(str(s).startswith(_OPAQUE) for s in symbols):
                    raise Undecided("reductions over other dims: by numbers only")
                text = ", ".join(f"{s} = {v}" for s, v in point.items())
                raise Refuted(f"the two sides differ by {number.real:.6g} at {text}")


def checks(certificate: Certificate) -> Iterator[Check]:
    """All claims, one by one. A certificate with gaps is not looked at any further."""
    gaps = missing(certificate)
    yield Check("the certificate is complete", "algebra", FAILED if gaps else PASSED, "",
                "; ".join(gaps))  # fmt: skip
    if gaps:
        return
    yield from _identities(certificate)
    for combiner in certificate.combiners.values():
        yield from _combiner(certificate, combiner)
    yield from _pivots(certificate)
    for name in certificate.transport:
        yield from _transport(certificate, name)
    for component in certificate.basis:
        yield from _plain(certificate, component)
    if certificate.transport:
        yield _proved("merging is associative, whatever the pivots are", "", certificate,
                      _associativity)  # fmt: skip
    for name, formula in certificate.finalise.items():
        yield _finalisation(certificate, name, formula)


def missing(certificate: Certificate) -> list[str]:
    """What formulas use or results need and the certificate does not have."""
    return _Gaps(certificate).find()


class _Gaps:
    """The gaps of a certificate. ``held``: components of the state that have a formula, or are kept
    with one; ``reduced``: results of reductions, and what is computed of them once for many."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        self.found: list[str] = []
        self.held = {n for c in certificate.basis for n in c.names} | set(certificate.kept)
        self.state = set(certificate.state)
        self.data = set(certificate.inputs) | set(certificate.where)
        self.reduced = {n for s in certificate.source for n in s.names} | set(certificate.shared)

    def find(self) -> list[str]:
        self._in_state()
        self._in_reductions()
        self._in_updates()
        self._in_results()
        self._in_combiners()
        self._in_pivots()
        self._in_source()
        return self.found

    def _uses(self, what: str, formula: Expr, known: set[str]) -> None:
        """``what`` is defined by a formula over known names, and those of the state after a
        segment."""
        for name in sorted(formula.names()):
            plain = name.rstrip("'")
            is_free = plain[0] in "ic" and plain[1:].isdigit()
            if not is_free and (plain not in known or (name != plain and plain not in self.state)):
                self.found.append(f"{what} uses {name}, which is not defined")

    def _in_state(self) -> None:
        for name in self.certificate.state:
            if name not in self.held:
                self.found.append(f"{name} has no formula in the basis")
        self.found += [f"{name} is not declared" for name in sorted(self.held - self.state)]

    def _in_reductions(self) -> None:
        for name, formula in self.certificate.where.items():
            self._uses(name, formula, self.data)
        for name, formula in self.certificate.shared.items():
            self._uses(name, formula, self.data | self.reduced)
        for reductions, known in (
            (self.certificate.basis, self.data | self.state),
            (self.certificate.source, self.data | self.reduced),
        ):
            for reduction in reductions:
                for operand in reduction.operands:
                    self._uses(reduction.names[0], operand, known)

    def _in_updates(self) -> None:
        for name, formula in self.certificate.transport.items():
            self._uses(name, formula, self.data | self.state)
            if name not in self.state:
                self.found.append(f"{name} is not declared")
        for name, kept in self.certificate.kept.items():
            self._uses(name, kept.data, self.data)
            if not any(c.names == (kept.weight,) for c in self.certificate.basis):
                self.found.append(f"{kept.weight}, by which {name} is chosen, is not in the basis")

    def _in_results(self) -> None:
        for name, formula in self.certificate.finalise.items():
            self._uses(name, formula, self.data | self.state | self.reduced)
            if name not in self.reduced:
                self.found.append(f"the source has no {name}")
        for name, formula in self.certificate.results.items():
            self._uses(name, formula, self.data | self.reduced)

    def _in_combiners(self) -> None:
        for combiner in self.certificate.combiners.values():
            sides = {f"{side}{k}" for side in "lr" for k in range(len(combiner.results))}
            for formula in combiner.results:
                self._uses(combiner.name, formula, sides)
            if len(combiner.identities) != len(combiner.results):
                self.found.append(f"{combiner.name} has not one identity for each result")

    def _in_pivots(self) -> None:
        for pivot in self.certificate.pivots.values():
            self._uses(pivot.name, pivot.data, self.data)
            if pivot.name not in self.held:
                self.found.append(f"the pivot {pivot.name} is not in the basis")

    def _in_source(self) -> None:
        for dim in {d for s in self.certificate.source for d in s.over}:
            if dim >= len(self.certificate.extents):
                self.found.append(f"dim {dim} has no extent")
        if not self.certificate.source:
            self.found.append("there is no source")


def _proved(
    what: str, formula: str, certificate: Certificate, prove: Callable[[Algebra], None]
) -> Check:
    """A check of an identity: for both turns of the conditions, then for positive data."""
    undecided = ""
    for positive in (False, True):
        try:
            for truth in (0, 1):
                prove(Algebra(certificate, truth, positive))
            note = "for positive data; other data by numbers" if positive else ""
            return Check(what, "algebra", PASSED, formula, note)
        except Refuted as error:
            if positive:
                break
            undecided = f"refuted: {error}"
        except Undecided as error:
            undecided = str(error)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            undecided = f"not computed: {type(error).__name__}: {error}"
    if undecided.startswith("refuted: "):
        return Check(what, "algebra", FAILED, formula, undecided[len("refuted: ") :])
    return Check(what, "algebra", UNCHECKED, formula, undecided)


# ---- identities and pivots ---------------------------------------------------------------

_IDENTITIES = {
    "add": 0, "mul": 1, "maximumf": "-oo", "maxnumf": "-oo", "minimumf": "oo", "minnumf": "oo",
    "argmax": "-oo", "argmin": "oo", "topk": "-oo", "or": 0, "xor": 0, "maxui": 0,
}  # fmt: skip


def identity_of(reducer: str, type_: str) -> Expr | None:
    """What a reducer gives over nothing; None for one that is not known here."""
    from ..explain.formulas import number

    bits = int(type_[1:]) if type_[1:].isdigit() and type_[0] == "i" else 64
    integers = {
        "maxsi": -(2 ** (bits - 1)), "minsi": 2 ** (bits - 1) - 1,
        "minui": -1, "and": 1 if bits == 1 else -1,
    }  # fmt: skip
    if reducer in integers:
        return number(integers[reducer])
    known = _IDENTITIES.get(reducer)
    if known is None:
        return None
    return number(known if isinstance(known, int) else float(known.replace("oo", "inf")))


def _identity_at(reducer: str, place: int, type_: str) -> Expr | None:
    """The same of the ``place``-th result of a reducer."""
    if place == 0:
        return identity_of(reducer, type_)
    from ..explain.formulas import number

    bits = int(type_[1:]) if type_[1:].isdigit() else 64
    return number(-1 if reducer == "topk" else 2 ** (bits - 1) - 1)


def _combiner(certificate: Certificate, combiner: Combiner) -> Iterator[Check]:
    """The promises of a reducer that the program declares."""
    count = len(combiner.results)

    def combined(algebra: Algebra, a: list[Any], b: list[Any]) -> list[Any]:
        return [algebra.expression(f, combiner.given(a, b)) for f in combiner.results]

    def symbols(algebra: Algebra, suffix: str) -> list[Any]:
        return [algebra.symbol(f"{suffix}{k}") for k in range(count)]

    def equal(algebra: Algebra, a: list[Any], b: list[Any]) -> None:
        for x, y in zip(a, b, strict=True):
            if x != y:
                algebra.prove_zero(x - y)

    def associative(algebra: Algebra) -> None:
        a, b, c = (symbols(algebra, s) for s in "uvw")
        ab, bc = combined(algebra, a, b), combined(algebra, b, c)
        equal(algebra, combined(algebra, ab, c), combined(algebra, a, bc))

    def neutral(algebra: Algebra) -> None:
        a = symbols(algebra, "u")
        nothing = [algebra.expression(f, {}) for f in combiner.identities]
        equal(algebra, combined(algebra, nothing, a), a)
        equal(algebra, combined(algebra, a, nothing), a)

    def commutative(algebra: Algebra) -> None:
        a, b = symbols(algebra, "u"), symbols(algebra, "v")
        equal(algebra, combined(algebra, a, b), combined(algebra, b, a))

    name = combiner.name
    yield _proved(f"{name} is associative", combiner.text, certificate, associative)
    yield _proved(f"{name}: its identity is neutral", "", certificate, neutral)
    if not (combiner.is_ordered and certificate.ordered):
        yield _proved(f"{name} is commutative, as nothing says that it is ordered", "",
                      certificate, commutative)  # fmt: skip


def _identities(certificate: Certificate) -> Iterator[Check]:
    wrong, unknown = [], []
    for component in certificate.basis:
        combiner = certificate.combiners.get(component.reducer)
        for place, name in enumerate(component.names):
            declared = certificate.state[name]
            if combiner is not None:
                expected = combiner.identities[place]
            else:
                expected = _identity_at(component.reducer, place, declared.type)
            if expected is None:
                unknown.append(component.reducer)
            elif declared.identity != expected:
                wrong.append(name)
    formula = "; ".join(certificate.lines["state"])
    what = "the state of nothing is neutral"
    if wrong:
        yield Check(what, "algebra", FAILED, formula,
                    f"not the identity of its reducer: {', '.join(wrong)}")  # fmt: skip
    elif unknown:
        yield Check(what, "algebra", UNCHECKED, formula, f"reducers: {', '.join(unknown)}")
    else:
        yield Check(what, "algebra", PASSED, formula)


def _peeled(formula: Expr) -> tuple[list[Expr], Expr]:
    """The masks around a contribution, and what is inside."""
    masks = []
    while formula.head == "call" and formula.value == "where":
        masks.append(formula.args[0])
        formula = formula.args[1]
    return masks, formula


def _pivots(certificate: Certificate) -> Iterator[Check]:
    components = {name: c for c in certificate.basis for name in c.names}
    for pivot in certificate.pivots.values():

        def holds_data(algebra: Algebra, pivot: Any = pivot) -> None:
            if pivot.is_kept:
                if pivot.name not in certificate.kept:
                    raise Refuted(f"{pivot.name} is not kept")
                held = certificate.kept[pivot.name].data
            else:
                component = components.get(pivot.name)
                if component is None or component.reducer not in _MAXIMA:
                    raise Refuted(f"{pivot.name} is not a maximum")
                held = _peeled(component.operands[0])[1]
            if held != pivot.data:
                expected = algebra.expression(pivot.data, {})
                algebra.prove_zero(algebra.expression(held, {}) - expected)

        yield _proved("the pivot is inside the data", pivot.text, certificate, holds_data)
    for component in certificate.basis:
        if any(e.primes for o in component.operands for e in o.walk()):

            def is_relative(algebra: Algebra, component: Reduction = component) -> None:
                _relative_to_pivots(algebra, component, components)

            yield _proved(
                "no exponential can overflow, every difference is from its own pivot",
                f"{component.names[0]} = {component.text}", certificate, is_relative,
            )  # fmt: skip


def _sign_of(formula: Expr, key: str) -> int:
    """Of a pivot at the end of a sum, or of the sum that begins it; -1 where it is elsewhere, as it
    is subtracted there or the proof fails."""
    while formula.head in ("+", "-") and formula.args[-1].primes and len(formula.args) == 2:
        if formula.args[-1].key == key:
            return 1 if formula.head == "+" else -1
        formula = formula.args[0]
    return -1


def _is_data_less_pivot(certificate: Certificate, formula: Expr) -> bool:
    """Whether a formula is written as a pivot's data less that pivot."""
    if formula.head != "-" or len(formula.args) != 2 or not formula.args[1].primes:
        return False
    pivot = certificate.pivots.get(str(formula.args[1].value))
    return pivot is not None and pivot.data == formula.args[0]


def _relative_to_pivots(
    algebra: Algebra, component: Reduction, components: Mapping[str, Reduction]
) -> None:
    certificate = algebra.certificate
    masks, inside = _peeled(component.operands[0])

    def visit(formula: Expr) -> None:
        is_exponential = (formula.head == "call" and formula.value == "exp") or (
            formula.head == "**" and formula.args[0].head == "number"
        )
        primed = {e.value: e.key for e in formula.walk() if e.primes}
        if not primed:
            return
        is_difference = formula.head in ("+", "-") and bool(formula.args[-1].primes)
        if is_exponential or is_difference:
            argument = formula.args[-1] if is_exponential else formula
            if is_exponential and len(primed) != 1:
                raise Refuted(f"several pivots in {sorted(primed.values())}")
            symbols = {key: algebra.symbol(key) for key in primed.values()}
            value = algebra.expression(argument, symbols)
            # Each pivot stands for its own data: x - y - p + q is (x - p) - (y - q).
            expected = algebra.expression(Expr("number", value=0), {})
            for name, key in primed.items():
                pivot = certificate.pivots.get(str(name))
                if pivot is None or (is_exponential and pivot.is_kept):
                    raise Refuted(f"an exponential relative to {name}, which is no running maximum")
                if not pivot.is_kept:
                    held = _peeled(components[pivot.name].operands[0])[0]
                    if held and held != masks:
                        raise Refuted(
                            f"{name} is a maximum under other masks than {component.text}"
                        )
                sign = _sign_of(argument, key)
                value -= sign * symbols[key]
                expected -= sign * algebra.expression(pivot.data, {})
            if not _is_data_less_pivot(certificate, argument):
                algebra.prove_zero(value - expected)
            return
        if formula.primes:
            raise Refuted(f"the pivot {formula.key} is not subtracted from its data")
        for arg in formula.args:
            visit(arg)

    visit(inside)


# ---- transport ---------------------------------------------------------------------------


def _moves(algebra: Algebra, suffixes: tuple[str, str]) -> dict[str, Any]:
    """The pivots before and after a transport, as symbols."""
    given = {}
    for name in algebra.certificate.pivots:
        for prime, suffix in zip(("", "'"), suffixes, strict=True):
            given[f"{name}{prime}"] = algebra.symbol(f"{name}{suffix}")
    return given


def _basis(algebra: Algebra, suffix: str) -> dict[str, Any]:
    """The contribution of one element to every component, for the pivots ``suffix``."""
    given = {f"{name}'": algebra.symbol(f"{name}{suffix}") for name in algebra.certificate.pivots}
    return {
        component.names[0]: algebra.expression(component.operands[0], given)
        for component in algebra.certificate.basis
    }


def _transport(certificate: Certificate, name: str) -> Iterator[Check]:
    formula = certificate.transport[name]
    text = next(t for t in certificate.lines["transport"] if t.startswith(f"{name} -> "))

    def law(algebra: Algebra) -> None:
        contributions = _basis(algebra, "p")
        given = {**contributions, **_moves(algebra, ("p", "q"))}
        if name not in contributions:
            raise Refuted(f"{name} has no formula in the basis")
        moved = algebra.expression(formula, given)
        algebra.prove_zero(moved - _basis(algebra, "q")[name])

    def at_rest(algebra: Algebra) -> None:
        states = _states(algebra)
        moved = algebra.expression(formula, {**states, **_moves(algebra, ("p", "p"))})
        algebra.prove_zero(moved - states[name])

    def chained(algebra: Algebra) -> None:
        states = _states(algebra)
        middle = _transported(algebra, states, ("p", "q"))
        twice = algebra.expression(formula, {**middle, **_moves(algebra, ("q", "r"))})
        once = algebra.expression(formula, {**states, **_moves(algebra, ("p", "r"))})
        algebra.prove_zero(twice - once)

    def of_nothing(algebra: Algebra) -> None:
        nothing = {key: algebra.sp.Integer(0) for key in _states(algebra)}
        algebra.prove_zero(algebra.expression(formula, {**nothing, **_moves(algebra, ("p", "q"))}))

    yield _proved(f"transport of {name}: T(p,p')*phi(x;p) = phi(x;p')", text, certificate, law)
    yield _proved(f"transport of {name}: T(p,p) = 1", "", certificate, at_rest)
    yield _proved(f"transport of {name}: T(p',p'')*T(p,p') = T(p,p'')", "", certificate, chained)
    yield _proved(f"transport of {name}: nothing stays nothing", "", certificate, of_nothing)


def _states(algebra: Algebra, suffix: str = "") -> dict[str, Any]:
    certificate = algebra.certificate
    return {
        name: algebra.symbol(f"{name}s{suffix}")
        for name in certificate.state
        if name not in certificate.pivots
    }


def _transported(
    algebra: Algebra, states: Mapping[str, Any], suffixes: tuple[str, str]
) -> dict[str, Any]:
    given = {**states, **_moves(algebra, suffixes)}
    return {
        name: algebra.expression(algebra.certificate.transport[name], given)
        if name in algebra.certificate.transport
        else value
        for name, value in states.items()
    }


def _plain(certificate: Certificate, component: Reduction) -> Iterator[Check]:
    """A component without a transport must not depend on a pivot."""
    if component.names[0] in certificate.transport:
        return
    if any(e.primes for operand in component.operands for e in operand.walk()):
        text = f"{component.names[0]} = {component.text}"
        yield Check(f"{component.names[0]} is free of pivots", "algebra", FAILED, text,
                    "it depends on a pivot and has no transport")  # fmt: skip


def _associativity(algebra: Algebra) -> None:
    certificate = algebra.certificate
    sums = {c.names[0] for c in certificate.basis if c.reducer == "add"}
    a, b, c = (_states(algebra, s) for s in "abc")

    def added(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
        return {key: left[key] + right[key] for key in left}

    ab = added(_transported(algebra, a, ("p", "u")), _transported(algebra, b, ("q", "u")))
    first = added(_transported(algebra, ab, ("u", "w")), _transported(algebra, c, ("r", "w")))
    bc = added(_transported(algebra, b, ("q", "v")), _transported(algebra, c, ("r", "v")))
    second = added(_transported(algebra, a, ("p", "w")), _transported(algebra, bc, ("v", "w")))
    for name in first:
        if name in sums and name in certificate.transport:
            algebra.prove_zero(first[name] - second[name])


# ---- finalisation ------------------------------------------------------------------------


def _groups(certificate: Certificate, groups: int) -> list[int]:
    """How often each of ``groups`` different elements counts."""
    total = 1
    for dim in certificate.over:
        extent = certificate.extents[dim]
        total *= 6 if extent is None else extent
    groups = max(1, min(groups, total))
    share, rest = divmod(total, groups)
    return [share + (1 if k < rest else 0) for k in range(groups)]


def _finalisation(certificate: Certificate, name: str, formula: Expr) -> Check:
    text = next(t for t in certificate.lines["finalise"] if t.startswith(f"{name} = "))
    what = f"{name} from the state is the source's"
    source = next((s for s in certificate.source if name in s.names), None)
    components = {n: c for c in certificate.basis for n in c.names}
    if source is None:
        return Check(what, "algebra", FAILED, text, f"the source has no {name}")
    if formula.head == "name" and formula.key in components:
        component = components[formula.key]
        same_place = source.names.index(name) == component.names.index(formula.key)
        if same_place and _is_same(certificate, source, component):
            return Check(what, "algebra", PASSED, text, "the same reduction")
    if source.reducer != "add":
        how = "by numbers only: a reducer that is no sum"
        return Check(what, "algebra", UNCHECKED, text, how)

    def prove(algebra: Algebra) -> None:
        last: Exception | None = None
        for spelled in ("", "sums", "all"):
            try:
                for groups in (2, 3):
                    algebra.prove_zero(_difference(algebra, source, formula, groups, spelled))
                return
            except (Refuted, Undecided) as error:
                last = error
        assert last is not None
        raise last

    return _proved(what, text, certificate, prove)


def _is_same(certificate: Certificate, a: Reduction, b: Reduction) -> bool:
    if (a.reducer, a.over, len(a.operands)) != (b.reducer, b.over, len(b.operands)):
        return False
    algebra = Algebra(certificate)
    for x, y in zip(a.operands, b.operands, strict=True):
        try:
            if x != y:
                algebra.prove_zero(algebra.expression(x, {}) - algebra.expression(y, {}))
        except (Refuted, Undecided, TypeError):
            return False
    return True


def _difference(
    algebra: Algebra, source: Reduction, formula: Expr, groups: int, spelled: str
) -> Any:
    """The stage by its source less the stage from the state.

    spelled: which earlier stages are spelled out: none (they are symbols: what holds for every
    value holds for theirs), the sums, or also maxima, as the pivots that hold them.
    """
    certificate, sp = algebra.certificate, algebra.sp
    counts = _groups(certificate, groups)
    pivots = {name: algebra.symbol(f"{name}p") for name in certificate.pivots}
    reduced: dict[str, Any] = {}
    for stage in certificate.source:
        for name in stage.names:
            reduced[name] = algebra.symbol(f"{name}s")
        if stage.names == source.names:
            break
        if spelled and stage.reducer == "add":
            reduced[stage.names[0]] = _summed(algebra, stage.operands[0], counts, reduced)
        held = certificate.finalise.get(stage.names[0])
        if spelled == "all" and held is not None and held.head == "name" and held.key in pivots:
            reduced[stage.names[0]] = pivots[held.key]
    primed = {f"{name}'": symbol for name, symbol in pivots.items()}
    state: dict[str, Any] = {}
    for component in certificate.basis:
        name = component.names[0]
        if component.reducer == "add":
            state[name] = _summed(algebra, component.operands[0], counts, primed)
        else:
            state[name] = algebra.symbol(f"{name}s")
    wanted = _summed(algebra, source.operands[0], counts, reduced)
    given = {**reduced, **state, **pivots}
    del sp
    return wanted - algebra.expression(formula, given)


def _summed(algebra: Algebra, formula: Expr, counts: list[int], given: Mapping[str, Any]) -> Any:
    total = algebra.sp.Integer(0)
    for group, count in enumerate(counts):
        total += count * algebra.expression(formula, given, group)
    return total
