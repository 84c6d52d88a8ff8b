"""Operations that write at places that are data, or count them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith, cf

from ...errors import UnsupportedError
from . import dtypes, reductions
from .builder import Builder, Tensor, is_empty, projection, refuse, same_shape
from .indexing import place_of
from .orders import Meta
from .pointwise import choose, computed_in
from .registry import Call, axis, lowers
from .scans import scan

Scalar = Any


def _count(sizes: Sequence[Any]) -> Any:
    made: Any = 1
    for n in sizes:
        made = n if isinstance(made, int) and made == 1 else made * n
    return made


def _scatter(
    c: Call, into: Tensor, updates: Tensor, places: Tensor, combine: Callable[..., Scalar]
) -> Tensor:
    """``into`` with updates (n x slice) at places (n x depth) of its first dims."""
    op = ir.Operation.create(
        "tm_tensor.scatter", results=[into.value.type],
        operands=[updates.value, places.value, into.value], regions=1,
        attributes={
            "dimension_map": ir.DenseI64ArrayAttr.get(list(range(places.shape[1]))),
            "unique_indices": ir.BoolAttr.get(False),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([2, 1]),
        },
    )  # fmt: skip
    element = dtypes.element_type(into.dtype)
    block = op.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        ir.Operation.create("tm_tensor.yield", operands=[combine(*block.arguments)])
    return Tensor(op.results[0], into.shape, into.dtype)


def _accumulating(dtype: Any, of_floats: Any, of_integers: Any) -> Callable[..., Scalar]:
    """An op that combines elements, in the type that PyTorch accumulates in."""

    def combine(new: Scalar, old: Scalar) -> Scalar:
        inner = computed_in(dtype)
        new, old = dtypes.convert(new, dtype, inner), dtypes.convert(old, dtype, inner)
        made = of_floats(old, new) if inner.is_floating_point else of_integers(old, new)
        return dtypes.convert(made, inner, dtype)

    return combine


def _sum(dtype: Any) -> Callable[..., Scalar]:
    return _accumulating(dtype, arith.addf, arith.addi)


def _written(new: Scalar, old: Scalar) -> Scalar:
    return new


def _table(c: Call, shape: Sequence[Any], columns: Sequence[Any]) -> Tensor:
    """A place (n x depth) for each element of a shape. columns: index tensors of the shape with
    the extent of their dim, or dims whose own position it is."""
    b, depth, rank = c.b, len(columns), len(shape)
    tensors = [column[0] for column in columns if not isinstance(column, int)]
    i64 = ir.IntegerType.get_signless(64)
    maps = [projection(rank + 1, range(rank)) for _ in tensors]
    out = b.empty((*shape, depth), torch.int64)

    def body(*given: Scalar) -> Scalar:
        left = iter(given)
        made = None
        for number, column in enumerate(columns):
            if isinstance(column, int):
                at = Builder.position(column)
            else:
                at = place_of(b, next(left), column[0].dtype, column[1])
            if made is None:
                made = at
                continue
            is_it = arith.cmpi(arith.CmpIPredicate.eq, Builder.position(rank), b.index(number))
            made = arith.select(is_it, at, made)
        return arith.index_cast(i64, made)

    made = b.generic(
        [(t.value, m) for t, m in zip(tensors, maps, strict=True)],
        [(out, ir.AffineMap.get_identity(rank + 1))], (), body,
    )[0]  # fmt: skip
    whole = Tensor(made, (*shape, depth), torch.int64)
    return b.reshape(whole, (_count(shape), depth))


@lowers("index_put.default", "_unsafe_index_put.default", "_index_put_impl.default")
def _index_put(
    c: Call, self: Tensor, indices: Sequence[Tensor | None], values: Tensor,
    accumulate: bool = False, unsafe: bool = False,
) -> Tensor:  # fmt: skip
    given = list(indices) + [None] * (self.rank - len(indices))
    masks = [t for t in given if t is not None and t.dtype == torch.bool]
    if masks:
        return _put_by_mask(c, self, given, values, accumulate)
    b = c.b
    at = [d for d, t in enumerate(given) if t is not None]
    others = [d for d in range(self.rank) if given[d] is None]
    shape = torch.broadcast_shapes(*[tuple(given[d].shape) for d in at])
    first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    before = len([d for d in others if d < first])
    rest = [self.shape[d] for d in others]
    values = b.expand(b.cast(values, c.dtype), (*rest[:before], *shape, *rest[before:]))
    rank = len(shape)
    order = [*range(before, before + rank), *range(before), *range(before + rank, values.rank)]
    updates = b.reshape(b.permute(values, order), (_count(shape), *rest))
    columns = [(b.expand(given[d], shape), self.shape[d]) for d in at]
    turned = [*at, *others]
    into = b.permute(self, turned)
    combine = _sum(c.dtype) if accumulate else _written
    made = _scatter(c, into, updates, _table(c, shape, columns), combine)
    return b.permute(made, [turned.index(d) for d in range(self.rank)])


def _put_by_mask(
    c: Call, x: Tensor, given: Sequence[Tensor | None], values: Tensor, accumulate: bool
) -> Tensor:
    """Where a mask of some neighbouring dims says so: one value for all, or one for each element of
    the mask that is true, in order."""
    b = c.b
    at = [d for d, t in enumerate(given) if t is not None]
    if len(at) != 1:
        refuse("values at places of a mask and other indices")
    mask = given[at[0]]
    assert mask is not None
    lead, rank = at[0], mask.rank
    # Indices that follow a mask of several dims stand for dims further behind.
    rest = x.shape[lead + rank :]
    shaped = b.reshape(mask, (*[1] * lead, *mask.shape, *[1] * len(rest)))
    values = b.cast(values, x.dtype)
    first = values.rank - 1 - len(rest)
    if first < 0 or (isinstance(values.shape[first], int) and values.shape[first] == 1):
        if values.rank and first >= 0:  # the extent 1 stands for the mask's dims
            ones = (*values.shape[:first], *[1] * rank, *values.shape[first + 1 :])
            values = b.reshape(values, ones)
        taken = b.expand(values, x.shape)
    elif lead or (accumulate and x.rank == 0):
        refuse("values for each element of a mask that is not of the first dims")
    else:
        taken = _in_order(c, mask, values, x)
    if accumulate:
        add = _sum(x.dtype)
        taken = b.map([taken, x], x.shape, x.dtype, lambda new, old: add(new, old))
    return choose(c, shaped, taken, x)


def _in_order(c: Call, mask: Tensor, values: Tensor, x: Tensor) -> Tensor:
    """For the nth element of a mask that is true the nth row of values."""
    from mlir.dialects import tensor

    b = c.b
    flat = b.cast(b.reshape(mask, (_count(mask.shape),)), torch.int64)
    number = b.reshape(scan(b, flat, 0, 0, arith.addi), mask.shape)
    wide = b.reshape(number, (*mask.shape, *[1] * (x.rank - mask.rank)))

    def body(n: Scalar) -> Scalar:
        n = arith.subi(n, dtypes.constant(1, torch.int64))
        n = arith.maxsi(n, dtypes.constant(0, torch.int64))
        at = arith.index_cast(ir.IndexType.get(), n)
        # Behind the last true element there is none to read.
        last = arith.subi(b.extent(values.shape[0]), b.index(1))
        places = [Builder.position(d) for d in range(mask.rank, x.rank)]
        return tensor.extract(values.value, [arith.minsi(at, last), *places])

    return b.map([wide], x.shape, x.dtype, body)


# Updates of a row up to which every element of the row looks for those that are its own: that is a
# map, which becomes part of other kernels, and rows are independent of each other.
FEW_UPDATES = 16


def _inside(c: Call, index: Tensor, dim: int, extent: Any) -> Tensor:
    """Positions as numbers from 0 on; one outside of the dim is an error."""
    i64 = ir.IntegerType.get_signless(64)

    def body(at: Scalar) -> Scalar:
        at = place_of(c.b, at, index.dtype, extent)
        is_inside = arith.cmpi(arith.CmpIPredicate.ult, at, c.b.extent(extent))
        cf.AssertOp(is_inside, f"scatter: an index is out of bounds for dim {dim}")
        return arith.index_cast(i64, at)

    return c.b.map([index], index.shape, torch.int64, body)


def _scatter_few(
    c: Call, x: Tensor, dim: int, index: Tensor, src: Any, combine: Callable[..., Scalar]
) -> Tensor:
    """Each element with the updates of its row that are for it, one after another."""
    b = c.b
    index = _inside(c, index, dim, x.shape[dim])
    count = index.shape[dim]
    inputs = [x, *(b.slice(index, dim, j, 1) for j in range(count))]
    is_tensor = isinstance(src, Tensor)
    if is_tensor:
        src = b.cast(b.slices(src, [0] * x.rank, index.shape, [1] * x.rank), c.dtype)
        inputs += [b.slice(src, dim, j, 1) for j in range(count)]

    def body(element: Scalar, *rest: Scalar) -> Scalar:
        own = arith.index_cast(ir.IntegerType.get_signless(64), Builder.position(dim))
        for j in range(count):
            new = rest[count + j] if is_tensor else dtypes.constant(src, c.dtype)
            is_own = arith.cmpi(arith.CmpIPredicate.eq, rest[j], own)
            element = arith.select(is_own, combine(new, element), element)
        return element

    return b.map(inputs, x.shape, c.dtype, body)


def _has_few_updates(x: Tensor, dim: int, index: Tensor) -> bool:
    """Whether every row of x has some, and the same few."""
    count = index.shape[dim]
    return isinstance(count, int) and count <= FEW_UPDATES and all(
        isinstance(n, int) and n == m
        for d, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)) if d != dim
    )  # fmt: skip


def _places_of_slices(x: Tensor, dim: int, index: Tensor) -> Tensor | None:
    """The positions along ``dim``, where an index tensor is those expanded over all other dims."""
    if (narrow := index.narrow) is None:
        return None
    shape = (1,) * (index.rank - narrow.rank) + tuple(narrow.shape)
    others = [d for d in range(x.rank) if d != dim]
    is_one = all(isinstance(shape[d], int) and shape[d] == 1 for d in others)
    return narrow if is_one and same_shape(
        [index.shape[d] for d in others], [x.shape[d] for d in others]
    ) and same_shape(shape[dim:][:1], index.shape[dim:][:1]) else None  # fmt: skip


def _scatter_slices(
    c: Call, x: Tensor, dim: int, places: Tensor, shape: Sequence[Any], src: Any,
    combine: Callable[..., Scalar],
) -> Tensor:  # fmt: skip
    """Whole slices at positions along ``dim``. shape: of the updates."""
    b = c.b
    turned = [dim, *(d for d in range(x.rank) if d != dim)]
    if isinstance(src, Tensor):
        src = b.cast(b.slices(src, [0] * x.rank, shape, [1] * x.rank), c.dtype)
    else:
        src = b.full(shape, c.dtype, src)
    count = shape[dim]
    column = b.reshape(places, (count,)), x.shape[dim]
    made = _scatter(
        c, b.permute(x, turned), b.permute(src, turned), _table(c, (count,), [column]), combine
    )
    return b.reshape(b.permute(made, [turned.index(d) for d in range(x.rank)]), c.shape)


def _scatter_along(
    c: Call, x: Tensor, dim: int, index: Tensor, src: Any, combine: Callable[..., Scalar]
) -> Tensor:
    b, dim = c.b, axis(dim, x.rank)
    if is_empty(index.shape) or is_empty(x.shape):
        return x
    if x.rank and _has_few_updates(x, dim, index):
        return _scatter_few(c, x, dim, index, src, combine)
    if x.rank and (places := _places_of_slices(x, dim, index)) is not None:
        return _scatter_slices(c, x, dim, places, index.shape, src, combine)
    if x.rank == 0:
        x, index = b.reshape(x, (1,)), b.reshape(index, (1,))
        src = b.reshape(src, (1,)) if isinstance(src, Tensor) else src
    if isinstance(src, Tensor):
        src = b.slices(src, [0] * x.rank, index.shape, [1] * x.rank)
        updates = b.cast(src, c.dtype)
    else:
        updates = b.full(index.shape, c.dtype, src)
    columns: list[Any] = list(range(x.rank))
    columns[dim] = (index, x.shape[dim])
    updates = b.reshape(updates, (_count(index.shape),))
    made = _scatter(c, x, updates, _table(c, index.shape, columns), combine)
    return b.reshape(made, c.shape)


def _combined(dtype: Any, kind: str) -> tuple[Callable[..., Scalar], Any]:
    """How elements are combined, and what changes none."""
    if kind in ("sum", "add", "mean"):
        return _sum(dtype), 0
    if kind in ("prod", "multiply"):
        return _accumulating(dtype, arith.mulf, arith.muli), 1
    if kind == "amax":
        larger = reductions.larger(dtype)
        return lambda new, old: larger(old, new), reductions.lowest(dtype)
    if kind == "amin":
        smaller = reductions.smaller(dtype)
        return lambda new, old: smaller(old, new), reductions.highest(dtype)
    raise UnsupportedError(f"the reduction {kind}; expected sum, prod, mean, amax or amin")


@lowers("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce")
def _scatter_src(
    c: Call, self: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None,
    reduce: str = "",
) -> Tensor:  # fmt: skip
    combine = _combined(c.dtype, reduce)[0] if reduce else _written
    return _scatter_along(c, self, dim, index, value if src is None else src, combine)


@lowers("scatter_reduce.two")
def _scatter_reduce(
    c: Call, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    """In the type that PyTorch computes in, rounded once."""
    inner = computed_in(c.dtype)
    wide = Call(c.b, Meta(c.shape, inner))
    combine, nothing = _combined(inner, reduce)
    x = c.b.cast(self, inner)
    if not include_self:
        x = _scatter_along(wide, x, dim, index, nothing, _written)
    made = _scatter_along(wide, x, dim, index, src, combine)
    if reduce == "mean":
        counts = Call(c.b, Meta(c.shape, torch.int64))
        start = c.b.full(c.shape, torch.int64, int(include_self))
        count = _scatter_along(counts, start, dim, index, 1, _sum(torch.int64))

        def divide(total: Scalar, n: Scalar) -> Scalar:
            n = arith.maxsi(n, dtypes.constant(1, torch.int64))
            n = dtypes.convert(n, torch.int64, inner)
            return arith.divf(total, n) if inner.is_floating_point else arith.floordivsi(total, n)

        made = c.b.map([made, count], c.shape, inner, divide)
    return c.b.cast(made, c.dtype)


@lowers("scatter_add.default")
def _scatter_add(c: Call, self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return _scatter_along(c, self, dim, index, src, _sum(c.dtype))


@lowers("histc.default")
def _histc(c: Call, self: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """How many elements are in each of ``bins`` equal parts of [min, max]."""
    if min == max:
        refuse("a histogram between the least and the largest element; expected min < max")
    b, inner = c.b, torch.float32 if self.dtype.itemsize < 8 else torch.float64
    x = b.reshape(self, (_count(self.shape),))
    start = b.full((bins,), c.dtype, 0)

    def body(v: Scalar, total: Scalar) -> Scalar:
        v = dtypes.convert(v, self.dtype, inner)
        low, high = dtypes.constant(min, inner), dtypes.constant(max, inner)
        at = arith.mulf(arith.divf(arith.subf(v, low), arith.subf(high, low)),
                        dtypes.constant(bins, inner))  # fmt: skip
        i64 = ir.IntegerType.get_signless(64)
        part = arith.minsi(arith.fptosi(i64, at), dtypes.constant(bins - 1, torch.int64))
        mine = arith.index_cast(i64, Builder.position(0))
        less, more = arith.CmpFPredicate.OGE, arith.CmpFPredicate.OLE
        inside = arith.andi(arith.cmpf(less, v, low), arith.cmpf(more, v, high))
        counts = arith.andi(inside, arith.cmpi(arith.CmpIPredicate.eq, part, mine))
        one = dtypes.convert(counts, torch.bool, c.dtype)
        add = arith.addf if c.dtype.is_floating_point else arith.addi
        return add(total, one)

    maps = [projection(2, [1]), projection(2, [0])]
    made = b.generic([(x.value, maps[0])], [(start.value, maps[1])], [1], body)[0]
    return Tensor(made, c.shape, c.dtype)


@lowers("transformers.grouped_mm_fallback.default")
def _grouped_mm_of_transformers(c: Call, input: Tensor, weight: Tensor, offs: Tensor) -> Tensor:
    return _grouped_mm(c, input, weight, offs)


@lowers("_grouped_mm.default")
def _grouped_mm(
    c: Call, self: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Any = None,
    out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Rows times the matrix of their group: group g ends before row ``offs[g]``."""
    if self.rank != 2 or mat2.rank != 3 or offs is None or bias is not None:
        refuse("a grouped product other than of rows (2 dims) and matrices (3 dims) with ends")
    assert offs is not None
    b, inner = c.b, computed_in(c.dtype)
    rows = self.shape[0]
    start = b.full((rows,), torch.int64, 0)
    i64 = ir.IntegerType.get_signless(64)

    def count(end: Scalar, total: Scalar) -> Scalar:
        row = arith.index_cast(i64, Builder.position(0))
        end = dtypes.convert(end, offs.dtype, torch.int64)
        passed = arith.cmpi(arith.CmpIPredicate.sle, end, row)
        return arith.addi(total, dtypes.convert(passed, torch.bool, torch.int64))

    maps = [projection(2, [1]), projection(2, [0])]
    group = b.generic([(offs.value, maps[0])], [(start.value, maps[1])], [1], count)[0]
    total = b.full(c.shape, inner, 0)

    def body(x: Scalar, g: Scalar, old: Scalar) -> Scalar:
        from mlir.dialects import tensor

        places = [arith.index_cast(ir.IndexType.get(), g), Builder.position(2), Builder.position(1)]
        w = dtypes.convert(tensor.extract(mat2.value, places), mat2.dtype, inner)
        return arith.addf(old, arith.mulf(dtypes.convert(x, self.dtype, inner), w))

    made = b.generic(
        [(self.value, projection(3, [0, 2])), (group, projection(3, [0]))],
        [(total.value, projection(3, [0, 1]))], [2], body,
    )[0]  # fmt: skip
    return b.cast(Tensor(made, c.shape, inner), c.dtype)
