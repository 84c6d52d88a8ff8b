"""``#redfuse.schedule`` attributes as data, and those of a module's cascades."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError

MOST_PARTS = 256  # their merges are spelled out
DYNAMIC = 1 << 12  # what a dynamic extent is taken for

_KIND = re.compile(r"schedule<\s*(\w+)")
_LIST = re.compile(r"\b(grid|tiles|stream) = \[([^\]]*)\]")
_NUMBER = re.compile(r"\b(parts|lazy) = (\d+)")
_HINTS = re.compile(r"\bhints = \{([^}]*)\}")
_HINT = re.compile(r"(\w+) = (\d+)")
_REASON = re.compile(r', reason = "(?:[^"\\]|\\.)*"')


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A schedule; the fields are those of the attribute, without its reason.

    tiles: extents by iteration dim, 0: whole. hints: what is asked of the generator, by name.
    """

    kind: str
    grid: tuple[int, ...] = ()
    tiles: tuple[int, ...] = ()
    stream: tuple[int, ...] = ()
    parts: int = 0
    lazy: int = 0
    hints: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, text: str) -> Schedule:
        """Reads what :attr:`text` or MLIR printed."""
        text = _REASON.sub("", text)
        kind = _KIND.search(text)
        if not kind:
            raise ArgumentError(f"expected #redfuse.schedule<...>, got {text!r}")
        hints = _HINTS.search(text)
        text = _HINTS.sub("", text)  # a hint may have the name of a field: lazy
        lists = {
            name: tuple(int(n) for n in held.split(",") if n.strip())
            for name, held in _LIST.findall(text)
        }
        numbers = {name: int(value) for name, value in _NUMBER.findall(text)}
        pairs = sorted((n, int(v)) for n, v in _HINT.findall(hints[1])) if hints else []
        return cls(kind[1], **lists, **numbers, hints=tuple(pairs))

    @property
    def text(self) -> str:
        """As MLIR reads it."""
        parts = [self.kind]
        for name in ("grid", "tiles", "stream"):
            if values := getattr(self, name):
                parts.append(f"{name} = [{', '.join(map(str, values))}]")
        for name in ("parts", "lazy"):
            if value := getattr(self, name):
                parts.append(f"{name} = {value}")
        if self.hints:
            named = ", ".join(f"{name} = {value}" for name, value in self.hints)
            parts.append(f"hints = {{{named}}}")
        parts.append('reason = "chosen by name"')
        return f"#redfuse.schedule<{', '.join(parts)}>"

    def short(self) -> str:
        """For people: ``stream tiles 1,128 parts 4``."""
        words = [self.kind]
        if self.tiles:
            words.append("tiles " + ",".join(str(n) if n else "all" for n in self.tiles))
        words += [f"{n} {v}" for n, v in (("parts", self.parts), ("lazy", self.lazy)) if v]
        words += [f"{name} {value}" for name, value in self.hints]
        return " ".join(words)

    def with_tile(self, dim: int, extent: int) -> Schedule:
        """Another extent of one tile."""
        tiles = (*self.tiles[:dim], extent, *self.tiles[dim + 1 :])
        return dataclasses.replace(self, tiles=tiles)

    def with_hint(self, name: str, value: int) -> Schedule:
        """Another value of one hint; 0 takes it away."""
        hints = {**dict(self.hints), name: value}
        kept = tuple(sorted((n, v) for n, v in hints.items() if v))
        return dataclasses.replace(self, hints=kept)


def cascades(module: Any) -> list[Any]:
    """The cascades of a module, in order."""
    from ..explanation import walk

    return list(walk(module.operation, "redfuse.cascade"))


def pin(module: Any, texts: Sequence[str]) -> None:
    """Gives every cascade its schedule; an empty text leaves it to the model. Raises
    ArgumentError for another number of texts, and for what is no schedule."""
    import mlir.ir as ir

    found = cascades(module)
    if len(found) != len(texts):
        raise ArgumentError(
            f"option 'schedules': expected one for each of the {len(found)} cascades of the "
            f"program, got {len(texts)}"
        )
    for op, text in zip(found, texts, strict=True):
        if not text:
            continue
        try:
            attribute = ir.Attribute.parse(text, module.context)
        except ir.MLIRError as error:
            words = str(error).splitlines()
            raise ArgumentError(
                f"option 'schedules': {text!r} is no schedule: {words[-1] if words else ''}"
            ) from None
        if not str(attribute).startswith("#redfuse.schedule<"):
            raise ArgumentError(f"option 'schedules': expected #redfuse.schedule<...>, got {text}")
        schedule = Schedule.of(str(attribute))
        tiles = schedule.tiles
        if schedule.parts > MOST_PARTS:
            raise ArgumentError(
                f"option 'schedules': {text} has {schedule.parts} parts, at most {MOST_PARTS}"
            )
        extents = extents_of(op)
        if len(tiles) != len(extents):
            raise ArgumentError(
                f"option 'schedules': {text} has {len(tiles)} tiles, expected one for each of the "
                f"{len(extents)} iteration dims"
            )
        op.attributes["schedule"] = attribute


def extents_of(cascade: Any) -> list[int]:
    """Extents of its iteration dims, ``DYNAMIC`` where they are not known."""
    import mlir.ir as ir

    maps = [ir.AffineMapAttr(a).value for a in cascade.attributes["indexing_maps"]]
    extents = [0] * (maps[0].n_dims if maps else 0)
    for value, affine in zip(cascade.operands, maps, strict=False):
        shape = ir.RankedTensorType(value.type)
        for axis, expression in enumerate(affine.results):
            if dim_text := re.fullmatch(r"d(\d+)", str(expression)):
                dim = int(dim_text[1])
                known = 0 if shape.is_dynamic_dim(axis) else shape.get_dim_size(axis)
                extents[dim] = max(extents[dim], known)
    return [extent or DYNAMIC for extent in extents]
