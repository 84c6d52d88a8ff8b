"""What a certificate says, computed: states of segments, their merge, the results, and the source.

Nothing here looks at a fold: only the formulas count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..explain.certificates import Certificate, Combiner, Reduction
from ..explain.formulas import Expr
from .arithmetic import Arithmetic, NotInterpretable
from .bodies import identity_value
from .space import Declared, Range, Space, combine, prefixes, reduce, scattered

State = dict[str, Any]

_OPERATORS = {
    "+": "addf", "-": "subf", "*": "mulf", "/": "divf", "neg": "negf", "==": "cmpf_oeq",
    "!=": "cmpf_une", "<": "cmpf_olt", "<=": "cmpf_ole", ">": "cmpf_ogt", ">=": "cmpf_oge",
}  # fmt: skip
_FUNCTIONS = {"Abs": "absf"}


class Formal:
    """A certificate over a space.

    inputs: arrays of the whole space by name (x0, ...); outside: the scalars c0, ...
    """

    def __init__(
        self, certificate: Certificate, numbers: Arithmetic, space: Space,
        inputs: Mapping[str, Any], outside: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        self.certificate, self.numbers, self.space = certificate, numbers, space
        self.inputs, self.outside = dict(inputs), dict(outside or {})
        self.over = certificate.over
        self._data: dict[tuple, Any] = {}

    # ---- formulas --------------------------------------------------------------------

    def value(
        self, formula: Expr, ranges: Sequence[Range], given: Mapping[str, Any],
        identity: Any = None,
    ) -> Any:  # fmt: skip
        """A formula in a part of the space. given: values of names, with their primes.

        identity: what ``where`` gives where its condition does not hold.
        """
        numbers = self.numbers

        def below(*formulas: Expr) -> list[Any]:
            return [self.value(f, ranges, given, identity) for f in formulas]

        head = formula.head
        if head == "number":
            value = formula.value
            whole = getattr(value, "denominator", 0) == 1
            number = numbers.number(int(value) if whole else value)  # type: ignore[call-overload]
            return number.reshape([1] * self.space.rank)
        if head == "name":
            return self._name(formula.key, ranges, given)
        if head == "not":
            return ~np.asarray(below(*formula.args)[0], bool)
        if head == "**":
            return self._power(formula, ranges, given, identity)
        if head == "reduce":
            return reduce(numbers, self.space, ranges, str(formula.value), formula.dims,
                          below(*formula.args))[0]  # fmt: skip
        if head == "call" and formula.value == "where":
            holds, value = below(*formula.args)
            if identity is None:
                raise NotInterpretable("'where' outside of a component of the state")
            return numbers.apply("select", holds, value, identity)
        if head == "call" and formula.value == "extract":
            return scattered(numbers, below(*formula.args[1:]))
        if head == "call":
            function = str(formula.value)
            return numbers.apply(_FUNCTIONS.get(function, function), *below(*formula.args))
        operands = below(*formula.args)
        if head == "/":
            operands = [numbers.to_float(v) for v in operands]
        return numbers.apply(_OPERATORS[head], *operands)

    def _name(self, name: str, ranges: Sequence[Range], given: Mapping[str, Any]) -> Any:
        if name in given:
            return given[name]
        if name in self.inputs:
            return self.space.part(self.inputs[name], ranges)
        if name in self.certificate.where:
            key = (name, *map(tuple, ranges))
            if key not in self._data:
                self._data[key] = self.value(self.certificate.where[name], ranges, {})
            return self._data[key]
        if name in self.certificate.shared:
            value = self.value(self.certificate.shared[name], ranges, given)
            if isinstance(given, dict):  # the reductions it is made of stay what they are
                given[name] = value
            return value
        if name.startswith("i") and name[1:].isdigit() and int(name[1:]) < self.space.rank:
            return self.space.positions(int(name[1:]), ranges)
        if name in self.outside:
            return self.outside[name]
        raise NotInterpretable(f"'{name}' is not defined")

    def _power(
        self, formula: Expr, ranges: Sequence[Range], given: Mapping[str, Any], identity: Any
    ) -> Any:
        base, exponent = formula.args
        numbers = self.numbers
        if base.head == "number" and base.value == 2:
            return numbers.apply("exp2", self.value(exponent, ranges, given, identity))
        value = self.value(base, ranges, given, identity)
        count = exponent.value if exponent.head == "number" else None
        if getattr(count, "denominator", 0) == 1 and 0 < abs(int(count)) <= 16:  # type: ignore
            result = value
            for _ in range(abs(int(count)) - 1):  # type: ignore[call-overload]
                result = result * value
            return result if count > 0 else numbers.apply("divf", numbers.number(1.0), result)  # type: ignore
        if getattr(count, "denominator", 0) == 1 and count > 0 and _is_whole(value):  # type: ignore
            result, left = np.ones_like(value), int(count)  # type: ignore[call-overload]
            while left:
                result = result * value if left % 2 else result
                value, left = value * value, left // 2
            return result
        return numbers.apply("powf", value, self.value(exponent, ranges, given, identity))

    # ---- states ----------------------------------------------------------------------

    def identity(self) -> State:
        """The state of nothing, as it is declared."""
        state = {}
        for name, component in self.certificate.state.items():
            assert component.identity is not None
            value = self.value(component.identity, self.space.ranges(), {})
            if component.type == "i1":
                value = np.asarray(value, bool)
            elif component.type.startswith(("f", "bf")):
                value = self.numbers.to_float(value)
            state[name] = value
        return state

    def segment(self, cut: Range | None) -> State:
        """The state of one segment of the folded dims, from its elements alone."""
        ranges = self.space.ranges(self.over, cut)
        state: State = {}
        for name, kept in self.certificate.kept.items():
            (weights,) = (c for c in self.certificate.basis if c.names == (kept.weight,))
            weight = self.numbers.to_float(self.value(weights.operands[0], ranges, {}))
            value = self.numbers.apply("mulf", self.value(kept.data, ranges, {}), weight)
            total = self._reduced("add", value, ranges)
            state[name] = self.numbers.apply("divf", total, self._reduced("add", weight, ranges))
        for late in (False, True):
            pivots = {f"{name}'": _safe(self, value) for name, value in state.items()}
            for component in self.certificate.basis:
                if _is_relative(component) == late:
                    state.update(self._component(component, ranges, pivots))
        return state

    def _reduced(self, reducer: str, value: Any, ranges: Sequence[Range]) -> Any:
        shape = [1] * (self.space.rank - np.ndim(value)) + list(np.shape(value))
        return reduce(self.numbers, self.space, ranges, reducer, self.over,
                      [value.reshape(shape)])[0]  # fmt: skip

    def _component(
        self, component: Reduction, ranges: Sequence[Range], pivots: Mapping[str, Any]
    ) -> State:
        operands = []
        for name, operand in zip(component.names, component.operands, strict=True):
            identity = self.certificate.state[name].identity
            empty = self.value(identity, ranges, {}) if identity is not None else None
            operands.append(self.value(operand, ranges, pivots, empty))
        values = self._over_elements(component, ranges, operands)
        return dict(zip(component.names, values, strict=True))

    def _over_elements(
        self, reduction: Reduction, ranges: Sequence[Range], operands: Sequence[Any]
    ) -> list[Any]:
        """A reduction, or the prefixes of a scan."""
        declared = self._declared(reduction)
        if reduction.is_scan:
            if declared is None:
                identity = identity_value(reduction.reducer, "f32")
                start = self.numbers.number(identity).reshape([1] * self.space.rank)
                declared = Declared(
                    [start], lambda a, b: combine(self.numbers, reduction.reducer, a, b)
                )
            return prefixes(self.space, ranges, reduction.over[0], operands, declared)
        return reduce(self.numbers, self.space, ranges, reduction.reducer, reduction.over,
                      operands, self._rank_dim(reduction), declared)  # fmt: skip

    def _declared(self, reduction: Reduction) -> Declared | None:
        combiner = self.certificate.combiners.get(reduction.reducer)
        if combiner is None:
            return None
        whole = self.space.ranges()

        def both(a: Sequence[Any], b: Sequence[Any], combiner: Combiner = combiner) -> list[Any]:
            return [self.value(f, whole, combiner.given(a, b)) for f in combiner.results]

        return Declared([self.value(f, whole, {}) for f in combiner.identities], both)

    def _rank_dim(self, reduction: Reduction) -> int | None:
        """The dim of the ranks of a top-k: the one of its component that data lacks."""
        if reduction.reducer != "topk":
            return None
        # A selection on other data has its indices, and makes its values of those.
        finalised = [self.certificate.finalise.get(name) for name in reduction.names]
        held = {f.key for f in finalised if f is not None and f.head == "name"}
        for component in self.certificate.basis:
            if component.text == reduction.text or held & set(component.names):
                dims = set(self.certificate.state[component.names[0]].dims)
                for operand in component.operands:
                    dims -= self._dims(operand)
                return max(dims) if dims else None
        raise NotInterpretable("a top-k whose ranks have no dim in the state")

    def _dims(self, formula: Expr) -> set[int]:
        """The dims that a formula of data depends on."""
        found: set[int] = set()
        for part in formula.walk():
            if part.head != "name":
                continue
            if part.key in self.certificate.inputs:
                found |= set(self.certificate.inputs[part.key].dims)
            elif part.key in self.certificate.where:
                found |= self._dims(self.certificate.where[part.key])
            elif part.key[0] == "i" and part.key[1:].isdigit():
                found.add(int(part.key[1:]))
        for part in formula.walk():
            found -= set(part.dims if part.head == "reduce" else ())
        return found

    def merge(self, a: State, b: State, pivots: Mapping[str, Any] | None = None) -> State:
        """Two states as one; kept pivots are those of the heavier one, unless ``pivots`` says."""
        merged: State = {}
        for name, kept in self.certificate.kept.items():
            is_later = np.asarray(b[kept.weight] > a[kept.weight], bool)
            merged[name] = self.numbers.apply("select", is_later, b[name], a[name])
        merged |= dict(pivots or {})
        relative = self.certificate.transport
        for component in self.certificate.basis:
            if component.names[0] not in relative and component.names[0] not in merged:
                merged.update(self._combined(component, a, b))
        for component in self.certificate.basis:
            (name, *_) = component.names
            if name in relative:
                moved = [{name: self.transported(name, state, merged)} for state in (a, b)]
                merged.update(self._combined(component, *moved))
        return merged

    def transported(self, name: str, state: State, pivots: Mapping[str, Any]) -> Any:
        """A component of ``state`` relative to other pivots.

        Where the old maximum is -inf (nothing seen but -inf) nothing is left of the component.
        """
        certificate = self.certificate
        formula = certificate.transport[name]
        ranges = self.space.ranges()
        given = {**state, **{f"{key}'": _safe(self, value) for key, value in pivots.items()}}
        value = self.value(formula, ranges, given)
        nothing = self.value(certificate.state[name].identity, ranges, {})  # type: ignore[arg-type]
        for pivot in certificate.pivots.values():
            if not pivot.is_kept and pivot.name in formula.names():
                unseen = np.asarray(state[pivot.name] == float("-inf"), bool)
                value = self.numbers.apply("select", unseen, nothing, value)
        return value

    def _combined(self, component: Reduction, a: State, b: State) -> State:
        values = combine(
            self.numbers, component.reducer,
            [a[name] for name in component.names], [b[name] for name in component.names],
            self._rank_dim(component), self._declared(component),
        )  # fmt: skip
        return dict(zip(component.names, values, strict=True))

    # ---- results ---------------------------------------------------------------------

    def finalised(self, state: State) -> tuple[State, list[Any]]:
        """The reduced values, and the results, from a state."""
        values: State = dict(state)
        for name, formula in self.certificate.finalise.items():
            values[name] = self.value(formula, self.space.ranges(), values)
        return values, self.results(values, self.outputs())

    def outputs(self) -> set[str]:
        """Results that segments write, and that no state has."""
        return set(self.certificate.reads.get("outputs", ()))

    def sourced(self) -> tuple[State, list[Any]]:
        """The reduced values, and the results, by the source's own formulas."""
        values: State = {}
        ranges = self.space.ranges()
        for stage in self.certificate.source:
            operands = [self.value(o, ranges, values) for o in stage.operands]
            made = self._over_elements(stage, ranges, operands)
            values.update(zip(stage.names, made, strict=True))
        return values, self.results(values)

    def results(self, values: Mapping[str, Any], without: Collection[str] = ()) -> list[Any]:
        """The results from the reduced values."""
        return [
            self.value(f, self.space.ranges(), values)
            for name, f in self.certificate.results.items()
            if name not in without
        ]


def _safe(formal: Formal, pivot: Any) -> Any:
    """A pivot as it is subtracted: 0 where it is -inf."""
    if pivot.dtype.kind not in "fO":
        return pivot
    zero = formal.numbers.number(0.0)
    return formal.numbers.apply("select", np.asarray(pivot == float("-inf"), bool), zero, pivot)


def _is_whole(value: Any) -> bool:
    """Whether these are integers, which wrap or are as long as they need."""
    if value.dtype.kind == "O":
        return all(isinstance(v, int) for v in value.flat)
    return bool(value.dtype.kind in "iu")


def _is_relative(component: Reduction) -> bool:
    return any(e.primes for operand in component.operands for e in operand.walk())
