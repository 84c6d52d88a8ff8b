"""Linalg ops on tensors with PyTorch's shapes and types."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ...errors import UnsupportedError
from ..precision import HIGHEST, Precision
from . import dtypes

Body = Callable[..., Any]
PARALLEL, REDUCTION = "#linalg.iterator_type<parallel>", "#linalg.iterator_type<reduction>"


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A value and what PyTorch knows of it. shape: numbers, and ``torch.SymInt`` where an extent
    is open. narrow: what it was expanded of."""

    value: Any
    shape: tuple[Any, ...]
    dtype: Any
    narrow: Tensor | None = None

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.shape)


class Builder:
    """Makes ops at the insertion point of the current context."""

    def __init__(self, extent_of: Callable[[Any], Any], precision: Precision = HIGHEST):
        """extent_of: makes an index of a ``torch.SymInt``. precision: of products and convolutions
        of f32."""
        self._extent_of = extent_of
        self.precision = precision
        self._iterators = {k: ir.Attribute.parse(k) for k in (PARALLEL, REDUCTION)}

    # ---- extents

    @staticmethod
    def index(number: int) -> Any:
        """A constant of type index."""
        return arith.ConstantOp(ir.IndexType.get(), number).result

    @staticmethod
    def position(dim: int) -> Any:
        """In a body: the index along a dim."""
        return linalg.IndexOp(dim).result

    def extent(self, size: Any) -> Any:
        """A number or a SymInt as an index."""
        return self.index(size) if isinstance(size, int) else self._extent_of(size)

    def type_of(self, shape: Sequence[Any], dtype: Any) -> Any:
        """The tensor type."""
        sizes = [n if isinstance(n, int) else ir.ShapedType.get_dynamic_size() for n in shape]
        return ir.RankedTensorType.get(sizes, dtypes.element_type(dtype))

    def empty(self, shape: Sequence[Any], dtype: Any) -> Any:
        """A tensor whose elements are yet to be written."""
        sizes = [n if isinstance(n, int) else self.extent(n) for n in shape]
        return tensor.EmptyOp(sizes, dtypes.element_type(dtype)).result

    def full(self, shape: Sequence[Any], dtype: Any, number: Any) -> Tensor:
        """The same number everywhere."""
        made = linalg.fill(dtypes.constant(number, dtype), outs=[self.empty(shape, dtype)])
        return Tensor(made, tuple(shape), dtype)

    # ---- linalg.generic

    def generic(
        self,
        inputs: Sequence[tuple[Any, Any]],
        outputs: Sequence[tuple[Any, Any]],
        reductions: Sequence[int],
        body: Body,
    ) -> list[Any]:
        """``linalg.generic`` of (value, map) pairs; ``body`` gets the scalars of inputs and
        outputs, and returns those to store."""  # fmt: skip
        maps = [m for _, m in (*inputs, *outputs)]
        kinds = [
            self._iterators[REDUCTION if d in reductions else PARALLEL]
            for d in range(maps[-1].n_dims)
        ]
        op = linalg.GenericOp(
            [v.type for v, _ in outputs], [v for v, _ in inputs], [v for v, _ in outputs],
            ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]), ir.ArrayAttr.get(kinds),
        )  # fmt: skip
        elements = [
            ir.RankedTensorType(v.type).element_type if isinstance(v.type, ir.RankedTensorType)
            else v.type for v, _ in (*inputs, *outputs)
        ]  # fmt: skip
        block = op.regions[0].blocks.append(*elements)
        with ir.InsertionPoint(block):
            made = body(*block.arguments)
            linalg.YieldOp(list(made) if isinstance(made, (list, tuple)) else [made])
        return list(op.results)

    def map(self, inputs: Sequence[Tensor], shape: Sequence[Any], dtype: Any, body: Body) -> Tensor:
        """Element by element, inputs broadcast to ``shape``."""
        out = self.empty(shape, dtype)
        pairs = [(t.value, broadcast_map(t.shape, shape)) for t in inputs]
        outs = [(out, ir.AffineMap.get_identity(len(shape)))]
        made = self.generic(pairs, outs, (), lambda *s: body(*s[:-1]))
        return Tensor(made[0], tuple(shape), dtype)

    def cast(self, x: Tensor, dtype: Any) -> Tensor:
        """Elements of another type."""
        if x.dtype == dtype:
            return x
        return self.map([x], x.shape, dtype, lambda v: dtypes.convert(v, x.dtype, dtype))

    def reduce(
        self,
        inputs: Sequence[Tensor],
        dims: Sequence[int],
        starts: Sequence[tuple[Any, Any]],
        body: Body,
    ) -> list[Tensor]:
        """Folds dims of inputs of one shape. starts: (number, dtype) of each accumulator. ``body``
        gets the elements, then the accumulators."""  # fmt: skip
        shape = inputs[0].shape
        kept = [d for d in range(len(shape)) if d not in dims]
        left = tuple(shape[d] for d in kept)
        outs = [(self.full(left, kind, number).value, projection(len(shape), kept))
                for number, kind in starts]  # fmt: skip
        identity = ir.AffineMap.get_identity(len(shape))
        made = self.generic([(t.value, identity) for t in inputs], outs, list(dims), body)
        return [Tensor(v, left, kind) for v, (_, kind) in zip(made, starts, strict=True)]

    # ---- shapes

    def permute(self, x: Tensor, dims: Sequence[int]) -> Tensor:
        """``torch.permute``."""
        if list(dims) == list(range(x.rank)):
            return x
        shape = tuple(x.shape[d] for d in dims)
        place = [list(dims).index(d) for d in range(x.rank)]
        out = [(self.empty(shape, x.dtype), ir.AffineMap.get_identity(x.rank))]
        made = self.generic([(x.value, projection(x.rank, place))], out, (), lambda v, _: v)
        return Tensor(made[0], shape, x.dtype)

    def expand(self, x: Tensor, shape: Sequence[Any]) -> Tensor:
        """Broadcast to ``shape``."""
        if same_shape(x.shape, shape):
            return x
        made = self.map([x], shape, x.dtype, lambda v: v)
        return dataclasses.replace(made, narrow=x)

    def slice(self, x: Tensor, dim: int, start: Any, size: Any, step: int = 1) -> Tensor:
        """``size`` elements of a dim from ``start`` on."""
        shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
        if same_shape(shape, x.shape) and start == 0 and step == 1:
            return x
        offsets: list[Any] = [0] * x.rank
        offsets[dim] = start
        steps = [1] * x.rank
        steps[dim] = step
        return self.slices(x, offsets, shape, steps)

    def slices(
        self, x: Tensor, offsets: Sequence[Any], shape: Sequence[Any], steps: Sequence[int]
    ) -> Tensor:
        """A box of the tensor; offsets: numbers, SymInts or indices."""
        if is_empty(shape):
            return self.full(shape, x.dtype, 0)
        made = tensor.ExtractSliceOp(
            self.type_of(shape, x.dtype), x.value,
            *self._mixed_values(offsets, shape, steps),
        )  # fmt: skip
        return Tensor(made.result, tuple(shape), x.dtype)

    def insert(
        self, x: Tensor, into: Tensor, offsets: Sequence[Any], steps: Sequence[int]
    ) -> Tensor:
        """``into`` with a box of it replaced."""
        if is_empty(x.shape):
            return into
        made = tensor.InsertSliceOp(
            x.value, into.value, *self._mixed_values(offsets, x.shape, steps)
        )
        return Tensor(made.result, into.shape, into.dtype)

    def _mixed_values(self, *lists: Sequence[Any]) -> list[Any]:
        """Operands and constants of offsets, sizes and strides."""
        operands: list[Any] = []
        constants = []
        dynamic = ir.ShapedType.get_dynamic_size()
        for given in lists:
            operands.append([
                n if isinstance(n, ir.Value) else self.extent(n)
                for n in given if not isinstance(n, int)
            ])  # fmt: skip
            numbers = [n if isinstance(n, int) else dynamic for n in given]
            constants.append(ir.DenseI64ArrayAttr.get(numbers))
        return [*operands, *constants]

    def reshape(self, x: Tensor, shape: Sequence[Any]) -> Tensor:
        """``torch.reshape``, by groups of dims with the same number of elements."""
        if same_shape(x.shape, shape):
            return x
        groups = _groups(x.shape, shape)
        if groups is None:
            return self._reshape_whole(x, shape)
        collapsed = tuple(_product([x.shape[d] for d in old]) for old, _ in groups)
        value = x.value
        if len(collapsed) != x.rank or not groups:
            value = tensor.CollapseShapeOp(
                self.type_of(collapsed, x.dtype), value, _reassociation(old for old, _ in groups)
            ).result
        if len(collapsed) != len(shape) or not groups:
            sizes = [n if isinstance(n, int) else ir.ShapedType.get_dynamic_size() for n in shape]
            value = tensor.ExpandShapeOp(
                self.type_of(shape, x.dtype), value, _reassociation(new for _, new in groups),
                [self.extent(n) for n in shape if not isinstance(n, int)],
                ir.DenseI64ArrayAttr.get(sizes),
            ).result  # fmt: skip
        return Tensor(value, tuple(shape), x.dtype)

    def _reshape_whole(self, x: Tensor, shape: Sequence[Any]) -> Tensor:
        sizes = tensor.FromElementsOp(
            ir.RankedTensorType.get([len(shape)], ir.IndexType.get()),
            [self.extent(n) for n in shape],
        ).result
        made = tensor.ReshapeOp(self.type_of(shape, x.dtype), x.value, sizes)
        return Tensor(made.result, tuple(shape), x.dtype)

    def pad(
        self,
        x: Tensor,
        low: Sequence[int],
        high: Sequence[int],
        number: Any,
        shape: Sequence[Any] | None = None,
    ) -> Tensor:
        """More elements at the ends of dims, or less where a count is negative."""  # fmt: skip
        if any(n < 0 for n in (*low, *high)):
            starts = [max(0, -n) for n in low]
            sizes = [n - max(0, -a) - max(0, -z)
                     for n, a, z in zip(x.shape, low, high, strict=True)]  # fmt: skip
            x = self.slices(x, starts, sizes, [1] * x.rank)
            low, high = [max(0, n) for n in low], [max(0, n) for n in high]
        if not any(low) and not any(high):
            return x
        if shape is None:
            shape = [n + a + z for n, a, z in zip(x.shape, low, high, strict=True)]
        op = tensor.PadOp(
            self.type_of(shape, x.dtype), x.value, [], [], ir.DenseI64ArrayAttr.get(list(low)),
            ir.DenseI64ArrayAttr.get(list(high)),
        )  # fmt: skip
        block = op.regions[0].blocks.append(*[ir.IndexType.get()] * x.rank)
        with ir.InsertionPoint(block):
            tensor.YieldOp(dtypes.constant(number, x.dtype))
        return Tensor(op.result, tuple(shape), x.dtype)

    def beside(self, first: Tensor, second: Tensor) -> Tensor:
        """``torch.stack`` of two tensors along a new last dim, as one loop that chooses."""
        shape = (*first.shape, 2)
        parts = [self.reshape(part, (*part.shape, 1)) for part in (first, second)]

        def body(x: Any, y: Any) -> Any:
            is_first = arith.cmpi(
                arith.CmpIPredicate.eq, self.position(len(shape) - 1), self.index(0)
            )
            return arith.select(is_first, x, y)

        return self.map(parts, shape, first.dtype, body)

    # ---- products

    def contract(
        self, dims: str, left: Tensor, right: Tensor, dtype: Any, sums: Any, scale: Any = None
    ) -> Tensor:
        """``torch.einsum`` of two tensors. sums: the type that products are added up in."""
        first, second, result = dims.replace("->", ",").split(",")
        letters = list(dict.fromkeys(result + first + second))
        sizes = {**dict(zip(first, left.shape, strict=True)),
                 **dict(zip(second, right.shape, strict=True))}  # fmt: skip
        maps = [projection(len(letters), [letters.index(c) for c in word])
                for word in (first, second, result)]  # fmt: skip
        shape = tuple(sizes[c] for c in result)
        reductions = [i for i, c in enumerate(letters) if c not in result]

        left, right, body = self.product(left, right, sums, self.precision.products)
        pairs = [(left.value, maps[0]), (right.value, maps[1])]
        zeros = self.full(shape, sums, 0).value
        made = self.generic(pairs, [(zeros, maps[2])], reductions, body)[0]
        return self.cast(Tensor(made, shape, sums), dtype)

    def product(
        self, left: Tensor, right: Tensor, sums: Any, precision: str
    ) -> tuple[Tensor, Tensor, Body]:
        """Two operands, and the body that adds the product of their elements to a sum of the type
        ``sums``. With less than the highest ``precision``, elements of f32 are rounded to bf16
        (medium) in memory, or to TF32 (high) where they are multiplied."""
        import torch

        is_f32 = {left.dtype, right.dtype, sums} == {torch.float32}
        if is_f32 and precision == "medium":
            left, right = self.cast(left, torch.bfloat16), self.cast(right, torch.bfloat16)
        is_rounded = is_f32 and precision == "high"

        def factor(x: Any, dtype: Any) -> Any:
            return dtypes.rounded_to_tf32(x) if is_rounded else dtypes.convert(x, dtype, sums)

        def body(x: Any, y: Any, total: Any) -> Any:
            x, y = factor(x, left.dtype), factor(y, right.dtype)
            if dtypes.is_float(sums):
                return arith.addf(total, arith.mulf(x, y))
            return arith.addi(total, arith.muli(x, y))

        return left, right, body


