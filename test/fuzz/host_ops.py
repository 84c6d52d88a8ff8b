"""What every operation of the host fuzzer is in text, and what it does.

An entry of :data:`KINDS` is a pair: lines of text of an op, and its results in a run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from host_program import Op, Region, Run, StopError, Tensor, Value, filled, fits, literal
from host_scalars import ANY, BAD, apply


class Kind(NamedTuple):
    """text: the lines of an op, without its results' names; run: its results."""

    text: Callable[[Op], list[str]]
    run: Callable[[Op, Run], list[Any]]


KINDS: dict[str, Kind] = {}


def kind(name: str, text: Callable[[Op], list[str]]) -> Callable:
    """Enters the decorated function as what the op does."""

    def enter(function: Callable[[Op, Run], list[Any]]) -> Callable:
        KINDS[name] = Kind(text, function)
        return function

    return enter


def lines(region: Region, indent: str) -> Iterator[str]:
    """The operations of a region."""
    for op in region.ops:
        first, *rest = KINDS[op.kind].text(op)
        names = f"{', '.join(map(str, op.results))} = " if op.results else ""
        yield f"{indent}{names}{first}"
        yield from (f"{indent}{line}" for line in rest)


def evaluate(op: Op, run: Run) -> None:
    """Enters the results of an op into a run."""
    try:
        found = KINDS[op.kind].run(op, run)
    except StopError:
        run.stopped = True
        raise
    finally:
        if run.stopped and not run.where:
            run.where = op.kind
    run.values.update(zip(op.results, found, strict=True))


def listing(values: list[Value | int]) -> str:
    return ", ".join(str(v) for v in values)


def types(values: list[Value]) -> str:
    return ", ".join(str(v.type) for v in values)


def body(region: Region, yielding: str, *, head: bool = True) -> list[str]:
    """A region's lines between braces."""
    arguments = ", ".join(f"{v}: {v.type}" for v in region.arguments)
    begin = [f"^bb0({arguments}):"] if head and region.arguments else []
    end = f"  {yielding} {listing(region.yields)} : {types(region.yields)}"
    return [*begin, *lines(region, "  "), end]


def at(run: Run, index: Value | int) -> Any:
    """An index that may be anything."""
    return index if isinstance(index, int) else run.values[index]


def inside(run: Run, array: np.ndarray, indices: list[Any]) -> tuple[int, ...] | None:
    """The place, or None, with the run told, if there is none."""
    found = [at(run, i) for i in indices]
    if any(i is ANY or i is BAD for i in found):
        run.stopped = True
        return None
    if all(0 <= i < n for i, n in zip(found, array.shape, strict=True)):
        return tuple(found)
    run.fail()
    return None


def lost(run: Run, indices: list[Any]) -> Any:
    """What there is at a place that is none: ANY if the place itself is not known."""
    found = [at(run, i) for i in indices]
    return ANY if any(i is ANY for i in found) and BAD not in found else BAD


# Scalars ----------------------------------------------------------------------------------------


def _scalar_text(op: Op) -> list[str]:
    name, result = op.more["name"], op.results[0]
    source = op.operands[-1].type
    full = name if "." in name else f"arith.{name}"
    operands = listing(op.operands)
    if name in ("cmpi", "cmpf"):
        return [f"{full} {op.more['predicate']}, {operands} : {source}"]
    if len(op.operands) == 1 and "." not in name:
        return [f"{full} {operands} : {source} to {result.type}"]
    return [f"{full} {operands} : {source}"]


@kind("scalar", _scalar_text)
def _scalar(op: Op, run: Run) -> list[Any]:
    values = [run.values[v] for v in op.operands]
    if op.more["name"] == "select" and isinstance(op.results[0].type, Tensor):
        return [values[1 if run.integer(op.operands[0]) else 2]]
    source = op.operands[-1].type
    return [
        apply(op.more["name"], values, source, op.more.get("predicate", ""), op.results[0].type)
    ]


