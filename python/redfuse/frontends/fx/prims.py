"""Element-wise operations by the bits of numbers, and others that have prims of PyTorch's only."""

from __future__ import annotations

from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith, math

from . import dtypes
from .builder import Tensor, refuse
from .pointwise import F, elementwise
from .registry import Call, lowers

Scalar = Any
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits_of(x: Scalar, dtype: Any) -> Scalar:
    """A number's bits as an integer of its width."""
    return arith.bitcast(dtypes.element_type(_INTEGERS[dtype.itemsize]), x)


def _same_bits(c: Call, x: Tensor, dtype: Any) -> Tensor:
    def body(v: Scalar) -> Scalar:
        kind = dtypes.element_type(dtype)
        return v if v.type == kind else arith.bitcast(kind, v)

    return c.b.map([x], x.shape, dtype, body)


@lowers("signbit.default")
def _signbit(c: Call, self: Tensor) -> Tensor:
    if not dtypes.is_signed(self.dtype):
        return c.full(False)
    integer = _INTEGERS[self.dtype.itemsize] if self.dtype.is_floating_point else self.dtype

    def body(x: Scalar) -> Scalar:
        x = bits_of(x, self.dtype) if self.dtype.is_floating_point else x
        return arith.cmpi(arith.CmpIPredicate.slt, x, dtypes.constant(0, integer))

    return c.b.map([self], c.shape, torch.bool, body)


@lowers("nextafter.default")
def _nextafter(c: Call, self: Tensor, other: Tensor) -> Tensor:
    """The bits of a number of one sign are in the order of its size."""
    dtype = c.dtype
    integer = _INTEGERS[dtype.itemsize]

    def body(x: Scalar, y: Scalar) -> Scalar:
        kind = dtypes.element_type(dtype)
        zero, one = dtypes.constant(0.0, dtype), dtypes.constant(1, integer)
        bits = bits_of(x, dtype)
        away = arith.xori(arith.cmpf(F.OLT, x, y), arith.cmpf(F.OLT, x, zero))
        moved = arith.select(away, arith.addi(bits, one), arith.subi(bits, one))
        least = math.copysign(arith.bitcast(kind, one), y)
        made = arith.select(arith.cmpf(F.OEQ, x, zero), least, arith.bitcast(kind, moved))
        made = arith.select(arith.cmpf(F.OEQ, x, y), y, made)
        return arith.select(arith.cmpf(F.UNO, x, y), arith.addf(x, y), made)

    return c.b.map([self, other], c.shape, dtype, body)


def _number(body_float: Any, signed: Any, unsigned: Any) -> Any:
    def lower(c: Call, self: Any, other: Any) -> Tensor:
        whole = signed if dtypes.is_signed(c.dtype) else unsigned
        body = body_float if c.dtype.is_floating_point else whole
        return elementwise(c, [self, other], c.dtype, body)

    return lower


# Of a number and NaN they are the number.
lowers("fmax.default")(_number(arith.maxnumf, arith.maxsi, arith.maxui))
lowers("fmin.default")(_number(arith.minnumf, arith.minsi, arith.minui))


@lowers("hypot.default")
def _hypot(c: Call, self: Tensor, other: Tensor) -> Tensor:
    """In f64, where squares of f32 fit; of f64 by the ratio of the smaller one."""
    wide = c.dtype == torch.float64

    def body(x: Scalar, y: Scalar) -> Scalar:
        inner = torch.float64
        x, y = (math.absf(dtypes.convert(v, c.dtype, inner)) for v in (x, y))
        infinity = dtypes.constant(float("inf"), inner)
        infinite = arith.ori(*(arith.cmpf(F.OEQ, v, infinity) for v in (x, y)))
        if not wide:
            made = math.sqrt(arith.addf(arith.mulf(x, x), arith.mulf(y, y)))
        else:
            most, least = arith.maximumf(x, y), arith.minimumf(x, y)
            zero, one = dtypes.constant(0.0, inner), dtypes.constant(1.0, inner)
            by = arith.select(arith.cmpf(F.OEQ, most, zero), one, most)
            part = arith.divf(least, by)
            made = arith.mulf(most, math.sqrt(arith.addf(one, arith.mulf(part, part))))
        return dtypes.convert(arith.select(infinite, infinity, made), inner, c.dtype)

    x, y = (c.b.cast(t, c.dtype) for t in (self, other))
    return c.b.map([x, y], c.shape, c.dtype, body)


@lowers("angle.default")
def _angle(c: Call, self: Tensor) -> Tensor:
    def body(x: Scalar) -> Scalar:
        zero = dtypes.constant(0.0, torch.float32 if c.dtype.itemsize < 4 else c.dtype)
        pi = arith.ConstantOp(x.type, ir.FloatAttr.get(x.type, 3.141592653589793)).result
        made = arith.select(arith.cmpf(F.OLT, x, zero), pi, zero)
        return arith.select(arith.cmpf(F.UNO, x, x), x, made)

    return elementwise(c, [self], c.dtype, body)


@lowers("frexp.Tensor")
def _frexp(c: Call, self: Tensor) -> Any:
    """A mantissa from 1/2 up to 1, and an exponent: by the bits of f64, in which every number of
    the narrower types is normal."""
    mantissa, exponent = c.value
    wide = c.b.cast(self, torch.float64)

    def parts(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        number = lambda n: dtypes.constant(n, torch.int64)  # noqa: E731
        # Numbers of f64 that are not normal are made so.
        small = arith.cmpf(F.OLT, math.absf(x), dtypes.constant(2.0**-1022, torch.float64))
        scaled = arith.select(small, arith.mulf(x, dtypes.constant(2.0**54, torch.float64)), x)
        bits = bits_of(scaled, torch.float64)
        power = arith.andi(arith.shrui(bits, number(52)), number(0x7FF))
        power = arith.subi(power, arith.select(small, number(1022 + 54), number(1022)))
        none = arith.subf(x, x)  # NaN, of what is not finite
        finite = arith.cmpf(F.ORD, none, none)
        usual = arith.andi(finite, arith.cmpf(F.UNE, x, dtypes.constant(0.0, torch.float64)))
        kept = arith.andi(bits, number(0x800FFFFFFFFFFFFF - (1 << 64)))
        part = arith.bitcast(x.type, arith.ori(kept, number(1022 << 52)))
        return usual, part, power

    def of_mantissa(x: Scalar) -> Scalar:
        usual, part, _ = parts(x)
        return dtypes.convert(arith.select(usual, part, x), torch.float64, mantissa.dtype)

    def of_exponent(x: Scalar) -> Scalar:
        usual, _, power = parts(x)
        zero = dtypes.constant(0, torch.int64)
        return dtypes.convert(arith.select(usual, power, zero), torch.int64, exponent.dtype)

    return (c.b.map([wide], tuple(mantissa.shape), mantissa.dtype, of_mantissa),
            c.b.map([wide], tuple(exponent.shape), exponent.dtype, of_exponent))  # fmt: skip


@lowers("view.dtype")
def _view_as(c: Call, self: Tensor, dtype: Any) -> Tensor:
    if self.dtype.itemsize != dtype.itemsize or torch.bool in (self.dtype, dtype):
        refuse(f"the bytes of {self.dtype} as {dtype}; expected types of one width")
    return _same_bits(c, self, dtype)
