"""Arithmetic and functions of complex numbers (``complexes``), by their parts.

Formulas are those that neither overflow nor cancel where PyTorch's do not: division is Smith's
("Algorithm 116: Complex division", 1962), the square root and the hyperbolic tangent are Kahan's
("Branch cuts for complex elementary functions", 1987), lengths are ``hypot``. What is real is
scaled with, not made complex: infinity times i is infinite, where PyTorch adds 0 times infinity.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ...errors import UnsupportedError
from .complexes import Pair, as_pair, imag_of, is_real, pairs, real_of

Parts = Pair | torch.Tensor | complex
# Powers up to this are products.
_MOST_MULTIPLIED = 16


# ---- sums and products of elements


def add(x: Parts, y: Parts) -> Any:
    """x + y. To the imaginary part nothing is added where one of them is real."""
    real = real_of(x) + real_of(y)
    if is_real(x) and is_real(y):
        return real
    if is_real(x) or is_real(y):
        imag = imag_of(y if is_real(x) else x)
        if not isinstance(imag, torch.Tensor):
            return Pair(real, torch.full_like(real, imag))
        return Pair(real, imag.expand(real.shape))
    return Pair(real, x.imag + y.imag)  # type: ignore[union-attr]


def neg(x: Parts) -> Any:
    """-x."""
    return Pair(-x.real, -x.imag) if isinstance(x, Pair) else -x


def mul(x: Parts, y: Parts) -> Any:
    """x * y: four products of parts, or two where one of them is real."""
    if is_real(x) and is_real(y):
        return x * y  # type: ignore[operator]
    if is_real(x):
        x, y = y, x
    if is_real(y):
        return Pair(x.real * y, x.imag * y)  # type: ignore[union-attr]
    real = x.real * y.real - x.imag * y.imag  # type: ignore[union-attr]
    return Pair(real, x.real * y.imag + x.imag * y.real)  # type: ignore[union-attr]


def div(x: Parts, y: Parts) -> Any:
    """x / y: by the ratio of the smaller part of y to the larger one."""
    if is_real(y):
        return Pair(x.real / y, x.imag / y) if isinstance(x, Pair) else x / y
    c, d = real_of(y), imag_of(y)
    if not isinstance(c, torch.Tensor):
        c, d = (torch.tensor(n, dtype=torch.float64) for n in (c, d))
    a, b = real_of(x), 0.0 if is_real(x) else imag_of(x)
    is_first = c.abs() >= d.abs()
    most, least = torch.where(is_first, c, d), torch.where(is_first, d, c)
    ratio = least / most
    ratio = torch.where(most == 0, 0.0, ratio)  # by zero: each part is divided
    scale = most + least * ratio
    real = torch.where(is_first, a + b * ratio, a * ratio + b) / scale
    imag = torch.where(is_first, b - a * ratio, b * ratio - a) / scale
    return Pair(real, imag)


@pairs("add")
def _add(self: Parts, other: Parts, *, alpha: Any = 1) -> Any:
    return add(self, other if alpha == 1 else mul(other, alpha))


@pairs("sub", "subtract")
def _sub(self: Parts, other: Parts, *, alpha: Any = 1) -> Any:
    return add(self, mul(other, -alpha) if alpha != 1 else neg(other))


@pairs("rsub")
def _rsub(self: Parts, other: Parts, alpha: Any = 1) -> Any:
    return _sub(other, self, alpha=alpha)


pairs("mul", "multiply")(mul)


@pairs("div", "divide", "true_divide")
def _div(self: Parts, other: Parts, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is not None:
        raise UnsupportedError("complex numbers are not rounded")
    return div(self, other)


@pairs("reciprocal")
def reciprocal(self: Pair) -> Pair:
    """1 / x."""
    return div(torch.ones_like(self.real), self)


@pairs("square")
def square(self: Pair) -> Pair:
    """x * x."""
    return mul(self, self)


@pairs("eq")
def _eq(self: Parts, other: Parts) -> Any:
    return (real_of(self) == real_of(other)) & (imag_of(self) == imag_of(other))


@pairs("ne")
def _ne(self: Parts, other: Parts) -> Any:
    return (real_of(self) != real_of(other)) | (imag_of(self) != imag_of(other))


@pairs("isfinite")
def _isfinite(self: Pair) -> Any:
    return self.real.isfinite() & self.imag.isfinite()


@pairs("isnan")
def _isnan(self: Pair) -> Any:
    return self.real.isnan() | self.imag.isnan()


@pairs("isinf")
def _isinf(self: Pair) -> Any:
    return self.real.isinf() | self.imag.isinf()


@pairs("logical_not")
def _logical_not(self: Pair) -> Any:
    return (self.real == 0) & (self.imag == 0)


def _is_not_zero(x: Pair) -> torch.Tensor:
    return (x.real != 0) | (x.imag != 0)


@pairs("any")
def _any(self: Pair, *args: Any, **named: Any) -> Any:
    return _is_not_zero(self).any(*args, **named)


@pairs("all")
def _all(self: Pair, *args: Any, **named: Any) -> Any:
    return _is_not_zero(self).all(*args, **named)


# ---- lengths and angles


@pairs("abs", "absolute")
def length(self: Pair) -> Any:
    """|x|."""
    return torch.hypot(self.real, self.imag)


@pairs("angle")
def angle(self: Pair) -> Any:
    """Of x, from -pi to pi."""
    return torch.atan2(self.imag, self.real)


@pairs("sgn")
def _sgn(self: Pair) -> Pair:
    size = length(self)
    by = torch.where(size == 0, 1.0, size)
    return Pair(self.real / by, self.imag / by)


@pairs("linalg_vector_norm")
def _norm(self: Pair, *args: Any, dtype: Any = None, **named: Any) -> Any:
    dtype = dtype.to_real() if dtype is not None and dtype.is_complex else dtype
    return torch.linalg.vector_norm(length(self), *args, dtype=dtype, **named)


@pairs("var")
def _var(self: Pair, *args: Any, **named: Any) -> Any:
    return self.real.var(*args, **named) + self.imag.var(*args, **named)


@pairs("std")
def _std(self: Pair, *args: Any, **named: Any) -> Any:
    return _var(self, *args, **named).sqrt()


# ---- functions


@pairs("exp")
def exp(self: Pair) -> Pair:
    """e^x. Of a real number it is real, also where e^x is infinite."""
    size = torch.exp(self.real)
    imag = torch.where(self.imag == 0, self.imag, size * torch.sin(self.imag))
    return Pair(size * torch.cos(self.imag), imag)


@pairs("exp2")
def _exp2(self: Pair) -> Pair:
    return exp(mul(self, math.log(2)))


@pairs("expm1")
def _expm1(self: Pair) -> Pair:
    size, less = torch.exp(self.real), torch.expm1(self.real)
    half = torch.sin(self.imag / 2)
    return Pair(less * torch.cos(self.imag) - 2 * half * half, size * torch.sin(self.imag))


@pairs("log")
def log(self: Pair) -> Pair:
    """The natural logarithm, whose imaginary part is the angle."""
    return Pair(torch.log(length(self)), angle(self))


@pairs("log2")
def _log2(self: Pair) -> Pair:
    return mul(log(self), 1 / math.log(2))


@pairs("log10")
def _log10(self: Pair) -> Pair:
    return mul(log(self), 1 / math.log(10))


@pairs("log1p")
def _log1p(self: Pair) -> Pair:
    """Near 0 by what (1 + a)^2 + b^2 is more than 1, which 1 + a would lose."""
    a, b = self.real, self.imag
    far = log(Pair(a + 1, b))
    near = torch.log1p(a * (2 + a) + b * b) / 2
    return Pair(torch.where((a.abs() < 0.5) & (b.abs() < 0.5), near, far.real), far.imag)


@pairs("sqrt")
def sqrt(self: Pair) -> Pair:
    """The root with a real part of at least 0: the larger part of it has no difference in it."""
    size = torch.sqrt(length(self) / 2 + self.real.abs() / 2)
    other = self.imag / torch.where(size == 0, 1.0, 2 * size)
    is_right = self.real >= 0
    return Pair(
        torch.where(is_right, size, other.abs()),
        torch.where(is_right, other, torch.copysign(size, self.imag)),
    )


@pairs("rsqrt")
def _rsqrt(self: Pair) -> Pair:
    return reciprocal(sqrt(self))


@pairs("sin")
def sin(self: Pair) -> Pair:
    """sin(a + bi) = sin a cosh b + i cos a sinh b."""
    a, b = self.real, self.imag
    return Pair(torch.sin(a) * torch.cosh(b), torch.cos(a) * torch.sinh(b))


@pairs("cos")
def cos(self: Pair) -> Pair:
    """cos(a + bi) = cos a cosh b - i sin a sinh b."""
    a, b = self.real, self.imag
    return Pair(torch.cos(a) * torch.cosh(b), -torch.sin(a) * torch.sinh(b))


@pairs("sinh")
def _sinh(self: Pair) -> Pair:
    a, b = self.real, self.imag
    return Pair(torch.sinh(a) * torch.cos(b), torch.cosh(a) * torch.sin(b))


@pairs("cosh")
def _cosh(self: Pair) -> Pair:
    a, b = self.real, self.imag
    return Pair(torch.cosh(a) * torch.cos(b), torch.sinh(a) * torch.sin(b))


@pairs("tanh")
def tanh(self: Pair) -> Pair:
    """With u = exp(-2|a|), of a + bi: ((1 - u)(1 + u) sign(a) + 4i u sin b cos b) / ((1 - u)^2 +
    4 u cos^2 b), where 1 - u is exact for small a and u vanishes for large a."""
    a, b = self.real, self.imag
    u, rest = torch.exp(-2 * a.abs()), -torch.expm1(-2 * a.abs())
    sine, cosine = torch.sin(b), torch.cos(b)
    below = rest * rest + 4 * u * cosine * cosine
    real = torch.copysign(rest * (2 - rest) / below, a)
    return Pair(real, 4 * u * sine * cosine / below)


@pairs("tan")
def _tan(self: Pair) -> Pair:
    """tan x = -i tanh(ix)."""
    made = tanh(Pair(-self.imag, self.real))
    return Pair(made.imag, -made.real)


@pairs("sigmoid")
def _sigmoid(self: Pair) -> Pair:
    """With u = exp(-|a|) and v = e^x / |e^x| or its conjugate, 1 / (1 + uv) of a right x = a + bi,
    uv / (1 + uv) of a left one, by |1 + uv|^2 = (1 - u)^2 + 4 u cos^2(b / 2)."""
    a, b = self.real, self.imag
    u, rest = torch.exp(-a.abs()), -torch.expm1(-a.abs())
    half = torch.cos(b / 2)
    near = 2 * u * half * half
    below = rest * rest + 2 * near
    real = torch.where(a >= 0, rest + near, u * (torch.cos(b) + u)) / below
    return Pair(real, u * torch.sin(b) / below)


@pairs("pow")
def _pow(self: Parts, exponent: Parts) -> Any:
    is_whole = isinstance(exponent, (int, float)) and float(exponent).is_integer()
    if isinstance(self, Pair) and is_whole and abs(exponent) <= _MOST_MULTIPLIED:
        made = _multiplied(self, abs(int(exponent)))  # type: ignore[arg-type]
        return reciprocal(made) if exponent < 0 else made  # type: ignore[operator]
    if isinstance(self, Pair) and is_real(exponent) and isinstance(exponent, float):
        if exponent == 0.5:
            return sqrt(self)
        if exponent == -0.5:
            return _rsqrt(self)
    if not isinstance(self, (Pair, torch.Tensor)):
        if self == 0:
            raise UnsupportedError("powers of 0 by complex numbers")
        number = complex(self)
        base: Any = complex(math.log(abs(number)), math.atan2(number.imag, number.real))
        return exp(as_pair(mul(base, exponent)))
    base = as_pair(self)
    made = exp(as_pair(mul(log(base), exponent)))
    # Of 0 the logarithm's product is NaN; what is left is a power below zero.
    is_zero = (base.real == 0) & (base.imag == 0)
    to_zero = (real_of(exponent) == 0) & (imag_of(exponent) == 0)
    is_none = is_zero & (real_of(exponent) > 0)
    real = torch.where(is_none, 0.0, torch.where(is_zero & to_zero, 1.0, made.real))
    return Pair(real, torch.where(is_none | (is_zero & to_zero), 0.0, made.imag))


def _multiplied(x: Pair, count: int) -> Pair:
    made, power = Pair(torch.ones_like(x.real), torch.zeros_like(x.real)), x
    is_one = True
    while count:
        if count & 1:
            made, is_one = (power if is_one else mul(made, power)), False
        count >>= 1
        if count:
            power = square(power)
    return made