def _constant_text(op: Op) -> list[str]:
    value, of = op.more["value"], op.results[0].type
    if isinstance(of, str):
        return [f"arith.constant {literal(value, of)} : {of}"]

    def nested(array: Any) -> str:
        if isinstance(array, np.ndarray) and array.ndim:
            return f"[{', '.join(nested(part) for part in array)}]"
        return literal(array.item() if isinstance(array, np.ndarray) else array, of.dtype)

    return [f"arith.constant dense<{nested(value)}> : {of}"]


@kind("constant", _constant_text)
def _constant(op: Op, run: Run) -> list[Any]:
    return [op.more["value"]]


@kind("linalg.index", lambda op: [f"linalg.index {op.more['dim']} : index"])
def _index(op: Op, run: Run) -> list[Any]:
    return [run.point[op.more["dim"]]]


# Elements and extents ---------------------------------------------------------------------------


def _extract_text(op: Op) -> list[str]:
    source, *indices = op.operands
    return [f"tensor.extract {source}[{listing(indices)}] : {source.type}"]


@kind("extract", _extract_text)
def _extract(op: Op, run: Run) -> list[Any]:
    array = run.values[op.operands[0]]
    place = inside(run, array, op.operands[1:])
    return [lost(run, op.operands[1:]) if place is None else array[place]]


def _insert_text(op: Op) -> list[str]:
    value, into, *indices = op.operands
    return [f"tensor.insert {value} into {into}[{listing(indices)}] : {into.type}"]


@kind("insert", _insert_text)
def _insert(op: Op, run: Run) -> list[Any]:
    made = run.values[op.operands[1]].copy()
    place = inside(run, made, op.operands[2:])
    if place is None:
        made[...] = lost(run, op.operands[2:])
    else:
        made[place] = run.values[op.operands[0]]
    return [made]


@kind("dim", lambda op: [f"tensor.dim {listing(op.operands)} : {op.operands[0].type}"])
def _dim(op: Op, run: Run) -> list[Any]:
    array = run.values[op.operands[0]]
    axis = at(run, op.operands[1])
    return [array.shape[axis] if axis not in (ANY, BAD) and 0 <= axis < array.ndim else run.fail()]


@kind(
    "from_elements",
    lambda op: [f"tensor.from_elements {listing(op.operands)} : {op.results[0].type}"],
)
def _from_elements(op: Op, run: Run) -> list[Any]:
    made = filled(tuple(op.results[0].type.shape), ANY)
    for place, value in zip(np.ndindex(made.shape), op.operands, strict=True):
        made[place] = run.values[value]
    return [made]


def _sized(name: str) -> Callable[[Op], list[str]]:
    def text(op: Op) -> list[str]:
        open_ = [v for v in op.more["shape"] if isinstance(v, Value)]
        value = f" {op.operands[0]}" if op.operands else ""
        brackets = f"({listing(open_)})" if name == "tensor.empty" else f"[{listing(open_)}]"
        if not open_ and name == "tensor.splat":
            brackets = ""
        return [f"{name}{value}{brackets} : {op.results[0].type}"]

    return text


@kind("empty", _sized("tensor.empty"))
def _empty(op: Op, run: Run) -> list[Any]:
    return [filled(tuple(run.extent(n) for n in op.more["shape"]), ANY)]


@kind("splat", _sized("tensor.splat"))
def _splat(op: Op, run: Run) -> list[Any]:
    shape = tuple(run.extent(n) for n in op.more["shape"])
    return [filled(shape, run.values[op.operands[0]])]


@kind(
    "cast",
    lambda op: [f"tensor.cast {op.operands[0]} : {op.operands[0].type} to {op.results[0].type}"],
)
def _cast(op: Op, run: Run) -> list[Any]:
    array = run.values[op.operands[0]]
    if not fits(array, op.results[0].type):
        raise StopError
    return [array]


