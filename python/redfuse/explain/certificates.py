"""The certificate of a fold (docs/design/algebra.md), read from its formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..attributes import plain
from ..errors import ArgumentError
from .formulas import Expr, parse

KEYS = (
    "basis", "domain", "finalise", "guards", "inputs", "pivots", "reads", "results", "rules",
    "source", "state", "transport", "where",
)  # fmt: skip

# Only where there is such a thing.
OPTIONAL_KEYS = ("combiners", "ordered", "outputs", "shared")

# The words between the formulas.
_PREFIXES = "prefixes of "
_MEAN, _HEAVIEST, _KEPT = "mean of ", " in the heaviest segment by ", ", kept"
_EARLIER, _BEHIND = " of an earlier segment, at most ", " powers of 2 behind"
_LAZILY = ", lazily"
_IDENTITY, _ORDERED = "identity ", "ordered"


@dataclass(frozen=True)
class Declared:
    """An input or a component of the state.

    type: its element type. dims: the iteration dims that it depends on. identity: of a component,
    what an empty state holds.
    """

    name: str
    type: str
    dims: tuple[int, ...]
    identity: Expr | None = None


@dataclass(frozen=True)
class Reduction:
    """``names = reducer[over](operands)``: a stage of the source, or components of the state (two
    for a value and its index). is_scan: every prefix along the dim is a result."""

    names: tuple[str, ...]
    reducer: str
    over: tuple[int, ...]
    operands: tuple[Expr, ...]
    text: str
    is_scan: bool = False


@dataclass(frozen=True)
class Combiner:
    """A reducer that the program declares: ``results`` from the left (l0, ...) and the right state
    (r0, ...)."""

    name: str
    results: tuple[Expr, ...]
    identities: tuple[Expr, ...]
    is_ordered: bool
    text: str

    def given(self, left: Sequence[Any], right: Sequence[Any]) -> dict[str, Any]:
        """Values of the names in ``results``."""
        return {f"l{k}": v for k, v in enumerate(left)} | {f"r{k}": v for k, v in enumerate(right)}


@dataclass(frozen=True)
class Pivot:
    """What ``name`` holds: the running maximum of ``data``, or a value inside its range, kept."""

    name: str
    is_kept: bool
    data: Expr
    text: str


@dataclass(frozen=True)
class Kept:
    """A pivot that is the mean of ``data`` in a segment: the first one, or of two that are merged
    the one for which ``weight`` is larger. That component of the state is the sum of what each
    element counts for in the mean."""

    data: Expr
    weight: str


@dataclass(frozen=True)
class Lazy:
    """A pivot that stays while ``maximum`` is at most ``powers`` powers of 2 ahead. In the basis it
    is that maximum: so it begins in a segment, and so it is merged."""

    maximum: str
    powers: int


@dataclass(frozen=True)
class Guard:
    """``text`` (a term of a finalisation, or a reduced value) is ``instead`` where ``condition``
    holds."""

    text: str
    instead: Expr
    condition: Expr


@dataclass
class Certificate:
    """A derivation as formulas. ``lines`` has the texts by key, as they are on the fold."""

    lines: dict[str, list[str]]
    extents: list[int | None] = field(default_factory=list)
    inputs: dict[str, Declared] = field(default_factory=dict)
    state: dict[str, Declared] = field(default_factory=dict)
    source: list[Reduction] = field(default_factory=list)
    basis: list[Reduction] = field(default_factory=list)
    kept: dict[str, Kept] = field(default_factory=dict)
    lazy: dict[str, Lazy] = field(default_factory=dict)
    pivots: dict[str, Pivot] = field(default_factory=dict)
    transport: dict[str, Expr] = field(default_factory=dict)
    finalise: dict[str, Expr] = field(default_factory=dict)
    results: dict[str, Expr] = field(default_factory=dict)
    where: dict[str, Expr] = field(default_factory=dict)
    shared: dict[str, Expr] = field(default_factory=dict)
    guards: list[Guard] = field(default_factory=list)
    reads: dict[str, list[str]] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    combiners: dict[str, Combiner] = field(default_factory=dict)
    ordered: bool = False

    @property
    def over(self) -> tuple[int, ...]:
        """The folded dims: those of every reduction of the source."""
        return self.source[0].over if self.source else ()

    @classmethod
    def of(cls, lines: Mapping[str, Any]) -> Certificate:
        """From the texts by key; raises ArgumentError that names the line that is no formula."""
        missing = [key for key in KEYS if key not in lines]
        if missing:
            raise ArgumentError(
                f"certificate: expected the entries {', '.join(KEYS)}; missing: "
                f"{', '.join(missing)}"
            )
        present = [*KEYS, *(key for key in OPTIONAL_KEYS if key in lines)]
        texts = {key: [str(line) for line in lines[key]] for key in present}
        made = cls(texts, ordered="ordered" in lines, rules=texts["rules"])
        for key in present:
            for line in texts[key]:
                try:
                    _READERS[key](made, line)
                except (ArgumentError, ValueError, IndexError) as error:
                    raise ArgumentError(f"certificate, {key}: '{line}': {error}") from None
        return made

    def __str__(self) -> str:
        return "\n".join(f"{key}: {line}" for key, lines in self.lines.items() for line in lines)


def _split(line: str, by: str) -> tuple[str, str]:
    left, found, right = line.partition(by)
    if not found:
        raise ArgumentError(f"expected 'name{by}formula'")
    return left.strip(), right.strip()


def _declared(line: str) -> Declared:
    left, right = _split(line, ": ")
    typed, _, identity = right.partition(" = ")
    kind, bracket, listed = typed.partition("[")
    if not bracket or not listed.endswith("]"):
        raise ArgumentError("expected 'name: type[dims]'")
    dims = tuple(int(d) for d in listed[:-1].split(",") if d.strip())
    return Declared(left, kind, dims, parse(identity) if identity else None)


def _reduction(line: str) -> Reduction:
    left, right = _split(line, " = ")
    is_scan = right.startswith(_PREFIXES)
    made = parse(right[len(_PREFIXES) :] if is_scan else right)
    if made.head != "reduce":
        raise ArgumentError("expected a reduction, such as add[1](x0)")
    names = tuple(n.strip() for n in left.split(","))
    return Reduction(names, str(made.value), made.dims, made.args, right, is_scan)


def _read_domain(c: Certificate, line: str) -> None:
    _, extent = _split(line, " < ")
    c.extents.append(None if extent == "?" else int(extent))


def _read_inputs(c: Certificate, line: str) -> None:
    made = _declared(line)
    c.inputs[made.name] = made


def _read_state(c: Certificate, line: str) -> None:
    made = _declared(line)
    if made.identity is None:
        raise ArgumentError("expected 'name: type[dims] = identity'")
    c.state[made.name] = made


def _read_basis(c: Certificate, line: str) -> None:
    left, right = _split(line, " = ")
    if right.startswith(_MEAN) and right.endswith(_KEPT):
        data, weight = _split(right[len(_MEAN) : -len(_KEPT)], _HEAVIEST)
        c.kept[left] = Kept(parse(data), weight)
    elif right.endswith(_BEHIND):
        maximum, powers = _split(right[: -len(_BEHIND)], _EARLIER)
        followed = [r for r in c.basis if r.names == (maximum,)]
        if not followed:
            raise ArgumentError(f"{maximum} does not come before")
        c.lazy[left] = Lazy(maximum, int(powers))
        c.basis.append(replace(followed[0], names=(left,)))
    else:
        c.basis.append(_reduction(line))


def _read_pivots(c: Certificate, line: str) -> None:
    left, right = _split(line, ": ")
    right = right.removesuffix(_LAZILY)
    for what, is_kept in (("running maximum of ", False), ("kept value of ", True)):
        if right.startswith(what):
            c.pivots[left] = Pivot(left, is_kept, parse(right[len(what) :]), line)
            return
    raise ArgumentError("expected 'running maximum of' or 'kept value of' a formula")


def _read_reads(c: Certificate, line: str) -> None:
    left, _, right = line.partition(":")
    c.reads[left] = [name.strip() for name in right.split(",") if name.strip()]


def _read_source(c: Certificate, line: str) -> None:
    c.source.append(_reduction(line))


def _read_combiners(c: Certificate, line: str) -> None:
    function, identity, *flags = line.split("; ")
    left, results = _split(function, " = ")
    if not identity.startswith(_IDENTITY):
        raise ArgumentError("expected 'f0(l0, r0) = (formula); identity (number)'")
    called = str(parse(left).value)
    c.combiners[called] = Combiner(
        called, parse(f"results{results}").args,
        parse(f"identities{identity[len(_IDENTITY) :]}").args, _ORDERED in flags, line,
    )  # fmt: skip


def _read_guards(c: Certificate, line: str) -> None:
    text, right = _split(line, " -> ")
    instead, condition = _split(right, " if ")
    c.guards.append(Guard(text, parse(instead), parse(condition)))


def _named(attribute: str, by: str) -> Any:
    def read(c: Certificate, line: str) -> None:
        left, right = _split(line, by)
        held = getattr(c, attribute)
        if left in held:
            raise ArgumentError(f"'{left}' has two formulas")
        held[left] = parse(right)

    return read


_READERS = {
    "basis": _read_basis,
    "combiners": _read_combiners,
    "domain": _read_domain,
    "finalise": _named("finalise", " = "),
    "guards": _read_guards,
    "inputs": _read_inputs,
    "pivots": _read_pivots,
    "reads": _read_reads,
    "ordered": lambda c, line: None,
    "outputs": lambda c, line: None,
    "results": _named("results", " = "),
    "rules": lambda c, line: None,
    "shared": _named("shared", " = "),
    "source": _read_source,
    "state": _read_state,
    "transport": _named("transport", " -> "),
    "where": _named("where", " = "),
}


def expands_matrices(lines: Mapping[str, Sequence[str]]) -> bool:
    """Whether a sum or difference that multiplies a matrix was expanded: the case in which infinite
    data can come out as NaN (docs/design/algebra.md, Infinities).

    lines: a certificate's, by key. Two inputs are operands of a matrix product that share a dim
        and have each one that the other lacks.
    """
    rules = [rule for rule in lines.get("rules", ()) if "(x-d)^n" in rule or "(a+b)*c" in rule]
    dims = [set(_declared(line).dims) for line in lines.get("inputs", ())]
    return bool(rules) and any(a & b and a - b and b - a for a in dims for b in dims)


def texts_of(attribute: Any) -> dict[str, Sequence[str]]:
    """The entries of a fold's ``certificate`` attribute as texts."""
    return {name: list(lines) for name, lines in plain(attribute).items()}
