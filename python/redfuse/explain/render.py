"""What was found and fused, as text. The object it reads is documented in docs/user/explain.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .merges import merge_lines
from .predicted import predicted_text
from .selections import selection_lines

_REDUCERS = {
    "add": "sum",
    "mul": "product",
    "maximumf": "max",
    "maxnumf": "max",
    "minimumf": "min",
    "minnumf": "min",
    "maxsi": "max",
    "maxui": "max",
    "minsi": "min",
    "minui": "min",
    "and": "all",
    "andi": "all",
    "or": "any",
    "ori": "any",
    "addf": "sum",
    "addi": "sum",
    "mulf": "product",
    "muli": "product",
}


def render(explanation: Mapping[str, Any]) -> str:
    """Kernels with their cascades, stages, reads and schedules, then what was refused and why."""
    lines: list[str] = []
    kernels = explanation.get("kernels", [])
    refused = explanation.get("refused", [])
    arguments = [argument_text(argument) for argument in explanation.get("arguments", [])]
    lines += [*arguments, ""] if arguments else []
    if len(kernels) > 1:
        told = [text for text in (moves_text(kernels), predicted_text(kernels)) if text]
        lines += [f"{len(kernels)} kernels: {'; '.join(told)}", ""] if told else []
    for kernel in kernels:
        lines += [*kernel_lines(kernel), ""]
    for selection in explanation.get("selections", []):
        lines += [*selection_lines(selection), ""]
    if not kernels and not explanation.get("selections"):
        lines += ["No kernel: the program runs operation by operation.", ""]
    if refused:
        lines.append(f"Not fused ({len(refused)}):")
        for refusal in refused:
            lines += refusal_lines(refusal)
    elif kernels:
        lines.append("Every reduction was fused or needed nothing to fuse with.")
    else:
        lines.append("There is nothing in it to fuse.")
    return "\n".join(lines)


def moves_text(kernels: Sequence[Mapping[str, Any]]) -> str:
    """What kernels must move at least, together; "" where that is not known of all."""
    moves = [kernel.get("moves") or {} for kernel in kernels]
    reads, writes = ([each.get(key) for each in moves] for key in ("reads", "writes"))
    if None in reads or None in writes:
        return ""
    return f"{bytes_text(sum(reads))} read and {bytes_text(sum(writes))} written at least"


def argument_text(argument: Mapping[str, Any]) -> str:
    """An argument that is not row-major."""
    shape = [n if n is not None else "?" for n in argument["shape"]]
    order = argument["order"]
    return (
        f"{argument['arg']} of {'x'.join(map(str, shape))} is read as it lies in memory, with its "
        f"dims in the order {', '.join(map(str, order))}: "
        f"{'x'.join(str(shape[d]) for d in order)}"
    )


def render_merges(explanation: Mapping[str, Any]) -> str:
    """The merges alone: what does not depend on the machine."""
    lines = []
    for kernel in explanation.get("kernels", []):
        where = kernel.get("source") or ""
        lines.append(f"kernel {kernel.get('name', '?')}" + (f"  ({where})" if where else ""))
        for cascade in kernel.get("cascades", []):
            lines += [f"  {line}" for line in merge_lines(cascade, says_when=False)]
    return "\n".join(lines)


def kernel_lines(kernel: Mapping[str, Any]) -> list[str]:
    """One kernel."""
    where = kernel.get("source") or kernel.get("location") or ""
    lines = [f"kernel {kernel.get('name', '?')}" + (f"  ({where})" if where else "")]
    for cascade in kernel.get("cascades", []):
        lines.append(f"  cascade over {dims_text(cascade.get('dims', []))}")
        rows = []
        for number, stage in enumerate(cascade.get("stages", []), 1):
            reducer = str(stage.get("reducer", "?"))
            merge = stage.get("merge")
            rows.append(
                [
                    f"    {number}",
                    _REDUCERS.get(reducer, reducer),
                    f"over {names(stage.get('over'))}",
                    f"into {names(stage.get('into')) or 'a scalar'}",
                    str(stage.get("type", "")),
                    str(stage.get("location", "")),
                    f"merge: {merge}" if merge and "merge" not in cascade else "",
                ]
            )
        lines += columns(rows)
        lines += [f"  {line}" for line in merge_lines(cascade)]
    reads = [f"{i.get('arg', '?')} {times(i.get('reads'))}" for i in kernel.get("inputs", [])]
    if reads:
        lines.append(f"  reads     {', '.join(reads)}")
    if text := moves_text([kernel]):
        lines.append(f"  moves     {text}")
    if text := predicted_text([kernel]):
        lines.append(f"  takes     {text}")
    schedule = kernel.get("schedule")
    if schedule:
        lines.append(f"  schedule  {schedule_text(schedule)}")
        if schedule.get("reason"):
            lines.append(f"            because {schedule['reason']}")
    # Why it has no plan of that kind is no news where it has another.
    if "matrices" in kernel and not ("contraction" in kernel and "refused" in kernel["matrices"]):
        lines.append(f"  matrices  {plan_text(kernel['matrices'])}")
    if "contraction" in kernel:
        lines.append(f"  product   {contraction_text(kernel['contraction'])}")
    if "rounds" in kernel:
        lines.append(f"  rounds    {rounds_text(kernel['rounds'])}")
    if "packing" in kernel:
        lines.append(f"  product   {packing_text(kernel['packing'])}")
    if "taken_apart" in kernel:
        lines.append(f"  merge     by kernels of their own: {kernel['taken_apart']}")
    elif "refused" in kernel.get("registers", ()):
        lines.append(f"  tiles     in memory, not registers: {kernel['registers']['refused']}")
    if "code_of" in kernel:
        lines.append(f"  code      that of {kernel['code_of']}, which does the same")
    lines += [f"  {rule}" for rule in approximations(kernel)]
    return lines


def rounds_text(plan: Mapping[str, Any]) -> str:
    """Who makes the rounds of a loop, in a line."""
    parts = plan["grid_parts"] * plan["warp_parts"]
    clusters = "a cluster" if parts == 1 else f"{parts} clusters"
    return f"all in one launch, by {clusters} of {plan['cluster']} x {plan['warps']} warps"


def plan_text(plan: Mapping[str, Any]) -> str:
    """How a kernel runs on matrix units, in a line."""
    if "refused" in plan:
        return f"no matrix units: {plan['refused']}"
    tiles = " ".join(f"{name}={size}" for name, size in plan["tiles"].items())
    count = plan["consumers"]
    if plan["kind"] == "mma_sync":
        who = f"{4 * count} warps"
    else:
        who = f"{count} warpgroup{'s' if count > 1 else ''}"
    left = " and ".join(plan["left"])
    text = f"{plan['kind']} by {who}, tiles {tiles}, left operands {left}"
    if plan["sum_splits"] > 1:
        text += f", {plan['sum_splits']} blocks share sums"
    if plan["splits"] > 1:
        text += f", {plan['splits']} splits"
    if plan["cluster"] > 1:
        text += f" in clusters of {plan['cluster']}"
    if shape := plan["cluster_shape"]:
        text += f", clusters of {shape[0]} x {shape[1]} tiles copy operands for each other"
    return text


def contraction_text(plan: Mapping[str, Any]) -> str:
    """How the warps of a block share a tile of a sum of products, in a line."""
    rows, columns, *slices = plan["warps"]
    along, across = plan["instructions"]
    text = f"by {rows} x {columns} warps of {along} x {across} matrix instructions each"
    if slices:
        text += f", {slices[0]} times, which share a sum"
    if plan["splits"] > 1:
        text += f", {plan['splits']} blocks share a sum"
    return text


# What a microkernel of a core reads, and what it has one of beside its rows.
_MICROKERNELS = {
    "packed": ("packed operands", "vector"),
    "packed_rows": ("packed rows, columns read where they lie", "vector"),
    "outer": ("operands read where they lie", "vector"),
    "inner": ("operands read where they lie, along the sum", "column"),
}


def packing_text(plan: Mapping[str, Any]) -> str:
    """How a core multiplies the operands of a product, in a line."""
    rows, count = plan["registers"]
    tiles = " ".join(f"{name}={size}" for name, size in plan["tiles"].items())
    what, unit = _MICROKERNELS[str(plan["microkernel"])]
    return (
        f"of {what}, {'tiles ' + tiles if tiles else 'in one tile'}, "
        f"{rows} rows by {count} {unit}{'s' if count > 1 else ''} in registers"
    )


def approximations(kernel: Mapping[str, Any]) -> list[str]:
    """What of a kernel was approximated on request, in the words of its certificates."""
    rules: list[str] = []
    for cascade in kernel.get("cascades", []):
        for certificate in (cascade.get("certificate"), *cascade.get("passes", [])):
            used = (certificate or {}).get("rules", [])
            rules += [rule["text"] for rule in used if rule["kind"] == "approximation"]
    return list(dict.fromkeys(rules))


def refusal_lines(refusal: Mapping[str, Any]) -> list[str]:
    """One reduction that was not fused: the condition that failed, and what would make it fuse."""
    where = refusal.get("location", "")
    lines = [
        f"  {where + ': ' if where else ''}{refusal.get('op', '?')}: {refusal.get('condition', '')}"
    ]
    for name in ("detail", "remedy"):
        if refusal.get(name):
            lines.append(f"      {name}: {refusal[name]}")
    return lines


def times(reads: Any) -> str:
    """How often an argument is read: "once", "3 times", or the word the compiler gave."""
    if isinstance(reads, (int, float)):
        return {1: "once", 0: "never", 2: "twice"}.get(reads, f"{reads:g} times")
    return str(reads)


def names(dims: Any) -> str:
    """Dims as "b i j"."""
    if isinstance(dims, (list, tuple)):
        return " ".join(map(str, dims))
    return "" if dims is None else str(dims)


def dims_text(dims: Any) -> str:
    """Iteration dims with their extents where these are known."""
    if isinstance(dims, Mapping):
        return " ".join(f"{name}={_extent(extent)}" for name, extent in dims.items())
    parts = []
    for dim in dims:
        if isinstance(dim, Mapping):
            parts.append(f"{dim.get('name', '?')}={_extent(dim.get('extent', dim.get('size')))}")
        else:
            parts.append(str(dim))
    return " ".join(parts)


def _extent(value: Any) -> str:
    return "?" if value is None or (isinstance(value, int) and value < 0) else str(value)


def schedule_text(schedule: Any) -> str:
    """A schedule on one line."""
    if not isinstance(schedule, Mapping):
        return str(schedule)
    kind = schedule.get("kind", "")
    parts = []
    for name, value in schedule.items():
        if name in ("kind", "reason") or value in (None, [], {}, ""):
            continue
        if isinstance(value, Mapping):
            value = " ".join(f"{key}={item}" for key, item in value.items())
        elif isinstance(value, (list, tuple)):
            value = " ".join(map(str, value))
        parts.append(f"{name} {value}")
    return f"{kind}: {', '.join(parts)}" if kind and parts else str(kind or ", ".join(parts))


def columns(rows: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """Rows of cells as aligned lines without trailing blanks."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]