def projection(dims: int, kept: Sequence[int]) -> Any:
    """The map from ``dims`` dims to some of them."""
    return ir.AffineMap.get(dims, 0, [ir.AffineDimExpr.get(d) for d in kept])


def broadcast_map(shape: Sequence[Any], result: Sequence[Any]) -> Any:
    """Where the elements of a broadcast tensor are."""
    shift = len(result) - len(shape)
    exprs = []
    for d, n in enumerate(shape):
        is_repeated = is_one(n) and not is_one(result[d + shift])
        exprs.append(ir.AffineConstantExpr.get(0) if is_repeated
                     else ir.AffineDimExpr.get(d + shift))  # fmt: skip
    return ir.AffineMap.get(len(result), 0, exprs)


def is_one(size: Any) -> bool:
    """Whether an extent is known to be 1: PyTorch's open extents are not."""
    return isinstance(size, int) and size == 1


def is_empty(shape: Sequence[Any]) -> bool:
    """Whether an extent is known to be 0."""
    return any(isinstance(n, int) and n == 0 for n in shape)


def same_size(a: Any, b: Any) -> bool:
    """Whether two extents are known to be equal."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return not isinstance(a, int) and not isinstance(b, int) and str(a) == str(b)


def same_shape(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two shapes are known to be equal."""
    return len(a) == len(b) and all(map(same_size, a, b))


