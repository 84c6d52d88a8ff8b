"""Options of a compilation."""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Mapping

from .errors import ArgumentError, one_of


@dataclasses.dataclass(frozen=True)
class Options:
    """What a user may choose; the defaults suit nearly everybody.

    entry: the function to compile; by default ``main``, or the only public one.
    fuse: ``False`` compiles the program as it is written, op by op: what ``--no-fuse`` and the fp64
        reference use, and what a fused program can be compared with.
    schedule: ``auto``, or one schedule for every cascade where it is legal: ``resident``,
        ``stream``, ``split``.
    splits: how many splits a split schedule has, 0 for what the cost model finds best.
    lazy: where a reduction is streamed, the value that exponentials are taken relative to stays
        while their running maximum grows by less than this, in powers of 2; at most 8, 0 for never.
    strict: refuse every schedule that changes the order of floating-point operations.
    approximate: take rounding to nearest and saturation for the identity where they stand in the
        way of reading the data once. Results differ by as much as these round; ``explain`` says
        where it was done.
    deterministic: plan for the problem alone, not for this machine's cores and caches: the same
        bits on every machine with vectors of the same width, for any number of ``threads``.
    along: number and axis of the argument that ``Executable.init`` and ``update`` stream; ``None``
        for the axis along which most is reduced.
    threads: CPU threads for this executable's calls, 0 for all cores.
    opt_level: LLVM's optimisation level, 0 to 3.
    cache: look the binary up in the cache on disk, and put it there.
    tuned: use the schedules that ``redfuse tune`` stored for this program and machine, if it did
        and nothing above asks for another schedule (``deterministic`` does).
    parameters: of a PyTorch module, "constants" are in the program; "arguments" are read from the
        module for each call, so that what is trained or loaded later is seen.
    precision: of products and convolutions of f32 in a PyTorch program: "highest", "high" (operands
        rounded to TF32, 11 significant bits), "medium" (to bf16, 8 bits); sums are f32. "default"
        is what PyTorch's switches for both say for an NVIDIA GPU, elsewhere "highest".
    schedules: instead of the model's choice, ``#redfuse.schedule<...>`` for each cascade in order;
        an empty text leaves one to the model. What ``redfuse tune`` stores.
    cuts, joins: numbers of operations that begin a kernel, and that are fused with what they need
        wherever that is legal, instead of the planner's choice: what ``Executable.candidates``
        names. They count the cascades of the program as fusion sees them, and mean others where
        that changes.
    """

    entry: str | None = None
    fuse: bool = True
    schedule: str = "auto"
    splits: int = 0
    lazy: int = 0
    strict: bool = False
    approximate: bool = False
    deterministic: bool = False
    along: tuple[int, int] | None = None
    threads: int = 0
    opt_level: int = 3
    cache: bool = True
    tuned: bool = True
    parameters: str = "constants"
    precision: str = "default"
    schedules: tuple[str, ...] = ()
    cuts: tuple[int, ...] = ()
    joins: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, types in _TYPES.items():
            value = getattr(self, name)
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                expected = " or ".join("None" if t is type(None) else t.__name__ for t in types)
                raise ArgumentError(
                    f"option '{name}': expected {expected}, got {type(value).__name__} {value!r}"
                )
        if self.schedule not in SCHEDULES:
            raise ArgumentError(
                "option 'schedule': " + one_of("schedule", self.schedule, SCHEDULES)
            )
        if self.parameters not in PARAMETERS:
            raise ArgumentError(
                "option 'parameters': " + one_of("kind", self.parameters, PARAMETERS)
            )
        if self.precision not in PRECISIONS:
            raise ArgumentError(
                "option 'precision': " + one_of("precision", self.precision, PRECISIONS)
            )
        object.__setattr__(self, "schedules", tuple(self.schedules))  # JSON has lists
        if not all(isinstance(text, str) for text in self.schedules):
            raise ArgumentError(
                "option 'schedules': expected texts of #redfuse.schedule attributes, got "
                f"{self.schedules!r}"
            )
        for name, most in _MOST.items():
            if not 0 <= getattr(self, name) <= most:
                got = getattr(self, name)
                raise ArgumentError(f"option '{name}': expected 0 to {most}, got {got}")
        if self.along is not None:
            along = tuple(self.along)  # JSON has lists
            if len(along) != 2 or not all(type(n) is int and n >= 0 for n in along):
                raise ArgumentError(
                    "option 'along': expected the number of an argument and an axis, "
                    f"got {self.along!r}"
                )
            object.__setattr__(self, "along", along)
        self._check_numbers()
        self._check_together()

    def _check_numbers(self) -> None:
        for name in ("cuts", "joins"):
            numbers = tuple(getattr(self, name))  # JSON has lists
            if not all(type(n) is int and n >= 0 for n in numbers):
                raise ArgumentError(f"option '{name}': expected numbers from 0, got {numbers!r}")
            object.__setattr__(self, name, numbers)

    def _check_together(self) -> None:
        """Raises ArgumentError for options of which one takes back what another asks for."""
        given = [name for name in _FUSING if getattr(self, name) != getattr(Options, name)]
        clashes = [
            (not self.fuse and given, "fuse=False compiles op by op",
             f"'{given[0]}' is about what is fused" if given else ""),
            (self.strict and self.approximate, "strict keeps every rounding",
             "'approximate' drops some"),
            (self.strict and self.lazy, "strict streams no exponentials",
             "'lazy' is about their pivots"),
            (self.splits and self.schedule in ("resident", "stream"),
             f"schedule={self.schedule} has no splits", "'splits' is how many there are"),
            (self.lazy and self.schedule == "resident", "schedule=resident streams nothing",
             "'lazy' is about what is streamed"),
            (bool(set(self.cuts) & set(self.joins)), "'cuts' begin kernels",
             "'joins' has one of them end in another's"),
        ]  # fmt: skip
        for clash, one, other in clashes:
            if clash:
                raise ArgumentError(f"options: {one}, and option {other}; expected one of the two")

    def unfused(self) -> Options:
        """The same for the program compiled op by op: without what is about fusing."""
        plain = {name: getattr(Options, name) for name in _FUSING}
        return dataclasses.replace(self, fuse=False, **plain)

    @classmethod
    def of(cls, value: Options | Mapping[str, object] | None) -> Options:
        """Options from a mapping; unknown names raise :class:`ArgumentError`."""
        if value is None:
            return cls()
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise ArgumentError(
                f"options: expected redfuse.Options or a mapping, got {type(value).__name__}"
            )
        known = [field.name for field in dataclasses.fields(cls)]
        for name in value:
            if name not in known:
                raise ArgumentError(one_of("option", str(name), known))
        return cls(**value)  # type: ignore[arg-type]

    @classmethod
    def from_assignments(cls, assignments: list[str]) -> Options:
        """Options from ``name=value`` words; values as JSON, YAML or Python spell them."""
        values: dict[str, object] = {}
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if not equals:
                raise ArgumentError(f"option '{assignment}': expected name=value")
            if name in values:
                raise ArgumentError(f"option '{name}': given twice")
            values[name] = _value(text, _TYPES.get(name, (str,)))
        return cls.of(values)

    def key(self) -> str:
        """What of the options changes the binary, as text for a cache key."""
        values = dataclasses.asdict(self)
        for name in ("along", "cache", "parameters", "precision", "threads", "tuned"):
            del values[name]
        return json.dumps(values, sort_keys=True)


