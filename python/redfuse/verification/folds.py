"""A fold against its certificate, and both against the source, by numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..explain.certificates import Certificate, expands_matrices
from . import points
from .arithmetic import Arithmetic, Double, Exact, NotInterpretable
from .bodies import Bodies, FoldOps
from .formal import Formal
from .report import FAILED, PASSED, UNCHECKED, Check
from .space import Range, Space
from .symbolic import missing

_DIGITS = 1e-30  # What may be lost of 50 digits, relative to the largest number around.
_LOOSE = 1e-6  # The same of f64 on awkward data: classes are what is compared there.
_DECLARED = "a declared reducer promises nothing about infinities"
_ROUNDOFF = 1e-13
_ROUNDED = "rounding decides: differences of equal numbers are roundoff in the source, here 0"
LIMIT = "a known limit: sums of several terms on infinite data (docs/design/algebra.md, Infinities)"


class Mismatch(Exception):  # noqa: N818
    """Two values that should be equal, and where they are not."""


def checks(
    certificate: Certificate, fold: Any, finalize: Any | None, cascade: Any | None = None,
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Check]:  # fmt: skip
    """The claims about one fold.

    fold, finalize: the ops, or None for the certificate alone. cascade: what they were made of,
    if it is known.
    """
    if missing(certificate):
        return  # The symbolic checks say what.
    exact = _Exactly(certificate, fold, finalize, cascade, seeds)
    yield from exact.checks()
    if fold is not None:
        yield from _Awkward(certificate, fold, finalize, cascade).checks()


def _run(what: str, how: str, formula: str, check: Callable[[], str | None]) -> Check:
    try:
        note = check()
    except Mismatch as error:
        return Check(what, how, FAILED, formula, str(error))
    except NotInterpretable as error:
        return Check(what, how, UNCHECKED, formula, str(error))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        note = f"not computed: {type(error).__name__}: {error}"
        return Check(what, how, UNCHECKED, formula, note)
    return Check(what, how, PASSED, formula, note or "")


def same(
    got: Any, want: Any, scale: float, tolerance: float, numbers: Arithmetic, name: str
) -> None:
    """Raises Mismatch where two arrays differ by more than ``tolerance`` of the largest number
    around, or in class."""
    got, want = np.broadcast_arrays(got, want)
    if got.size == 0:
        return
    nan = numbers.is_nan(got) == numbers.is_nan(want)
    equal = np.asarray(got == want, bool) | (numbers.is_nan(got) & numbers.is_nan(want))
    bad = ~nan
    open_ = nan & ~equal
    if open_.any():
        a, b = got[open_], want[open_]
        infinite = np.asarray([_infinite(x) or _infinite(y) for x, y in zip(a, b, strict=True)])
        far = np.asarray(
            [
                not inf and abs(x - y) > tolerance * max(scale, abs(y))
                for x, y, inf in zip(a, b, infinite, strict=True)
            ]
        )
        bad = bad.copy()
        bad[open_] = infinite | far
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Mismatch(
            f"{name} at {list(where)}: {_short(got[where])} instead of {_short(want[where])}"
        )


def _infinite(value: Any) -> bool:
    return bool(value != value or abs(value) == float("inf"))


def _short(value: Any) -> str:
    try:
        return f"{float(value):.12g}"
    except (TypeError, ValueError, OverflowError):
        return str(value)


def _largest(values: Sequence[Any]) -> float:
    found = 1.0
    for value in values:
        for v in np.asarray(value).flat:
            if not isinstance(v, (bool, np.bool_)) and not _infinite(v):
                found = max(found, float(abs(v)))
    return found


def _shown(inputs: Mapping[str, Any], space: Space, over: Sequence[int]) -> str:
    """The data of the first row, for a counterexample."""
    parts = []
    for name, value in inputs.items():
        index = tuple(slice(None) if d in over else 0 for d in range(space.rank))
        row = np.ravel(value[index])[:8]
        parts.append(f"{name} = [{', '.join(_short(v) for v in row)}]")
    return "; ".join(parts)


def _space(certificate: Certificate, elements: int, others: int, limit: int) -> Space:
    """A space of at most ``limit`` points: dims that are not folded give way."""
    for size in range(others, 0, -1):
        space = Space.standing_for(certificate.extents, certificate.over, elements, size)
        if np.prod(space.extents) <= limit:
            return space
    return Space.standing_for(certificate.extents, certificate.over, min(elements, 3), 1)


def _cuts(count: int, style: int, rng: np.random.Generator) -> list[Range]:
    """``count`` elements in segments: one, each its own, or some."""
    if style == 0 or count < 2:
        return [(0, count)]
    if style == 1:
        return [(k, k + 1) for k in range(count)]
    inner = np.unique(rng.integers(1, count, size=min(3, count - 1))).tolist()
    return list(zip([0, *inner], [*inner, count], strict=True))


def _merged(states: list[Any], merge: Callable[[Any, Any], Any], order: str, is_ordered: bool,
            rng: np.random.Generator) -> Any:  # fmt: skip
    """One state of many: from the left, from the right, or as a tree in any order."""
    states = list(states)
    while len(states) > 1:
        if order == "left":
            at, other = 0, 1
        elif order == "right":
            at, other = len(states) - 2, len(states) - 1
        else:
            at = int(rng.integers(0, len(states) - 1))
            other = at + 1
            if not is_ordered:
                at, other = (int(k) for k in rng.choice(len(states), 2, replace=False))
        made = merge(states[at], states[other])
        states = [s for k, s in enumerate(states) if k not in (at, other)]
        states.insert(min(at, other), made)
    return states[0]


class _Exactly:
    """With 50 digits: the formulas among each other, and the bodies against the formulas."""

    def __init__(
        self, certificate: Certificate, fold: Any, finalize: Any | None, cascade: Any | None,
        seeds: Sequence[int],
    ):  # fmt: skip
        self.certificate, self.fold, self.finalize = certificate, fold, finalize
        self.cascade, self.seeds = cascade, seeds
        self.numbers = Exact()
        self.space = _space(certificate, 6, 2, 100)
        self.styles = ("left", "right", "any")
        self._made: list[Formal] = []

    def points(self) -> list[Formal]:
        """The certificate at random points, positive ones first."""
        if not self._made:
            kinds = ["positive", *["normal"] * (len(self.seeds) - 1)]
            for kind, seed in zip(kinds, self.seeds, strict=True):
                data = points.inputs(self.certificate, self.numbers, self.space, kind, seed)
                outside = points.outside(self.certificate, self.numbers)
                self._made.append(Formal(self.certificate, self.numbers, self.space, data, outside))
        return self._made

    def checks(self) -> Iterator[Check]:
        how = "50 digits"
        finals = "; ".join(self.certificate.lines["finalise"])
        yield _run("states of segments, merged in any order and finalised, give the source's "
                   "results", how, finals, self.formulas)  # fmt: skip
        if self.fold is None:
            return
        lines = self.certificate.lines
        state = "; ".join(lines["state"])
        yield _run("the fold starts from the declared state of nothing", how, state, self.start)
        yield _run("the step does what the basis says", how, "; ".join(lines["basis"]), self.step)
        yield _run("the merge does what the transport says", how, "; ".join(lines["transport"]),
                   self.merge)  # fmt: skip
        yield _run("merging with nothing changes nothing", how, "", self.nothing)
        kind = "" if self.certificate.ordered else " and commutative"
        yield _run(f"the merge is associative{kind}", how, "", self.laws)
        if self.certificate.reads.get("outputs"):
            yield _run("segments write the prefixes that the source has", how,
                       "; ".join(lines.get("outputs", [])), self.written)  # fmt: skip
        if self.finalize is not None:
            results = "; ".join(lines["results"])
            yield _run("the finalisation does what its formulas say", how, results, self.last)
        if self.cascade is not None:
            source = "; ".join(lines["source"])
            yield _run("the source's formulas are those of the program", how, source, self.program)

    def cuts(self, style: int, seed: int = 5) -> list[Range]:
        """Segments of the folded dim that is cut."""
        count = self.space.extents[self.space.cut_dim(self.certificate.over)]
        return _cuts(count, style, np.random.default_rng(seed))

    def _compare(
        self, formal: Formal, got: Sequence[Any], want: Sequence[Any], names: Sequence[str],
        scale: float = 1.0,
    ) -> None:  # fmt: skip
        scale = max(scale, _largest(want))
        for name, a, b in zip(names, got, want, strict=True):
            try:
                same(a, b, scale, _DIGITS, self.numbers, name)
            except Mismatch as error:
                shown = _shown(formal.inputs, self.space, self.certificate.over)
                raise Mismatch(f"{error}, for {shown}") from None

    def formulas(self) -> str | None:
        """Segments, merge, finalisation and source, by their formulas alone."""
        usable = 0
        for number, formal in enumerate(self.points()):
            values, wanted = formal.sourced()
            numbers = [*values.values(), *wanted]
            if any(_infinite(x) for v in numbers for x in np.asarray(v).flat):
                continue
            usable += 1
            rng = np.random.default_rng(number)
            for style, order in ((0, "left"), (1, "right"), (2, "any")):
                states = [formal.segment(cut) for cut in self.cuts(style)]
                for name, declared in self.certificate.state.items():
                    extra = [d for d, n in enumerate(np.shape(states[0][name]))
                             if n > 1 and d not in declared.dims]  # fmt: skip
                    if extra:
                        raise Mismatch(f"{name} depends on dims {extra}, which it does not have")
                state = _merged(states, formal.merge, order, self.certificate.ordered, rng)
                got, results = formal.finalised(state)
                scale = _largest([*state.values(), *values.values()])
                names = [n for n in self.certificate.finalise if n in values]
                self._compare(formal, [got[n] for n in names], [values[n] for n in names], names,
                              scale)  # fmt: skip
                self._compare(formal, results, self.kept(wanted), self.finals(), scale)
        if not usable:
            raise NotInterpretable("the source has no finite value at the points tried")
        return None

    # ---- bodies ----------------------------------------------------------------------

    def ops(self) -> tuple[FoldOps, Bodies]:
        """The fold's bodies."""
        certificate = self.certificate
        return (
            FoldOps(self.fold, self.finalize, certificate.reads),
            Bodies(self.numbers, self.space),
        )

    def names(self) -> list[str]:
        """The components in order."""
        return list(self.certificate.state)

    def finals(self) -> list[str]:
        """The results that come from the state; the others are outputs of segments."""
        outputs = self.certificate.reads.get("outputs", ())
        return [name for name in self.certificate.results if name not in outputs]

    def kept(self, results: Sequence[Any]) -> list[Any]:
        """Those of ``results``, which are all in order."""
        finals = self.finals()
        return [r for n, r in zip(self.certificate.results, results, strict=True) if n in finals]

    def written(self) -> None:
        """The outputs of segments, side by side, against the source's results."""
        fold, bodies = self.ops()
        for formal in self.points():
            _, wanted = formal.sourced()
            state = fold.identity(bodies)
            parts = []
            for cut in self.cuts(2):
                state, outputs = fold.stepped(bodies, formal.inputs, state, cut)
                parts.append(outputs)
            dim = self.space.cut_dim(self.certificate.over)
            by_name = dict(zip(self.certificate.results, wanted, strict=True))
            for k, name in enumerate(fold.outputs):
                whole = _side_by_side([p[k] for p in parts], dim)
                self._compare(formal, [whole], [by_name[name]], [name])

    def start(self) -> None:
        """identities."""
        fold, bodies = self.ops()
        formal = self.points()[0]
        declared = formal.identity()
        got = fold.identity(bodies)
        if len(got) != len(declared):
            raise Mismatch(f"the fold has {len(got)} components, its certificate {len(declared)}")
        self._compare(formal, got, list(declared.values()), self.names())

    def step(self) -> None:
        """step, on the first segment and on later ones."""
        fold, bodies = self.ops()
        for formal in self.points():
            cuts = self.cuts(2)
            state = fold.identity(bodies)
            wanted: Any = {}
            for cut in cuts:
                state = fold.step(bodies, formal.inputs, state, cut)
                part = formal.segment(cut)
                pivots = self._free(dict(zip(self.names(), state, strict=True)), wanted, part)
                wanted = formal.merge(wanted, part, pivots) if wanted else part
                self._compare(formal, state, [wanted[n] for n in self.names()], self.names())

    def _free(self, state: Mapping[str, Any], *parts: Mapping[str, Any]) -> dict[str, Any]:
        """The pivots for which a step has a choice: kept ones, of one of the parts, and those that
        lag behind their maxima within the bound."""
        found = {}
        for name in self.certificate.kept:
            values = [part[name] for part in parts if part]
            bound = _DIGITS * _largest([state[name]])
            if not sum(np.asarray(abs(state[name] - v) <= bound, bool) for v in values).all():
                raise Mismatch(f"{name} is the mean of neither segment")
            found[name] = state[name]
        for name, lazy in self.certificate.lazy.items():
            maximum, pivot = state[lazy.maximum], state[name]
            is_near = np.asarray((maximum - pivot <= lazy.powers) & (pivot <= maximum), bool)
            if not (is_near | np.asarray(maximum == pivot, bool)).all():
                raise Mismatch(f"{name} is not within {lazy.powers} powers of 2 of {lazy.maximum}")
            found[name] = pivot
        return found

    def merge(self) -> None:
        """merge, of states that the formulas make."""
        fold, bodies = self.ops()
        for formal in self.points():
            states = [formal.segment(cut) for cut in self.cuts(1)]
            for a, b in [*pairwise(states), (states[-1], states[0])]:
                if len(states) < 2 or (self.certificate.ordered and a is states[-1]):
                    continue
                got = fold.merge(bodies, list(_in_order(a, self)), list(_in_order(b, self)))
                wanted = formal.merge(a, b)
                self._compare(formal, got, list(_in_order(wanted, self)), self.names())

    def nothing(self) -> None:
        """The identity is neutral on both sides."""
        fold, bodies = self.ops()
        empty = fold.identity(bodies)
        for formal in self.points():
            state = fold.step(bodies, formal.inputs, empty, self.cuts(2)[0])
            for got in (fold.merge(bodies, empty, state), fold.merge(bodies, state, empty)):
                self._compare(formal, got, state, self.names())

    def laws(self) -> None:
        """Associativity and commutativity, after the finalisation where there is one."""
        fold, bodies = self.ops()
        for formal in self.points():
            cuts = self.cuts(1)
            if len(cuts) < 3:
                return
            empty = fold.identity(bodies)
            a, b, c = (fold.step(bodies, formal.inputs, empty, cut) for cut in cuts[:3])

            def merge(x: Any, y: Any) -> Any:
                return fold.merge(bodies, x, y)

            pairs = [("(a b) c = a (b c)", merge(merge(a, b), c), merge(a, merge(b, c)))]
            if not self.certificate.ordered:
                pairs.append(("a b = b a", merge(a, b), merge(b, a)))
            for law, x, y in pairs:
                self._equivalent(law, formal, fold, bodies, x, y)

    def _equivalent(
        self, law: str, formal: Formal, fold: FoldOps, bodies: Bodies, x: Any, y: Any
    ) -> None:
        """Whether two states are the same up to their pivots: the transport makes them equal."""
        named = [dict(zip(self.names(), state, strict=True)) for state in (x, y)]
        pivots = {name: named[0][name] for name in self.certificate.kept}
        try:
            for name in self.names():
                if name in pivots:
                    continue
                a, b = named[0][name], named[1][name]
                if name in self.certificate.transport:
                    target = {n: named[0][n] for n in self.certificate.pivots}
                    b = formal.transported(name, named[1], target)
                self._compare(formal, [b], [a], [name], _largest(x))
        except Mismatch as error:
            raise Mismatch(f"{law} fails: {error}") from None

    def last(self) -> None:
        """finalize, of states that the formulas make."""
        fold, bodies = self.ops()
        for formal in self.points():
            state = formal.segment(None)
            _, wanted = formal.finalised(state)
            got = fold.finalised(bodies, formal.inputs, list(_in_order(state, self)))
            self._compare(formal, got, wanted, self.finals(), _largest(list(state.values())))

    def program(self) -> None:
        """The cascade that the fold was made of."""
        bodies = Bodies(self.numbers, self.space)
        for formal in self.points():
            block = self.cascade.regions[0].blocks[0]
            arguments = [formal.inputs[f"x{k}"] for k in range(len(block.arguments))]
            got = bodies.run(block, arguments, self.space.ranges())
            values, wanted = formal.sourced()
            self._compare(formal, wanted, got, list(self.certificate.results),
                          _largest(list(values.values())))  # fmt: skip


