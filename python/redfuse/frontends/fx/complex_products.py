"""Products of complex numbers (``complexes``): folds, matrices and convolutions, by their parts."""

from __future__ import annotations

from typing import Any

import torch

from .complex_arithmetic import Parts, mul
from .complexes import Pair, each, imag_of, is_real, pairs, real_of

# ---- folds


@pairs("prod")
def _prod(self: Pair, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Pair:
    """Halves are multiplied with each other until one element is left."""
    x = Pair(self.real.reshape(-1), self.imag.reshape(-1)) if dim is None else self
    at = 0 if dim is None or not x.real.dim() else dim % x.real.dim()
    x = x if x.real.dim() else each(x, lambda t: t.reshape(1))
    if x.real.shape[at] == 0:
        shape = [1 if d == at else n for d, n in enumerate(x.real.shape)]
        x = Pair(x.real.new_ones(shape), x.real.new_zeros(shape))
    while (count := x.real.shape[at]) > 1:
        half = count // 2
        first, second, last = (
            each(x, lambda t, s=start, n=size: t.narrow(at, s, n))
            for start, size in ((0, half), (half, half), (2 * half, count % 2))
        )
        x = mul(first, second)
        if count % 2:
            x = Pair(*(torch.cat([a, b], at) for a, b in
                       ((x.real, last.real), (x.imag, last.imag))))  # fmt: skip
    keeps = keepdim and dim is not None and self.real.dim()
    return x if keeps else each(x, lambda t: t.squeeze(at))


@pairs("cumprod")
def _cumprod(self: Pair, dim: int, *, dtype: Any = None) -> Pair:
    """Products with what is 1, 2, 4, ... places before (Hillis and Steele, 1986)."""
    if not self.real.dim():
        return self
    at, x, step = dim % self.real.dim(), self, 1
    count = self.real.shape[at]
    while step < count:
        head = each(x, lambda t, n=step: t.narrow(at, 0, n))
        here = each(x, lambda t, n=step: t.narrow(at, n, count - n))
        before = each(x, lambda t, n=step: t.narrow(at, 0, count - n))
        tail = mul(before, here)
        x = Pair(*(torch.cat(parts, at) for parts in
                   ((head.real, tail.real), (head.imag, tail.imag))))  # fmt: skip
        step *= 2
    return x


# ---- products of matrices


@pairs("mm", "bmm")
def matrix_product(self: Parts, mat2: Parts) -> Pair:
    """[..., n, k] by [..., k, m], as one real product.

    Of two complex matrices [A -B] and [C; -D] have their parts beside each other along the sum,
    which is twice as long; with a real one the parts of the other are rows, or columns. What is
    multiplied by one row or column is used once, and stays in the loop that makes it.
    """
    if real_of(self).shape[-2] == 1:
        row = each(self, lambda t: t.mT) if isinstance(self, Pair) else self.mT
        return each(mul(row, mat2), lambda t: t.sum(-2, keepdim=True))
    if real_of(mat2).shape[-1] == 1:
        column = each(mat2, lambda t: t.mT) if isinstance(mat2, Pair) else mat2.mT
        return each(mul(self, column), lambda t: t.sum(-1, keepdim=True))
    if is_real(mat2):
        rows = self.real.shape[-2]  # type: ignore[union-attr]
        made = torch.cat([self.real, self.imag], -2) @ mat2  # type: ignore[union-attr]
        return Pair(made[..., :rows, :], made[..., rows:, :])
    columns = mat2.real.shape[-1]  # type: ignore[union-attr]
    c, d = mat2.real, mat2.imag  # type: ignore[union-attr]
    if is_real(self):
        made = self @ torch.cat([c, d], -1)  # type: ignore[operator]
    else:
        left = torch.cat([self.real, self.imag], -1)  # type: ignore[union-attr]
        made = left @ torch.cat([torch.cat([c, d], -1), torch.cat([-d, c], -1)], -2)
    return Pair(made[..., :columns], made[..., columns:])


@pairs("mv")
def _mv(self: Parts, vec: Parts) -> Pair:
    column = each(vec, lambda t: t.unsqueeze(-1)) if isinstance(vec, Pair) else vec.unsqueeze(-1)
    return each(matrix_product(self, column), lambda t: t.squeeze(-1))


@pairs("dot")
def _dot(self: Parts, tensor: Parts) -> Pair:
    return each(mul(self, tensor), torch.sum)


@pairs("vdot")
def _vdot(self: Parts, other: Parts) -> Pair:
    turned = Pair(self.real, -self.imag) if isinstance(self, Pair) else self
    return each(mul(turned, other), torch.sum)


@pairs("convolution", "_convolution")
def _convolution(input: Parts, weight: Parts, bias: Parts | None, *more: Any) -> Pair:
    def windows(x: Any, w: Any) -> Any:
        return torch.ops.aten.convolution.default(x, w, None, *more[:6])

    if is_real(weight):
        made = each(input, lambda t: windows(t, weight))  # type: ignore[arg-type]
    elif is_real(input):
        made = each(weight, lambda t: windows(input, t))  # type: ignore[arg-type]
    else:
        a, b = real_of(input), imag_of(input)
        c, d = real_of(weight), imag_of(weight)
        made = Pair(windows(a, c) - windows(b, d), windows(a, d) + windows(b, c))
    if bias is None:
        return made
    shape = (-1, *[1] * (made.real.dim() - 2))
    return Pair(made.real + real_of(bias).reshape(shape), made.imag + imag_of(bias).reshape(shape))
