"""Element-wise operations: a function of scalars each.

Sixteen-bit floats are computed in f32 and rounded once, as PyTorch does.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable, Sequence
from typing import Any

import torch
from mlir.dialects import arith, math

from . import dtypes
from .builder import Builder, Tensor
from .registry import LOWERINGS, Call, lowers

F, I = arith.CmpFPredicate, arith.CmpIPredicate  # noqa: E741
Scalar = Any


def computed_in(dtype: Any) -> Any:
    """The type in which PyTorch computes on elements of a type."""
    return torch.float32 if dtype.is_floating_point and dtype.itemsize < 4 else dtype


def elementwise(
    c: Call, operands: Sequence[Any], inner: Any, body: Callable[..., Scalar], made: Any = None
) -> Tensor:
    """``body`` of the operands (tensors and numbers) in the type ``inner``; what it makes is of
    type ``made``."""
    inner = computed_in(inner)
    made = inner if made is None else made
    tensors = [x for x in operands if isinstance(x, Tensor)]

    def at(*elements: Scalar) -> Scalar:
        values, left = [], iter(elements)
        for x in operands:
            values.append(
                dtypes.convert(next(left), x.dtype, inner)
                if isinstance(x, Tensor)
                else dtypes.constant(x, inner)
            )
        return dtypes.convert(body(*values), made, c.dtype)

    return c.b.map(tensors, c.shape, c.dtype, at)


# ---- one operand


def _reciprocal(x: Scalar) -> Scalar:
    return arith.divf(_like(x, 1.0), x)


def _like(x: Scalar, number: float) -> Scalar:
    from mlir import ir

    return arith.ConstantOp(x.type, ir.FloatAttr.get(x.type, number)).result


def sigmoid(x: Scalar) -> Scalar:
    one = _like(x, 1.0)
    return arith.divf(one, arith.addf(one, math.exp(arith.negf(x))))


def relu(x: Scalar) -> Scalar:
    return arith.maximumf(x, _like(x, 0.0))


def _sign(x: Scalar) -> Scalar:
    zero = _like(x, 0.0)
    signed = math.copysign(_like(x, 1.0), x)
    return arith.select(arith.cmpf(F.ONE, x, zero), signed, zero)


def _frac(x: Scalar) -> Scalar:
    return arith.subf(x, math.trunc(x))


def _silu(x: Scalar) -> Scalar:
    return arith.mulf(x, sigmoid(x))


_UNARY: dict[str, Callable[[Scalar], Scalar]] = {
    "acos": math.acos, "acosh": math.acosh, "asin": math.asin, "asinh": math.asinh,
    "atan": math.atan, "atanh": math.atanh, "ceil": math.ceil, "cos": math.cos, "cosh": math.cosh,
    "erf": math.erf, "erfc": math.erfc, "exp": math.exp, "exp2": math.exp2, "expm1": math.expm1,
    "floor": math.floor, "frac": _frac, "log": math.log, "log10": math.log10, "log1p": math.log1p,
    "log2": math.log2, "reciprocal": _reciprocal, "round": math.roundeven, "rsqrt": math.rsqrt,
    "sigmoid": sigmoid, "silu": _silu, "sin": math.sin, "sinh": math.sinh, "sqrt": math.sqrt,
    "tan": math.tan, "tanh": math.tanh, "trunc": math.trunc,
}  # fmt: skip
_WHOLE = ("ceil", "floor", "round", "trunc")  # of integers they are nothing


def _add_unary(name: str, function: Callable[[Scalar], Scalar]) -> None:
    @lowers(f"{name}.default")
    def lower(c: Call, self: Tensor) -> Tensor:
        if name in _WHOLE and not self.dtype.is_floating_point:
            return self
        return elementwise(c, [self], c.dtype, function)


for _name, _function in _UNARY.items():
    _add_unary(_name, _function)


@lowers("neg.default")
def _neg(c: Call, self: Tensor) -> Tensor:
    if self.dtype.is_floating_point:
        return elementwise(c, [self], c.dtype, arith.negf)
    return elementwise(c, [0, self], c.dtype, arith.subi)


@lowers("abs.default")
def _abs(c: Call, self: Tensor) -> Tensor:
    is_float = self.dtype.is_floating_point
    return elementwise(c, [self], c.dtype, math.absf if is_float else math.absi)


@lowers("relu.default")
def _relu_of_any(c: Call, self: Tensor) -> Tensor:
    return maximum(c, self, 0)


@lowers("sign.default", "sgn.default")
def _sign_of_any(c: Call, self: Tensor) -> Tensor:
    if self.dtype.is_floating_point:
        return elementwise(c, [self], c.dtype, _sign)
    above = elementwise(_as(c, torch.bool), [self, 0], self.dtype,
                        lambda x, y: arith.cmpi(I.sgt, x, y), torch.bool)  # fmt: skip
    below = elementwise(_as(c, torch.bool), [self, 0], self.dtype,
                        lambda x, y: arith.cmpi(I.slt, x, y), torch.bool)  # fmt: skip
    return elementwise(c, [above, below], c.dtype, arith.subi)


class _Value:
    def __init__(self, shape: Any, dtype: Any):
        self.shape, self.dtype = shape, dtype


def _as(c: Call, dtype: Any, shape: Any = None) -> Call:
    return Call(c.b, _Value(c.shape if shape is None else shape, dtype))


@lowers("isnan.default")
def _isnan(c: Call, self: Tensor) -> Tensor:
    if not self.dtype.is_floating_point:
        return c.full(False)
    return elementwise(c, [self], self.dtype, lambda x: arith.cmpf(F.UNO, x, x), torch.bool)


@lowers("isinf.default")
def _isinf(c: Call, self: Tensor) -> Tensor:
    if not self.dtype.is_floating_point:
        return c.full(False)
    return elementwise(
        c, [self], self.dtype,
        lambda x: arith.cmpf(F.OEQ, math.absf(x), _like(x, numbers.inf)), torch.bool,
    )  # fmt: skip


@lowers("logical_not.default")
def _logical_not(c: Call, self: Tensor) -> Tensor:
    return elementwise(c, [self, True], torch.bool, arith.xori, torch.bool)


@lowers("bitwise_not.default")
def _bitwise_not(c: Call, self: Tensor) -> Tensor:
    return elementwise(c, [self, -1], c.dtype, arith.xori)


# ---- two operands


def _arithmetic(of_floats: Any, of_integers: Any) -> Callable[..., Tensor]:
    def lower(c: Call, self: Any, other: Any, alpha: Any = 1) -> Tensor:
        is_float = c.dtype.is_floating_point

        def body(x: Scalar, y: Scalar) -> Scalar:
            if alpha != 1:
                factor = dtypes.constant(alpha, computed_in(c.dtype))
                y = arith.mulf(y, factor) if is_float else arith.muli(y, factor)
            return of_floats(x, y) if is_float else of_integers(x, y)

        return elementwise(c, [self, other], c.dtype, body)

    return lower


def _add_or(x: Scalar, y: Scalar) -> Scalar:
    return arith.ori(x, y) if x.type.width == 1 else arith.addi(x, y)


def _mul_and(x: Scalar, y: Scalar) -> Scalar:
    return arith.andi(x, y) if x.type.width == 1 else arith.muli(x, y)


lowers("add.Tensor", "add.Scalar")(_arithmetic(arith.addf, _add_or))
lowers("sub.Tensor", "sub.Scalar")(_arithmetic(arith.subf, arith.subi))
lowers("mul.Tensor", "mul.Scalar")(_arithmetic(arith.mulf, _mul_and))


@lowers("rsub.Scalar", "rsub.Tensor")
def _rsub(c: Call, self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    return LOWERINGS["aten.sub.Tensor"](c, other, self, alpha)


@lowers("div.Tensor", "div.Scalar")
def _div(c: Call, self: Any, other: Any) -> Tensor:
    return elementwise(c, [self, other], c.dtype, arith.divf)


@lowers("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(c: Call, self: Any, other: Any, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None:
        return _div(c, self, other)
    if c.dtype.is_floating_point:
        rounded = math.floor if rounding_mode == "floor" else math.trunc
        return elementwise(c, [self, other], c.dtype, lambda x, y: rounded(arith.divf(x, y)))
    signed = dtypes.is_signed(c.dtype)
    if not signed:
        return elementwise(c, [self, other], c.dtype, arith.divui)
    divide = arith.floordivsi if rounding_mode == "floor" else arith.divsi
    return elementwise(c, [self, other], c.dtype, divide)


@lowers("floor_divide.default", "floor_divide.Scalar")
def _floor_divide(c: Call, self: Any, other: Any) -> Tensor:
    return _div_mode(c, self, other, "floor")


@lowers("fmod.Tensor", "fmod.Scalar")
def _fmod(c: Call, self: Any, other: Any) -> Tensor:
    is_float = c.dtype.is_floating_point
    body = arith.remf if is_float else arith.remsi if dtypes.is_signed(c.dtype) else arith.remui
    return elementwise(c, [self, other], c.dtype, body)


@lowers("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(c: Call, self: Any, other: Any) -> Tensor:
    """With the sign of the divisor."""
    if not dtypes.is_signed(c.dtype):
        return elementwise(c, [self, other], c.dtype, arith.remui)

    def of_floats(x: Scalar, y: Scalar) -> Scalar:
        zero, left = _like(x, 0.0), arith.remf(x, y)
        differs = arith.xori(arith.cmpf(F.OLT, left, zero), arith.cmpf(F.OLT, y, zero))
        moves = arith.andi(differs, arith.cmpf(F.UNE, left, zero))
        return arith.select(moves, arith.addf(left, y), left)

    def of_integers(x: Scalar, y: Scalar) -> Scalar:
        zero, left = dtypes.constant(0, c.dtype), arith.remsi(x, y)
        differs = arith.xori(arith.cmpi(I.slt, left, zero), arith.cmpi(I.slt, y, zero))
        moves = arith.andi(differs, arith.cmpi(I.ne, left, zero))
        return arith.select(moves, arith.addi(left, y), left)

    body = of_floats if c.dtype.is_floating_point else of_integers
    return elementwise(c, [self, other], c.dtype, body)


@lowers("maximum.default", "clamp_min.default", "clamp_min.Tensor")
def maximum(c: Call, self: Any, other: Any = None, min: Any = None) -> Tensor:
    """The larger one; NaN if one is."""
    signed = arith.maxsi if dtypes.is_signed(c.dtype) else arith.maxui
    body = arith.maximumf if c.dtype.is_floating_point else signed
    return elementwise(c, [self, min if other is None else other], c.dtype, body)


@lowers("minimum.default", "clamp_max.default", "clamp_max.Tensor")
def minimum(c: Call, self: Any, other: Any = None, max: Any = None) -> Tensor:
    """The smaller one; NaN if one is."""
    signed = arith.minsi if dtypes.is_signed(c.dtype) else arith.minui
    body = arith.minimumf if c.dtype.is_floating_point else signed
    return elementwise(c, [self, max if other is None else other], c.dtype, body)


@lowers("clamp.default", "clamp.Tensor")
def _clamp(c: Call, self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    made = self if min is None else maximum(c, self, min)
    return made if max is None else minimum(c, made, max)


@lowers("atan2.default")
def _atan2(c: Call, self: Any, other: Any) -> Tensor:
    return elementwise(c, [self, other], c.dtype, math.atan2)


@lowers("copysign.Tensor", "copysign.Scalar")
def _copysign(c: Call, self: Any, other: Any) -> Tensor:
    return elementwise(c, [self, other], c.dtype, math.copysign)


@lowers("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def _pow(c: Call, self: Any, exponent: Any) -> Tensor:
    if not c.dtype.is_floating_point:
        return elementwise(c, [self, exponent], c.dtype, math.ipowi)
    if exponent == 2 and not isinstance(exponent, Tensor):
        return elementwise(c, [self], c.dtype, lambda x: arith.mulf(x, x))
    return elementwise(c, [self, exponent], c.dtype, math.powf)


def _bits(body: Any) -> Callable[..., Tensor]:
    def lower(c: Call, self: Any, other: Any) -> Tensor:
        return elementwise(c, [self, other], c.dtype, body)

    return lower


for _name, _function in (("and", arith.andi), ("or", arith.ori), ("xor", arith.xori)):
    lowers(*(f"bitwise_{_name}.{kind}" for kind in ("Tensor", "Scalar", "Scalar_Tensor")))(
        _bits(_function)
    )


def _logical(body: Any) -> Callable[..., Tensor]:
    def lower(c: Call, self: Any, other: Any) -> Tensor:
        return elementwise(c, [self, other], torch.bool, body, torch.bool)

    return lower


for _name, _function in (("and", arith.andi), ("or", arith.ori), ("xor", arith.xori)):
    lowers(f"logical_{_name}.default")(_logical(_function))


@lowers(
    "bitwise_left_shift.Tensor",
    "bitwise_left_shift.Tensor_Scalar",
    "__lshift__.Scalar",
    "__lshift__.Tensor",
)
def _shift_left(c: Call, self: Any, other: Any) -> Tensor:
    return elementwise(c, [self, other], c.dtype, arith.shli)


@lowers(
    "bitwise_right_shift.Tensor",
    "bitwise_right_shift.Tensor_Scalar",
    "__rshift__.Scalar",
    "__rshift__.Tensor",
)
def _shift_right(c: Call, self: Any, other: Any) -> Tensor:
    body = arith.shrsi if dtypes.is_signed(c.dtype) else arith.shrui
    return elementwise(c, [self, other], c.dtype, body)


# ---- comparisons and choices

_COMPARED = {
    "eq": (F.OEQ, I.eq, I.eq), "ne": (F.UNE, I.ne, I.ne), "lt": (F.OLT, I.slt, I.ult),
    "le": (F.OLE, I.sle, I.ule), "gt": (F.OGT, I.sgt, I.ugt), "ge": (F.OGE, I.sge, I.uge),
}  # fmt: skip


def common_type(*operands: Any) -> Any:
    """The type that PyTorch compares operands in."""

    def like(x: Any) -> Any:
        return torch.empty((1,) * min(x.rank, 1), dtype=x.dtype, device="meta")

    made = [like(x) if isinstance(x, Tensor) else x for x in operands]
    if not any(isinstance(x, torch.Tensor) for x in made):
        return torch.result_type(torch.empty((), dtype=torch.bool), made[0])
    return torch.result_type(*made)


def _comparison(name: str) -> Callable[..., Tensor]:
    of_floats, signed, unsigned = _COMPARED[name]

    def lower(c: Call, self: Any, other: Any) -> Tensor:
        inner = common_type(self, other)

        def body(x: Scalar, y: Scalar) -> Scalar:
            if inner.is_floating_point:
                return arith.cmpf(of_floats, x, y)
            return arith.cmpi(signed if dtypes.is_signed(inner) else unsigned, x, y)

        return elementwise(c, [self, other], inner, body, torch.bool)

    return lower


for _name in _COMPARED:
    lowers(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_name))


def choose(c: Call, condition: Tensor, yes: Any, no: Any) -> Tensor:
    """``torch.where``, of tensors and numbers."""
    tensors = [x for x in (yes, no) if isinstance(x, Tensor)]

    def body(is_first: Scalar, *elements: Scalar) -> Scalar:
        left = iter(elements)
        values = [
            dtypes.convert(next(left), x.dtype, c.dtype) if isinstance(x, Tensor)
            else dtypes.constant(x, c.dtype) for x in (yes, no)
        ]  # fmt: skip
        return arith.select(dtypes.convert(is_first, condition.dtype, torch.bool), *values)

    return c.b.map([condition, *tensors], c.shape, c.dtype, body)


@lowers("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(c: Call, condition: Tensor, self: Any, other: Any) -> Tensor:
    return choose(c, condition, self, other)


@lowers("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(c: Call, self: Tensor, mask: Tensor, value: Any) -> Tensor:
    return choose(c, mask, value, self)


# ---- types and numbers


@lowers("_to_copy.default", "clone.default", "alias.default", "detach.default", "detach_.default",
        "lift_fresh_copy.default", "contiguous.default", "to.dtype", "copy.default",
        "prims.convert_element_type.default")  # fmt: skip
def _to(
    c: Call, self: Tensor | None = None, src: Tensor | None = None, a: Tensor | None = None,
    **_: Any,
) -> Tensor:  # fmt: skip
    x = next(t for t in (src, self, a) if t is not None)
    if not isinstance(x, Tensor):  # a number that a transformation of functions took for a tensor
        return c.full(x)
    return c.b.expand(c.b.cast(x, c.dtype), c.shape)


@lowers("full.default", "full_like.default", "new_full.default", "fill.Scalar",
        "scalar_tensor.default")  # fmt: skip
def _full(c: Call, fill_value: Any = None, value: Any = None, s: Any = None, **_: Any) -> Tensor:
    number = next(x for x in (fill_value, value, s) if x is not None)
    if isinstance(number, Tensor):
        return c.b.expand(c.b.cast(number, c.dtype), c.shape)
    return c.full(number)


@lowers("zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format",
        "empty_like.default", "new_empty.default", "empty_permuted.default", "zero.default",
        "new_empty_strided.default", "empty_strided.default")  # fmt: skip
def _zeros(c: Call, **_: Any) -> Tensor:
    return c.full(0)


@lowers("ones.default", "ones_like.default", "new_ones.default")
def _ones(c: Call, **_: Any) -> Tensor:
    return c.full(1)


@lowers("arange.start_step", "arange.default", "arange.start")
def _arange(c: Call, start: Any = 0, end: Any = 0, step: Any = 1, **_: Any) -> Tensor:
    inner = torch.float64 if c.dtype.is_floating_point else torch.int64

    def body(place: Scalar) -> Scalar:
        x = dtypes.convert(place, torch.int64, inner)
        first, by = dtypes.constant(start, inner), dtypes.constant(step, inner)
        if inner.is_floating_point:
            x = arith.addf(first, arith.mulf(x, by))
        else:
            x = arith.addi(first, arith.muli(x, by))
        return dtypes.convert(x, inner, c.dtype)

    return positions(c, 0, body)


def positions(c: Call, dim: int, body: Callable[[Scalar], Scalar]) -> Tensor:
    """What ``body`` makes of each element's position (i64) along a dim."""
    from mlir import ir

    def at() -> Scalar:
        i64 = ir.IntegerType.get_signless(64)
        return body(arith.index_cast(i64, Builder.position(dim)))

    return c.b.map([], c.shape, c.dtype, at)
