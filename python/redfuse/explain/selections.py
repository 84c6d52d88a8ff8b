"""What ``explain`` says of ``redfuse.select``: elements of rows by their rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import _position, position_text

# By the word that stands on the launches.
_WAYS = {
    "sort_rows": "rows sorted in registers by teams of threads",
    "find_best": "a threshold, and a sort of what it lets through",
    "merge_runs": "runs sorted by blocks, merged by further launches",
}


def selections(ops: Iterator[Any]) -> list[dict]:
    """Of each ``redfuse.select``: what it orders, and which ranks it gives."""
    return [_selection(op) for op in ops]


def _selection(op: Any) -> dict:
    import mlir.ir as ir

    shapes = [ir.ShapedType(value.type) for value in op.operands]
    extent = shapes[1].shape[-1]
    parts = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[1:]
    named = zip(("values", "positions"), parts, strict=True)
    return {
        "source": position_text(*_position(op.location)),
        "shape": [None if n < 0 else n for n in shapes[0].shape],
        "type": str(shapes[0].element_type),
        "order": "descending" if "descending" in op.attributes else "ascending",
        "from": ir.IntegerAttr(op.attributes["from"]).value if "from" in op.attributes else 0,
        "ranks": None if extent < 0 else extent,
        "gives": [name for name, has in named if has],
    }


def add_ways(known: list[dict], launches: Iterator[Any]) -> None:
    """How they run on a GPU: the way that stands on the launches, in the same order."""
    import mlir.ir as ir

    ways: dict[int, str] = {}
    for launch in launches:
        if "redfuse.selection" in launch.attributes:
            chosen = ir.DictAttr(launch.attributes["redfuse.selection"])
            number = ir.IntegerAttr(chosen["number"]).value
            ways.setdefault(number, ir.StringAttr(chosen["way"]).value)
    for number, selection in enumerate(known):
        if number in ways:
            selection["way"] = ways[number]


def selection_lines(selection: dict) -> list[str]:
    """The lines that ``explain`` prints."""
    shape = "x".join("?" if n is None else str(n) for n in selection["shape"])
    ranks, start = selection["ranks"], selection["from"]
    which = "the rest" if ranks is None else str(ranks)
    where = selection["source"]
    lines = [
        "selection" + (f"  ({where})" if where else ""),
        f"  rows      {shape} {selection['type']}, {selection['order']}",
        f"  ranks     {which} from rank {start}: {' and '.join(selection['gives'])}",
    ]
    if "way" in selection:
        lines.append(f"  way       {_WAYS.get(selection['way'], selection['way'])}")
    return lines