def _generate_text(op: Op) -> list[str]:
    open_ = [v for v in op.more["shape"] if isinstance(v, Value)]
    inner = body(op.regions[0], "tensor.yield")
    return [f"tensor.generate {listing(open_)} {{", *inner, f"}} : {op.results[0].type}"]


@kind("generate", _generate_text)
def _generate(op: Op, run: Run) -> list[Any]:
    made = filled(tuple(run.extent(n) for n in op.more["shape"]), ANY)
    for place in np.ndindex(made.shape):
        made[place] = run.block(op.regions[0], list(place))[0]
    return [made]


# Slices -----------------------------------------------------------------------------------------


def _ranges(op: Op) -> str:
    more = op.more
    return "".join(f"[{listing(more[name])}]" for name in ("offsets", "sizes", "strides"))


def _slice_text(op: Op) -> list[str]:
    source = op.operands[0]
    return [f"tensor.extract_slice {source}{_ranges(op)} : {source.type} to {op.results[0].type}"]


def _window(op: Op, run: Run, shape: tuple[int, ...]) -> tuple[list[int], tuple | None]:
    """The sizes, and the slices of a tensor of that shape; None if they reach outside."""
    sizes = [run.extent(n) for n in op.more["sizes"]]
    offsets = [run.integer(n) for n in op.more["offsets"]]
    strides = op.more["strides"]
    legal = True
    for n, size, start, stride in zip(shape, sizes, offsets, strides, strict=True):
        if size == 0 and not 0 <= start <= n:
            run.stopped = True  # nothing is read, but the window is nowhere
        if size and not (start >= 0 and start + (size - 1) * stride < n):
            legal = False
    if 0 in sizes:
        run.stopped = run.stopped or not legal
        return sizes, tuple(slice(0, 0) if s == 0 else slice(0, s) for s in sizes)
    if not legal:
        run.fail()
        return sizes, None
    return sizes, tuple(
        slice(o, o + (s - 1) * t + 1, t) for o, s, t in zip(offsets, sizes, strides, strict=True)
    )


@kind("slice", _slice_text)
def _slice(op: Op, run: Run) -> list[Any]:
    array = run.values[op.operands[0]]
    sizes, window = _window(op, run, array.shape)
    if 0 in sizes:
        made = filled(tuple(sizes), ANY)
    else:
        made = filled(tuple(sizes), BAD) if window is None else array[window].copy()
    return [made.reshape([n for n, kept in zip(sizes, op.more["kept"], strict=True) if kept])]


def _insert_slice_text(op: Op) -> list[str]:
    source, into = op.operands
    return [
        f"tensor.insert_slice {source} into {into}{_ranges(op)} : {source.type} into {into.type}"
    ]


@kind("insert_slice", _insert_slice_text)
def _insert_slice(op: Op, run: Run) -> list[Any]:
    source, made = run.values[op.operands[0]], run.values[op.operands[1]].copy()
    sizes, window = _window(op, run, made.shape)
    if [n for n, kept in zip(sizes, op.more["kept"], strict=True) if kept] != list(source.shape):
        raise StopError
    if window is None:
        made[...] = BAD
    elif 0 not in sizes:
        made[window] = source.reshape(sizes)
    return [made]


def _pad_text(op: Op) -> list[str]:
    source, more = op.operands[0], op.more
    head = f"tensor.pad {source} low[{listing(more['low'])}] high[{listing(more['high'])}] {{"
    end = f"}} : {source.type} to {op.results[0].type}"
    return [head, *body(op.regions[0], "tensor.yield"), end]


@kind("pad", _pad_text)
def _pad(op: Op, run: Run) -> list[Any]:
    array = run.values[op.operands[0]]
    low = [run.extent(n) for n in op.more["low"]]
    high = [run.extent(n) for n in op.more["high"]]
    made = filled(tuple(a + n + b for a, n, b in zip(low, array.shape, high, strict=True)), ANY)
    for place in np.ndindex(made.shape):
        made[place] = run.block(op.regions[0], list(place))[0]
    made[tuple(slice(a, a + n) for a, n in zip(low, array.shape, strict=True))] = array
    return [made]


