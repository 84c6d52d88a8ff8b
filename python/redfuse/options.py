"""Options of a compilation."""

from __future__ import annotations

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
    parts: segments of a split schedule, 0 for what the cost model finds best.
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
    schedules: instead of the model's choice, ``#redfuse.schedule<...>`` for each cascade in order;
        an empty text leaves one to the model. What ``redfuse tune`` stores.
    """

    entry: str | None = None
    fuse: bool = True
    schedule: str = "auto"
    parts: int = 0
    lazy: int = 0
    strict: bool = False
    approximate: bool = False
    deterministic: bool = False
    along: tuple[int, int] | None = None
    threads: int = 0
    opt_level: int = 3
    cache: bool = True
    tuned: bool = True
    schedules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wanted = {
            "entry": (str, type(None)),
            "fuse": (bool,),
            "schedule": (str,),
            "parts": (int,),
            "lazy": (int,),
            "strict": (bool,),
            "approximate": (bool,),
            "deterministic": (bool,),
            "along": (tuple, list, type(None)),
            "threads": (int,),
            "opt_level": (int,),
            "cache": (bool,),
            "tuned": (bool,),
            "schedules": (tuple, list),
        }
        for name, types in wanted.items():
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
        object.__setattr__(self, "schedules", tuple(self.schedules))  # JSON has lists
        if not all(isinstance(text, str) for text in self.schedules):
            raise ArgumentError(
                "option 'schedules': expected texts of #redfuse.schedule attributes, got "
                f"{self.schedules!r}"
            )
        if not 0 <= self.opt_level <= 3:
            raise ArgumentError(f"option 'opt_level': expected 0 to 3, got {self.opt_level}")
        if not 0 <= self.parts <= 64:
            raise ArgumentError(f"option 'parts': expected 0 to 64, got {self.parts}")
        if not 0 <= self.lazy <= 8:
            raise ArgumentError(f"option 'lazy': expected 0 to 8, got {self.lazy}")
        if self.along is not None:
            along = tuple(self.along)  # JSON has lists
            if len(along) != 2 or not all(type(n) is int and n >= 0 for n in along):
                raise ArgumentError(
                    "option 'along': expected the number of an argument and an axis, "
                    f"got {self.along!r}"
                )
            object.__setattr__(self, "along", along)
        if not 0 <= self.threads <= 4096:
            raise ArgumentError(f"option 'threads': expected 0 to 4096, got {self.threads}")

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
        """Options from ``name=value`` words, the value in JSON or a bare word."""
        values: dict[str, object] = {}
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if not equals:
                raise ArgumentError(f"option '{assignment}': expected name=value")
            try:
                values[name] = json.loads(text)
            except json.JSONDecodeError:
                values[name] = text
        return cls.of(values)

    def key(self) -> str:
        """What of the options changes the binary, as text for a cache key."""
        values = dataclasses.asdict(self)
        for name in ("along", "cache", "threads", "tuned"):
            del values[name]
        return json.dumps(values, sort_keys=True)


SCHEDULES = ("auto", "resident", "stream", "split")
