"""The certificate of a fold (docs/design/algebra.md), as data and as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    """``term`` (of a finalisation, or a reduced value) is ``instead`` where ``condition`` holds."""

    term: Expr
    instead: Expr
    condition: Expr


@dataclass
class Certificate:
    """A derivation as formulas. ``entries`` is the attribute on the fold as plain data."""

    entries: dict[str, Any]
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
    def of(cls, entries: Mapping[str, Any]) -> Certificate:
        """From the attribute's entries; raises ArgumentError that names what is no formula."""
        missing = [key for key in KEYS if key not in entries]
        if missing:
            raise ArgumentError(
                f"certificate: expected the entries {', '.join(KEYS)}; missing: "
                f"{', '.join(missing)}"
            )
        rules = [rule["text"] for rule in entries["rules"]]
        extents = [None if n < 0 else n for n in entries["domain"]]
        made = cls(dict(entries), extents, ordered="ordered" in entries, rules=rules)
        made.reads = {what: list(names) for what, names in entries["reads"].items()}
        for key in (*KEYS, *OPTIONAL_KEYS):
            for entry in entries.get(key, ()) if key in _READERS else ():
                try:
                    _READERS[key](made, entry)
                except (ArgumentError, KeyError) as error:
                    line = _LINES[key](entry) if isinstance(error, ArgumentError) else entry
                    raise ArgumentError(f"certificate, {key}: '{line}': {error}") from None
        return made

    @property
    def lines(self) -> dict[str, list[str]]:
        """The entries for people, by key."""
        lines = {
            key: [_LINES[key](entry) for entry in held]
            for key, held in self.entries.items()
            if key in _LINES
        }
        extents = enumerate(self.extents)
        lines["domain"] = [f"i{d} < {'?' if n is None else n}" for d, n in extents]
        lines["reads"] = [f"{what}: {', '.join(names)}" for what, names in self.reads.items()]
        return lines

    def __str__(self) -> str:
        return "\n".join(f"{key}: {line}" for key, lines in self.lines.items() for line in lines)


def _declared(entry: Mapping[str, Any]) -> Declared:
    identity = entry.get("identity")
    return Declared(
        entry["name"], entry["type"], tuple(entry["dims"]), parse(identity) if identity else None
    )


def _reduction(entry: Mapping[str, Any]) -> Reduction:
    return Reduction(
        tuple(entry["names"]), entry["reducer"], tuple(entry["over"]),
        tuple(parse(operand) for operand in entry["operands"]), _reduction_text(entry),
        entry.get("prefixes", False),
    )  # fmt: skip


def _reduction_text(entry: Mapping[str, Any]) -> str:
    dims = ", ".join(map(str, entry["over"]))
    return f"{entry['reducer']}[{dims}]({', '.join(entry['operands'])})"


def _read_inputs(c: Certificate, entry: Mapping[str, Any]) -> None:
    c.inputs[entry["name"]] = _declared(entry)


def _read_state(c: Certificate, entry: Mapping[str, Any]) -> None:
    c.state[entry["name"]] = _declared(entry)


def _read_basis(c: Certificate, entry: Mapping[str, Any]) -> None:
    if "mean" in entry:
        c.kept[entry["names"][0]] = Kept(parse(entry["mean"]), entry["weight"])
    elif "powers" in entry:
        (name,), maximum = entry["names"], entry["maximum"]
        followed = [r for r in c.basis if r.names == (maximum,)]
        if not followed:
            raise ArgumentError(f"{maximum} does not come before")
        c.lazy[name] = Lazy(maximum, entry["powers"])
        c.basis.append(replace(followed[0], names=(name,)))
    else:
        c.basis.append(_reduction(entry))


def _read_pivots(c: Certificate, entry: Mapping[str, Any]) -> None:
    name, data = entry["name"], parse(entry["data"])
    c.pivots[name] = Pivot(name, entry["kind"] == "kept", data, _pivot_line(entry))


def _read_source(c: Certificate, entry: Mapping[str, Any]) -> None:
    c.source.append(_reduction(entry))


def _read_combiners(c: Certificate, entry: Mapping[str, Any]) -> None:
    c.combiners[entry["name"]] = Combiner(
        entry["name"], tuple(parse(one) for one in entry["results"]),
        tuple(parse(one) for one in entry["identities"]), entry["ordered"], _combiner_line(entry),
    )  # fmt: skip