@kind(
    "concat",
    lambda op: [
        f"tensor.concat dim({op.more['dim']}) {listing(op.operands)} : "
        f"({types(op.operands)}) -> {op.results[0].type}"
    ],
)
def _concat(op: Op, run: Run) -> list[Any]:
    arrays, dim = [run.values[v] for v in op.operands], op.more["dim"]
    for array in arrays[1:]:
        pairs = enumerate(zip(array.shape, arrays[0].shape, strict=True))
        if any(n != m for axis, (n, m) in pairs if axis != dim):
            raise StopError
    made = np.concatenate(arrays, axis=dim)
    if not fits(made, op.results[0].type):
        raise StopError
    return [made]


# Shapes -----------------------------------------------------------------------------------------


def _reshape_text(op: Op) -> list[str]:
    return [
        f"tensor.reshape {op.operands[0]}({op.operands[1]}) : "
        f"({types(op.operands)}) -> {op.results[0].type}"
    ]


@kind("reshape", _reshape_text)
def _reshape(op: Op, run: Run) -> list[Any]:
    array, shape = (run.values[v] for v in op.operands)
    for n in shape:
        if n is ANY:
            run.integer(_unknown(run))
    return _reshaped(array, [run.extent(n) if isinstance(n, int) else _raise() for n in shape], op)


def _raise() -> int:
    raise StopError


def _reshaped(array: np.ndarray, shape: list[int], op: Op) -> list[Any]:
    if int(np.prod(shape, dtype=object)) != array.size:
        raise StopError
    made = array.reshape(shape)
    if not fits(made, op.results[0].type):
        raise StopError
    return [made]


def _groups(op: Op) -> str:
    return ", ".join(f"[{', '.join(map(str, group))}]" for group in op.more["groups"])


def _expand_text(op: Op) -> list[str]:
    source = op.operands[0]
    return [
        f"tensor.expand_shape {source} [{_groups(op)}] "
        f"output_shape [{listing(op.more['shape'])}] : {source.type} into {op.results[0].type}"
    ]


@kind("expand", _expand_text)
def _expand(op: Op, run: Run) -> list[Any]:
    array, shape = run.values[op.operands[0]], [run.extent(n) for n in op.more["shape"]]
    for n, group in zip(array.shape, op.more["groups"], strict=True):
        if int(np.prod([shape[d] for d in group], dtype=object)) != n:
            raise StopError
    return _reshaped(array, shape, op)


def _collapse_text(op: Op) -> list[str]:
    source = op.operands[0]
    return [
        f"tensor.collapse_shape {source} [{_groups(op)}] : {source.type} into {op.results[0].type}"
    ]


@kind("collapse", _collapse_text)
def _collapse(op: Op, run: Run) -> list[Any]:
    array = run.values[op.operands[0]]
    shape = [int(np.prod([array.shape[d] for d in g], dtype=object)) for g in op.more["groups"]]
    return _reshaped(array, shape, op)


def _pack_text(op: Op) -> list[str]:
    source, into = op.operands[:2]
    dims, tiles = op.more["dims"], op.more["tiles"]
    padding = f" padding_value({op.operands[2]} : {into.type.dtype})" if op.operands[2:] else ""
    name = op.kind
    return [
        f"linalg.{name} {source}{padding} inner_dims_pos = [{listing(dims)}] "
        f"inner_tiles = [{listing(tiles)}] into {into} : {source.type} -> {into.type}"
    ]


def _packed_places(op: Op, shape: tuple[int, ...]) -> Iterator[tuple[tuple, tuple]]:
    """Places of a packed tensor, each with the one of the tensor that is not."""
    rank = len(shape) - len(op.more["dims"])
    for place in np.ndindex(shape):
        flat = list(place[:rank])
        for dim, tile, inner in zip(op.more["dims"], op.more["tiles"], place[rank:], strict=True):
            flat[dim] = flat[dim] * tile + inner
        yield place, tuple(flat)


