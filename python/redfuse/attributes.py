"""Attributes as data of Python: those of the dialect by the names of their fields, and MLIR's own
as plain values. All that reads or writes an attribute of the dialect goes through here."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from . import _ext
from .errors import ArgumentError

Hint = int | bool | str  # a number, a choice of yes and no, or the name of a case
_Made = TypeVar("_Made", bound="Fields")


class Formula(str):
    """The text of a ``#redfuse.formula``."""

    __slots__ = ()


class ElementType(str):
    """A type, as MLIR spells it."""

    __slots__ = ()


def plain(attribute: Any) -> Any:
    """The value of one of MLIR's own attributes: a number, a text, a map, a tuple or a dict; of a
    formula or a type the text."""
    import mlir.ir as ir

    if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.StringAttr)):
        return attribute.value
    if isinstance(attribute, ir.AffineMapAttr):
        return attribute.value
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    if isinstance(attribute, (ir.ArrayAttr, ir.DenseI64ArrayAttr)):
        return tuple(plain(one) if isinstance(one, ir.Attribute) else one for one in attribute)
    if isinstance(attribute, ir.DictAttr):
        return {entry.name: plain(entry.attr) for entry in attribute}
    if isinstance(attribute, ir.TypeAttr):
        return ElementType(attribute.value)
    formula = fields(attribute, "formula")
    if formula is not None:
        return Formula(formula["text"])
    raise ArgumentError(f"expected numbers, texts, maps, arrays or dictionaries, got {attribute}")


def made_of(value: Any) -> Any:
    """The other way: integers have 64 bits, an array of them is dense."""
    import mlir.ir as ir

    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, Formula):
        return attribute_of("formula", {"text": str(value)})
    if isinstance(value, ElementType):
        return ir.TypeAttr.get(ir.Type.parse(value))
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, ir.AffineMap):
        return ir.AffineMapAttr.get(value)
    if isinstance(value, Mapping):
        return ir.DictAttr.get({name: made_of(one) for name, one in value.items()})
    if all(isinstance(one, int) for one in value):
        return ir.DenseI64ArrayAttr.get(list(value))
    return ir.ArrayAttr.get([made_of(one) for one in value])


def fields(attribute: Any, mnemonic: str) -> dict[str, Any] | None:
    """The fields of ``#redfuse.MNEMONIC``; None for any other attribute."""
    found = _ext.attribute_fields(attribute, mnemonic)
    return None if found is None else plain(found)


def attribute_of(mnemonic: str, found: Mapping[str, Any]) -> Any:
    """``#redfuse.MNEMONIC`` with these fields, in the current context; raises ``ArgumentError`` for
    what its verifier refuses."""
    return _ext.attribute_of_fields(mnemonic, made_of(found))


class Fields:
    """A dataclass with the fields of an attribute of the dialect."""

    mnemonic: ClassVar[str]

    @classmethod
    def of(cls: type[_Made], attribute: Any) -> _Made:
        """From the attribute; raises ``ArgumentError`` for any other one."""
        found = fields(attribute, cls.mnemonic)
        if found is None:
            raise ArgumentError(f"expected a #redfuse.{cls.mnemonic} attribute, got {attribute}")
        return cls._from_fields(found)

    @classmethod
    def _from_fields(cls: type[_Made], found: dict[str, Any]) -> _Made:
        return cls(**found)

    def _fields(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}  # type: ignore[arg-type]

    def attribute(self) -> Any:
        """The attribute, in the current context; raises ``ArgumentError`` where it contradicts
        itself."""
        given = {name: value for name, value in self._fields().items() if value is not None}
        return attribute_of(self.mnemonic, given)


def formula_tree(text: str) -> tuple[str, str, int, tuple[int, ...], tuple]:
    """The nodes of a formula, read by the attribute's own parser: (head, value, primes, dims,
    arguments) as `Formula.h` has them; raises ``ArgumentError`` for what is no formula."""
    with _own_context():
        return _ext.formula_tree(attribute_of("formula", {"text": text}))


@functools.cache
def _own_context() -> Any:
    import mlir.ir as ir

    return ir.Context()


def word(value: Hint) -> str:
    """A hint's value, as it is printed."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclasses.dataclass(frozen=True)
class Schedule(Fields):
    """What ``#redfuse.schedule`` says: how a kernel walks its iteration dims.

    ``tiles`` has the extent of a tile for each iteration dim (0: the whole dim at once), ``grid``
    the dims whose tiles are blocks, ``stream`` those that carry state from tile to tile, ``splits``
    the splits of a split schedule, ``lazy`` the powers of 2 that a running maximum may get ahead
    of the pivot of its exponentials, ``hints`` what is asked of the generator, sorted by name.
    """

    mnemonic: ClassVar[str] = "schedule"

    kind: str
    grid: tuple[int, ...] = ()
    tiles: tuple[int, ...] = ()
    stream: tuple[int, ...] = ()
    reason: str | None = None
    splits: int = 0
    lazy: int = 0
    hints: tuple[tuple[str, Hint], ...] = ()

    @classmethod
    def _from_fields(cls, found: dict[str, Any]) -> Schedule:
        return cls(**{**found, "hints": tuple(sorted(found.get("hints", {}).items()))})

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "hints": dict(self.hints) or None}

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """From the attribute's text; raises ``ArgumentError`` for any other one."""
        import mlir.ir as ir

        try:
            return cls.of(ir.Attribute.parse(text, _own_context()))
        except ir.MLIRError as error:
            words = str(error).splitlines()
            raise ArgumentError(f"{text!r} is no schedule: {words[-1] if words else ''}") from None

    @property
    def text(self) -> str:
        """The attribute's text."""
        with _own_context():
            return str(self.attribute())

    def short(self) -> str:
        """For people: ``stream tiles 1,128 splits 4``."""
        words = [self.kind]
        if self.tiles:
            words.append("tiles " + ",".join(str(n) if n else "all" for n in self.tiles))
        words += [f"{n} {v}" for n, v in (("splits", self.splits), ("lazy", self.lazy)) if v]
        words += [f"{name} {word(value)}" for name, value in self.hints]
        return " ".join(words)

    def with_tile(self, dim: int, extent: int) -> Schedule:
        """Another extent of one tile."""
        tiles = (*self.tiles[:dim], extent, *self.tiles[dim + 1 :])
        return dataclasses.replace(self, tiles=tiles)

    def with_hint(self, name: str, value: Hint | None) -> Schedule:
        """Another value of one hint; None takes it away."""
        hints = {**dict(self.hints), name: value}
        kept = tuple(sorted((n, v) for n, v in hints.items() if v is not None))
        return dataclasses.replace(self, hints=kept)


@dataclasses.dataclass(frozen=True)
class Target(Fields):
    """What ``#redfuse.target`` says: a machine as the cost model sees it.

    Caches in bytes of one worker's share, ``flops`` in GFLOP/s and ``bandwidth`` in GB/s of the
    whole machine, ``launch_ns`` the fixed cost of one kernel in nanoseconds, ``chip`` a GPU's
    architecture.
    """

    mnemonic: ClassVar[str] = "target"

    name: str
    units: int
    vector_bits: int
    l1: int
    l2: int
    flops: int
    bandwidth: int
    launch_ns: int = 0
    chip: str | None = None