def bytes_text(count: int) -> str:
    """A number of bytes, with three digits or so."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def program_rows(module: Any, entry: str | None = None) -> list[tuple[str, str, str, int | None]]:
    """What a program does before fusion: (what, result types, source line, bytes of the results)
    an operation.

    Only operations that touch whole arrays are listed: linalg, tm_tensor and loops.
    """
    from ..errors import _position
    from ..frontends.mlir import find_entry

    rows = []
    for block in find_entry(module, entry).regions[0]:
        for operation in block.operations:
            name = operation.operation.name
            if not name.startswith(("linalg.", "tm_tensor.", "scf.for")) or name == "linalg.fill":
                continue
            types = [result.type for result in operation.results]
            line = _position(operation.location)[1]
            sizes = [_bytes(kind) for kind in types]
            total = None if None in sizes else sum(size for size in sizes if size is not None)
            rows.append(
                (
                    describe(operation),
                    ", ".join(map(str, types)),
                    f"line {line}" if line else "",
                    total,
                )
            )
    return rows


def _bytes(kind: Any) -> int | None:
    from ..errors import UnsupportedError
    from ..runtime.specs import TensorSpec

    try:
        spec = TensorSpec.of(kind)
    except UnsupportedError:
        return None
    if not spec.is_static:
        return None
    return spec.itemsize * math.prod(extent for extent in spec.shape if extent is not None)


def describe(operation: Any) -> str:
    """A linalg operation in a few words: "sum over dim 3", "exp", "matmul"."""
    name = operation.operation.name.partition(".")[2]
    if name not in ("generic", "map", "reduce"):
        return name.replace("_", " ")
    body = [
        inner.operation.name.partition(".")[2]
        for inner in operation.regions[0].blocks[0].operations
        if not inner.operation.name.endswith((".yield", ".constant", ".index", ".index_cast"))
    ]
    words = [_word(inner) for inner in body]
    reduced = []
    if "iterator_types" in operation.attributes:
        kinds = [str(kind) for kind in operation.attributes["iterator_types"]]
        reduced = [str(dim) for dim, kind in enumerate(kinds) if "reduction" in kind]
    if reduced:
        last = "argmax and max" if {"cmpf", "select"} <= set(body) and "maximumf" in body else ""
        what = last or (_REDUCERS.get(body[-1], _word(body[-1])) if body else "copy")
        return f"{what} over dim{'s' if len(reduced) > 1 else ''} {', '.join(reduced)}"
    unique = list(dict.fromkeys(words))
    return " ".join(unique[:4]) + (" ..." if len(unique) > 4 else "") if unique else "copy"


def _word(name: str) -> str:
    plain = {
        "addf": "add",
        "subf": "subtract",
        "mulf": "multiply",
        "divf": "divide",
        "maximumf": "max",
        "minimumf": "min",
        "cmpf": "compare",
        "cmpi": "compare",
        "truncf": "cast",
        "extf": "cast",
        "sitofp": "cast",
        "negf": "negate",
        "addi": "add",
        "muli": "multiply",
        "absf": "abs",
        "fpowi": "power",
        "extracted": "gather",
        "extract": "gather",
    }
    return plain.get(name, name)