def _read_guards(c: Certificate, entry: Mapping[str, Any]) -> None:
    parts = (entry["term"], entry["instead"], entry["condition"])
    c.guards.append(Guard(*map(parse, parts)))


def _read_equation(attribute: str) -> Callable[[Certificate, Mapping[str, Any]], None]:
    def read(c: Certificate, entry: Mapping[str, Any]) -> None:
        held = getattr(c, attribute)
        if entry["name"] in held:
            raise ArgumentError(f"'{entry['name']}' has two formulas")
        held[entry["name"]] = parse(entry["formula"])

    return read


_READERS: dict[str, Callable[[Certificate, Mapping[str, Any]], None]] = {
    "basis": _read_basis,
    "combiners": _read_combiners,
    "finalise": _read_equation("finalise"),
    "guards": _read_guards,
    "inputs": _read_inputs,
    "pivots": _read_pivots,
    "results": _read_equation("results"),
    "shared": _read_equation("shared"),
    "source": _read_source,
    "state": _read_state,
    "transport": _read_equation("transport"),
    "where": _read_equation("where"),
}


# ---- lines for people --------------------------------------------------------------------


def _declared_line(entry: Mapping[str, Any]) -> str:
    line = f"{entry['name']}: {entry['type']}{list(entry['dims'])}"
    return f"{line} = {entry['identity']}" if "identity" in entry else line


def _reduction_line(entry: Mapping[str, Any]) -> str:
    left = ", ".join(entry["names"])
    if "mean" in entry:
        return (
            f"{left} = mean of {entry['mean']} in the heaviest segment by {entry['weight']}, kept"
        )
    if "powers" in entry:
        maximum, powers = entry["maximum"], entry["powers"]
        return f"{left} = {maximum} of an earlier segment, at most {powers} powers of 2 behind"
    prefixes = "prefixes of " if entry.get("prefixes") else ""
    return f"{left} = {prefixes}{_reduction_text(entry)}"


def _output_line(entry: Mapping[str, Any]) -> str:
    state = ", ".join(entry["state"])
    return f"{', '.join(entry['names'])} = {entry['reducer']}({state}, its prefixes in the segment)"


def _pivot_line(entry: Mapping[str, Any]) -> str:
    words = {"kept": "kept value", "maximum": "running maximum"}
    what = words.get(entry["kind"], "lazy running maximum")
    return f"{entry['name']}: {what} of {entry['data']}"


def _combiner_line(entry: Mapping[str, Any]) -> str:
    results, identities = ", ".join(entry["results"]), ", ".join(entry["identities"])
    line = f"{entry['name']} = ({results}); identity ({identities})"
    return f"{line}; ordered" if entry["ordered"] else line


def _equation_line(entry: Mapping[str, Any]) -> str:
    return f"{entry['name']} = {entry['formula']}"


_LINES: dict[str, Callable[[Any], str]] = {
    "basis": _reduction_line,
    "combiners": _combiner_line,
    "finalise": _equation_line,
    "guards": lambda e: f"{e['term']} -> {e['instead']} if {e['condition']}",
    "inputs": _declared_line,
    "ordered": lambda name: f"{name}: segments are merged in the order of their indices",
    "outputs": _output_line,
    "pivots": _pivot_line,
    "results": _equation_line,
    "rules": lambda rule: rule["text"],
    "shared": _equation_line,
    "source": _reduction_line,
    "state": _declared_line,
    "transport": lambda entry: f"{entry['name']} -> {entry['formula']}",
    "where": _equation_line,
}


def expands_matrices(entries: Mapping[str, Any]) -> bool:
    """Whether a sum or difference that multiplies a matrix was expanded: the case in which infinite
    data can come out as NaN (docs/design/algebra.md, Infinities).

    entries: a certificate's, by key. Two inputs are operands of a matrix product that share a dim
        and have each one that the other lacks.
    """
    is_expanded = any(rule["kind"] == "expansion" for rule in entries.get("rules", ()))
    dims = [set(declared["dims"]) for declared in entries.get("inputs", ())]
    return is_expanded and any(a & b and a - b and b - a for a in dims for b in dims)


def entries_of(attribute: Any) -> dict[str, Any]:
    """The entries of a fold's ``certificate`` attribute as texts, numbers, lists and dicts."""
    return _listed(plain(attribute))


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _listed(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_listed(one) for one in value]
    return str(value) if isinstance(value, str) else value