PRECISIONS = ("default", "highest", "high", "medium")
PARAMETERS = ("constants", "arguments")
SCHEDULES = ("auto", "resident", "stream", "split")
_MOST = {"opt_level": 3, "splits": 64, "lazy": 8, "threads": 4096}
_FUSING = ("schedule", "splits", "lazy", "approximate", "along", "schedules", "cuts", "joins")
_TYPES: dict[str, tuple[type, ...]] = {
    "entry": (str, type(None)),
    "fuse": (bool,),
    "schedule": (str,),
    "splits": (int,),
    "lazy": (int,),
    "strict": (bool,),
    "approximate": (bool,),
    "deterministic": (bool,),
    "along": (tuple, list, type(None)),
    "threads": (int,),
    "opt_level": (int,),
    "cache": (bool,),
    "tuned": (bool,),
    "parameters": (str,),
    "precision": (str,),
    "schedules": (tuple, list),
    "cuts": (tuple, list),
    "joins": (tuple, list),
}
_WORDS = {
    bool: {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False},
    type(None): {"none": None, "null": None, "~": None, "": None},
}


def _value(text: str, types: tuple[type, ...]) -> object:
    """What a word of the command line says for an option of these types; the word itself where
    nothing fits, which the check of the types then refuses."""
    for kind, words in _WORDS.items():
        if kind in types and text.strip().lower() in words:
            return words[text.strip().lower()]
    if types == (bool,) or (str in types and text[:1] not in ("'", '"')):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if not isinstance(value, str) or str in types else text