@kind("pack", _pack_text)
def _pack(op: Op, run: Run) -> list[Any]:
    array, into = (run.values[v] for v in op.operands[:2])
    made = filled(into.shape, run.values[op.operands[2]] if op.operands[2:] else ANY)
    tiles = dict(zip(op.more["dims"], op.more["tiles"], strict=True))
    for dim, n in enumerate(array.shape):
        tile = tiles.get(dim, 1)
        if into.shape[dim] < -(-n // tile) or (n % tile and not op.operands[2:]):
            raise StopError
        if into.shape[dim] > -(-n // tile):
            run.stopped = True  # more than it takes: allowed or not
            if not op.operands[2:] or dim not in tiles:
                run.integer(_unknown(run))
    for place, flat in _packed_places(op, made.shape):
        if all(i < n for i, n in zip(flat, array.shape, strict=True)):
            made[place] = array[flat]
    return [made]


def _unknown(run: Run) -> Value:
    value = Value("unknown", "index")
    run.values[value] = ANY
    return value


@kind("unpack", _pack_text)
def _unpack(op: Op, run: Run) -> list[Any]:
    array, into = (run.values[v] for v in op.operands[:2])
    made = filled(into.shape, ANY)
    tiles = dict(zip(op.more["dims"], op.more["tiles"], strict=True))
    for dim, n in enumerate(into.shape):
        tile = tiles.get(dim, 1)
        if n > array.shape[dim] * tile:
            raise StopError
        if n <= (array.shape[dim] - 1) * tile:
            run.stopped = True  # whole tiles are left out: allowed or not
    for place, flat in _packed_places(op, array.shape):
        if all(i < n for i, n in zip(flat, made.shape, strict=True)):
            made[flat] = array[place]
    return [made]


# Loops over elements ----------------------------------------------------------------------------


def _affine(dims: list[int], rank: int) -> str:
    names = ", ".join(f"d{i}" for i in range(rank))
    return f"affine_map<({names}) -> ({', '.join(f'd{i}' for i in dims)})>"


def _generic_text(op: Op) -> list[str]:
    more, split = op.more, op.more["inputs"]
    maps = ", ".join(_affine(dims, len(more["iterators"])) for dims in more["maps"])
    iterators = ", ".join(f'"{name}"' for name in more["iterators"])
    ins, outs = op.operands[:split], op.operands[split:]
    reads = f" ins({listing(ins)} : {types(ins)})" if ins else ""
    return [
        f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}{reads} "
        f"outs({listing(outs)} : {types(outs)}) {{",
        *body(op.regions[0], "linalg.yield"),
        f"}} -> {types(outs) if len(outs) == 1 else f'({types(outs)})'}",
    ]


@kind("generic", _generic_text)
def _generic(op: Op, run: Run) -> list[Any]:
    more, arrays = op.more, [run.values[v] for v in op.operands]
    extents: dict[int, int] = {}
    for dims, array in zip(more["maps"], arrays, strict=True):
        for dim, n in zip(dims, array.shape, strict=True):
            if extents.setdefault(dim, n) != n:
                raise StopError
    made = [array.copy() for array in arrays[more["inputs"] :]]
    outs = more["maps"][more["inputs"] :]
    for point in itertools.product(*(range(extents[d]) for d in range(len(more["iterators"])))):
        run.point = point
        current = [*arrays[: more["inputs"]], *made]
        values = [
            a[tuple(point[d] for d in dims)] for a, dims in zip(current, more["maps"], strict=True)
        ]
        for array, dims, value in zip(made, outs, run.block(op.regions[0], values), strict=True):
            array[tuple(point[d] for d in dims)] = value
    return made


def _named_text(op: Op) -> list[str]:
    *ins, out = op.operands
    more = f" {op.more['attributes']}" if op.more.get("attributes") else ""
    result = f" -> {out.type}" if op.kind in ("matmul", "fill") else ""
    return [
        f"linalg.{op.kind} ins({listing(ins)} : {types(ins)}) outs({out} : {out.type}){more}{result}"
    ]


@kind("fill", _named_text)
def _fill(op: Op, run: Run) -> list[Any]:
    return [filled(run.values[op.operands[1]].shape, run.values[op.operands[0]])]


@kind("transpose", _named_text)
def _transpose(op: Op, run: Run) -> list[Any]:
    made = run.values[op.operands[0]].transpose(op.more["order"])
    if made.shape != run.values[op.operands[1]].shape:
        raise StopError
    return [made.copy()]


@kind("broadcast", _named_text)
def _broadcast(op: Op, run: Run) -> list[Any]:
    array, into = (run.values[v] for v in op.operands)
    left = tuple(n for axis, n in enumerate(into.shape) if axis not in op.more["dims"])
    if left != array.shape:
        raise StopError
    return [np.broadcast_to(np.expand_dims(array, tuple(op.more["dims"])), into.shape).copy()]


@kind("matmul", _named_text)
def _matmul(op: Op, run: Run) -> list[Any]:
    a, b, c = (run.values[v] for v in op.operands)
    of = op.results[0].type.dtype
    if (a.shape[0], b.shape[1]) != c.shape or a.shape[1] != b.shape[0]:
        raise StopError
    made = c.copy()
    times, plus = ("muli", "addi") if of[0] == "i" else ("mulf", "addf")
    for i, j in np.ndindex(made.shape):
        for k in range(a.shape[1]):
            product = apply(times, [a[i, k], b[k, j]], of, "", of)
            made[i, j] = apply(plus, [made[i, j], product], of, "", of)
    return [made]


# Control flow -----------------------------------------------------------------------------------


def _braces(first: str, op: Op, *, head: bool = False) -> list[str]:
    return [first, *body(op.regions[0], "scf.yield", head=head)]


def _for_text(op: Op) -> list[str]:
    low, high, step, *initial = op.operands
    index, *carried = op.regions[0].arguments
    pairs = ", ".join(f"{a} = {b}" for a, b in zip(carried, initial, strict=True))
    first = (
        f"scf.for {index} = {low} to {high} step {step} iter_args({pairs}) -> ({types(initial)}) {{"
    )
    return [*_braces(first, op), "}"]


@kind("for", _for_text)
def _for(op: Op, run: Run) -> list[Any]:
    low, high, step = (run.integer(v) for v in op.operands[:3])
    carried = [run.values[v] for v in op.operands[3:]]
    for index in range(low, high, step):
        carried = run.block(op.regions[0], [index, *carried])
    return carried


def _if_text(op: Op) -> list[str]:
    then, other = op.regions
    first = f"scf.if {op.operands[0]} -> ({types(op.results)}) {{"
    return [first, *body(then, "scf.yield"), "} else {", *body(other, "scf.yield"), "}"]


@kind("if", _if_text)
def _if(op: Op, run: Run) -> list[Any]:
    return run.block(op.regions[0 if run.integer(op.operands[0]) else 1], [])


def _while_text(op: Op) -> list[str]:
    before, after = op.regions
    pairs = ", ".join(f"{a} = {b}" for a, b in zip(before.arguments, op.operands, strict=True))
    condition, *handed = before.yields
    listed = types(op.operands)
    return [
        f"scf.while ({pairs}) : ({listed}) -> ({listed}) {{",
        *lines(before, "  "),
        f"  scf.condition({condition}) {listing(handed)} : {types(handed)}",
        "} do {",
        *body(after, "scf.yield"),
        "}",
    ]


@kind("while", _while_text)
def _while(op: Op, run: Run) -> list[Any]:
    carried = [run.values[v] for v in op.operands]
    while True:
        _, *handed = run.block(op.regions[0], carried)
        if not run.integer(op.regions[0].yields[0]):
            return handed
        carried = run.block(op.regions[1], handed)