def _product(sizes: Sequence[Any]) -> Any:
    made: Any = 1
    for size in sizes:
        made = size if is_one(made) else made if is_one(size) else made * size
    return made


def _reassociation(groups: Any) -> Any:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([
        ir.ArrayAttr.get([ir.IntegerAttr.get(i64, d) for d in group]) for group in groups
    ])  # fmt: skip


def _groups(old: Sequence[Any], new: Sequence[Any]) -> list[tuple[list[int], list[int]]] | None:
    """Dims of both shapes that have the same elements, in order; None where they cannot be told
    apart (an extent of 0, or open ones that are products of others)."""
    if is_empty(old) or is_empty(new):
        return None
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        first, second = [i], [j]
        a, b = old[i], new[j]
        i, j = i + 1, j + 1
        while not same_size(a, b):
            if _is_less(a, b):
                if i == len(old):
                    return None
                a, first, i = _product([a, old[i]]), [*first, i], i + 1
            elif _is_less(b, a):
                if j == len(new):
                    return None
                b, second, j = _product([b, new[j]]), [*second, j], j + 1
            else:
                return None
        groups.append((first, second))
    if groups:
        groups[-1][0].extend(range(i, len(old)))
        groups[-1][1].extend(range(j, len(new)))
        left = [*(old[d] for d in range(i, len(old))), *(new[d] for d in range(j, len(new)))]
        if not all(map(is_one, left)):
            return None
    elif not all(map(is_one, [*old, *new])):
        return None
    return groups


def _is_less(a: Any, b: Any) -> bool:
    """Whether more dims of the side of ``a`` are needed to have as many elements as ``b``."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    if isinstance(a, int) != isinstance(b, int):
        return isinstance(a, int)
    names_a, names_b = (set(map(str, n.node.expr.free_symbols)) for n in (a, b))
    if names_a != names_b:
        return names_a < names_b
    ratio = b.node.expr / a.node.expr
    return bool(ratio.is_number and ratio > 1)


def refuse(what: str) -> None:
    """Raises the UnsupportedError of an operation."""
    raise UnsupportedError(what)