def _side_by_side(parts: Sequence[Any], dim: int) -> Any:
    shape = list(np.broadcast_shapes(*([n if d != dim else 1 for d, n in enumerate(np.shape(p))]
                                       for p in parts)))  # fmt: skip
    return np.concatenate(
        [np.broadcast_to(p, [*shape[:dim], np.shape(p)[dim], *shape[dim + 1 :]]) for p in parts],
        axis=dim,
    )


def _in_order(state: Mapping[str, Any], exact: _Exactly) -> Iterator[Any]:
    return (state[name] for name in exact.names())


class _Awkward:
    """In f64, with infinities, NaN and nothing: any cut and merge of the fold's own bodies gives
    what the source gives, of the same class."""

    def __init__(
        self, certificate: Certificate, fold: Any, finalize: Any | None, cascade: Any | None
    ):
        self.certificate, self.fold = certificate, fold
        self.finalize, self.cascade = finalize, cascade
        self.numbers = Double()
        self.space = _space(certificate, 9, 3, 3000)

    def checks(self) -> Iterator[Check]:
        if self.finalize is None:
            return
        for kind in points.KINDS:
            yield _run(f"cut and merged anyhow: {kind}", "f64", "", lambda k=kind: self.kind(k))

    def kind(self, kind: str) -> None:
        """One kind of data."""
        certificate = self.certificate
        if certificate.combiners and ("infinit" in kind or kind == "nan"):
            raise NotInterpretable(_DECLARED)
        fold = FoldOps(self.fold, self.finalize, certificate.reads)
        bodies = Bodies(self.numbers, self.space)
        with np.errstate(all="ignore"):
            data = points.inputs(certificate, self.numbers, self.space, kind, 3)
            formal = Formal(certificate, self.numbers, self.space, data,
                            points.outside(certificate, self.numbers))  # fmt: skip
            if self.cascade is not None:
                block = self.cascade.regions[0].blocks[0]
                arguments = [data[f"x{k}"] for k in range(len(block.arguments))]
                wanted = bodies.run(block, arguments, self.space.ranges())
            else:
                _, wanted = formal.sourced()
            count = self.space.extents[self.space.cut_dim(certificate.over)]
            rng = np.random.default_rng(7)
            empty = fold.identity(bodies)
            for style, order in ((0, "left"), (1, "left"), (2, "any"), (2, "right")):
                cuts = [(0, 0), *_cuts(count, style, rng), (count, count)]
                if style == 1:  # One state carried through all elements.
                    state = empty
                    for cut in cuts:
                        state = fold.step(bodies, data, state, cut)
                else:
                    states = [fold.step(bodies, data, empty, cut) for cut in cuts]
                    state = _merged(
                        states, lambda a, b: fold.merge(bodies, a, b), order,
                        certificate.ordered, rng,
                    )  # fmt: skip
                got = fold.finalised(bodies, data, state)
                finals = [w for n, w in zip(certificate.results, wanted, strict=True)
                          if n not in fold.outputs]  # fmt: skip
                for number, (a, b) in enumerate(zip(got, finals, strict=True)):
                    if np.asarray(b).dtype.kind == "i":
                        a = np.where(_selects_nan(np.shape(b), got, finals), b, a)
                    try:
                        same(a, b, _size(b), _LOOSE, self.numbers, f"y{number}")
                    except Mismatch as error:
                        if np.array_equal(*map(_classes, np.broadcast_arrays(a, b))) and (
                            self.is_as_good(kind, number, a, b)
                        ):
                            continue
                        if kind == points.INFINITE and expands_matrices(self.certificate.entries):
                            raise NotInterpretable(LIMIT) from None
                        if kind == "all equal" and np.isnan(a).any():
                            raise NotInterpretable(_ROUNDED) from None
                        shown = _shown(data, self.space, certificate.over)
                        raise Mismatch(f"{error}, for {shown}, cut at {cuts}") from None

    def is_as_good(self, kind: str, number: int, got: Any, source: Any) -> bool:
        """Whether the fold's error is at most 8 times the source's own, against 50 digits, or
        roundoff of what results are computed from."""
        numbers = Exact()
        data = points.inputs(self.certificate, self.numbers, self.space, kind, 3)
        data = {
            k: numbers.to_float(v) if v.dtype.kind == "f" else
            v.astype(object) if v.dtype.kind == "i" else v
            for k, v in data.items()
        }  # fmt: skip
        formal = Formal(self.certificate, numbers, self.space, data,
                        points.outside(self.certificate, numbers))  # fmt: skip
        values, results = formal.sourced()
        true = np.asarray(results[number], np.float64)
        around = _largest([v for v in values.values() if v.dtype == object])
        got, source, true = np.broadcast_arrays(got, source, true)
        finite = np.isfinite(true) & np.isfinite(source) & np.isfinite(got)
        scale = np.abs(true[finite]).max(initial=1e-300)
        own = np.abs(source - true)[finite].max(initial=0)
        error = np.abs(got - true)[finite].max(initial=0)
        return bool(error <= max(8 * own, _LOOSE * scale, _ROUNDOFF * around))


def _selects_nan(shape: tuple[int, ...], got: Sequence[Any], want: Sequence[Any]) -> Any:
    """Where indices stand beside values that are NaN, which has no place in an order: any index
    will do there."""
    found: Any = False
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind == "f" and a.shape == b.shape == shape:
            found = found | (np.isnan(a) & np.isnan(b))
    return found


def _classes(x: Any) -> Any:
    return np.where(np.isnan(x), 3, np.where(np.isinf(x), np.sign(x), 0))


def _size(x: Any) -> float:
    finite = np.abs(x[np.isfinite(x)]) if x.dtype.kind == "f" else np.zeros(0)
    return max(1e-300, float(finite.max(initial=0)))
