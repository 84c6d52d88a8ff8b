"""Discrete Fourier transforms as products with constant matrices.

y[k] = sum over j of x[j] w^(jk), with w = exp(-2 pi i / n) forward and exp(2 pi i / n) back. For
n = n1 n2, j = j1 n2 + j2 and k = k1 + k2 n1 it is (Cooley and Tukey, 1965)

    y[k1 + k2 n1] = sum over j2 of w2^(j2 k2) (w^(j2 k1) (sum over j1 of w1^(j1 k1) x[j1 n2 + j2]))

with w1 = w^n2 and w2 = w^n1: transforms of length n1, factors, and transforms of length n2. Short
ones are products with a dense matrix, whose parts stand beside each other, so that one real product
makes both parts. Long prime lengths are convolutions (Bluestein, 1970). Factors are made in fp64 of
exact integers j k mod n, and rounded once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ...errors import UnsupportedError
from .complex_arithmetic import mul
from .complexes import Pair, each, pairs, real_of
from .composed import composes

# Lengths up to this are one product: a matrix of 64 does as much work an element as two products
# take to move it through the memory of a GPU (an estimate).
DENSE = 64
# Elements of 16 bytes in f32, which a table's rows are multiples of.
_VECTOR = 4
# Lengths with no divisor up to DENSE, as primes, are one product up to this, a convolution beyond.
MOST_DENSE = 512

Parts = Pair | torch.Tensor


# ---- factors, in NumPy, whose work is not traced


def roots(rows: Any, columns: Any, n: int, sign: int) -> Any:
    """exp(2 pi i sign rows columns / n) of integers, [rows, columns] in complex128.

    Quarter turns are taken off the angle as integers, so that 1, i, -1 and -i are exact.
    """
    step = 4 * (np.outer(rows, columns) % n)
    rest = (step % n) * (math.pi / 2 / n)
    turned = np.array([1, 1j, -1, -1j])[step // n]
    # Not by a product, in which 0 times infinity or -0 were added.
    c, s = np.cos(rest), np.sin(rest)
    made = np.where(turned.imag == 0, c * turned.real, -s * turned.imag) + 0.0
    return made + 1j * sign * np.where(turned.imag == 0, s * turned.real, c * turned.imag)


def _constant(data: Any, like: torch.Tensor) -> torch.Tensor:
    """Numbers in the traced program, in the type and on the device of a tensor."""
    kind = np.float64 if like.dtype == torch.float64 else np.float32
    with unset_fake_temporarily():
        made = torch.from_numpy(np.ascontiguousarray(data, kind))
    return torch.ops.aten.lift_fresh.default(made).to(like.device)


def _constants(data: Any, like: torch.Tensor) -> Pair:
    return Pair(_constant(data.real, like), _constant(data.imag, like))


@functools.lru_cache(maxsize=64)
def split(n: int) -> int:
    """The length of the first transforms; n where there are no second ones, 0 where a transform of
    length n is no product. As few as there may be with at most DENSE each, of about one length."""
    if n <= DENSE:
        return n
    wanted = math.log(n) / math.ceil(math.log(n) / math.log(DENSE) - 1e-9)
    divisors = [d for d in range(2, DENSE + 1) if n % d == 0]
    if divisors:
        return min(divisors, key=lambda d: abs(math.log(d) - wanted))
    if n <= MOST_DENSE:
        return n
    return next((d for d in range(DENSE + 1, MOST_DENSE + 1) if n % d == 0 and d < n), 0)


# ---- transforms of [batch, n, rest] along its middle


def _shape(x: Parts) -> Sequence[Any]:
    return real_of(x).shape


def transform(
    x: Parts, n: int, sign: int, count: int, scale: float = 1.0, real: bool = False
) -> Any:  # fmt: skip
    """The first ``count`` elements of a transform of length n along the middle of [batch, m, rest],
    where m <= n and more elements are zero: [batch, count, rest], in f32 or f64.

    sign: of the exponent, -1 forward. scale: what all is multiplied by. real: the real part alone.
    """
    first = split(n)
    if first == n:
        return _dense(x, n, sign, count, scale, real)
    if first == 0:
        return _by_convolution(x, n, sign, count, scale, real)
    second = n // first
    batch, given, rest = _shape(x)
    rows = -(-given // second)
    if (missing := rows * second - given) > 0:
        # Not by constant_pad_nd, whose trace fixes an open extent of the batch.
        x = each(x, lambda t: torch.cat([t, t.new_zeros((batch, missing, rest))], 1))
    x = each(x, lambda t: t.reshape(batch, rows, second * rest))
    x = transform(x, first, sign, first)
    x = each(x, lambda t: t.reshape(batch, first, second, rest))
    x = mul(x, _turns(n, first, second, sign, x.real))
    x = each(x, lambda t: t.permute(0, 2, 1, 3).reshape(batch, second, first * rest))
    wanted = -(-count // first)
    y = transform(x, second, sign, wanted, scale, real)
    y = each(y, lambda t: t.reshape(batch, wanted * first, rest))
    return each(y, lambda t: t[:, :count])


def _turns(n: int, first: int, second: int, sign: int, like: torch.Tensor) -> Pair:
    """w^(j2 k1) as [k1, j2, 1]."""
    return _constants(roots(np.arange(first), np.arange(second), n, sign)[..., None], like)


def _dense(x: Parts, n: int, sign: int, count: int, scale: float, real: bool) -> Any:
    """As a product with [C -S; S C], of which there is what x and the result have."""
    batch, given, rest = _shape(x)
    w = scale * roots(np.arange(count), np.arange(given), n, sign)
    matrix = np.concatenate([w.real, w.imag])
    if isinstance(x, Pair):
        matrix = np.concatenate([matrix, np.concatenate([-w.imag, w.real])], 1)
    matrix = matrix[:count] if real else matrix
    # Columns of the table are whole vectors, with columns of zeros behind them.
    matrix = np.pad(matrix, ((0, -len(matrix) % _VECTOR), (0, 0)))
    both = torch.cat([x.real, x.imag], 1) if isinstance(x, Pair) else x
    if rest == 1:  # rows by the matrix, rather than the matrix by columns
        made = (both.reshape(batch, both.shape[1]) @ _constant(matrix.T, both)).unsqueeze(-1)
    else:
        made = torch.bmm(_constant(matrix.T, both).mT.expand(batch, -1, -1), both)
    return made[:, :count] if real else Pair(made[:, :count], made[:, count : 2 * count])


def _by_convolution(x: Parts, n: int, sign: int, count: int, scale: float, real: bool) -> Any:
    """With jk = (j^2 + k^2 - (k - j)^2) / 2: elements times v[j] = w^(j^2 / 2) are convolved with
    the conjugates of v, and multiplied by v[k]."""
    given, like = _shape(x)[1], real_of(x)
    size = 1 << (given + count - 2).bit_length()
    # j^2 / 2 of n are j^2 of 2n.
    v = roots(np.arange(max(given, count)) ** 2, 1, 2 * n, sign)[:, 0]
    window = np.zeros(size, complex)
    window[:count] = v[:count].conj()
    window[size - given + 1 :] = v[1:given][::-1].conj()
    spectrum = np.fft.fft(window) / size
    y = transform(mul(x, _constants(v[:given, None], like)), size, -1, size)
    y = transform(mul(y, _constants(spectrum[:, None], like)), size, 1, count)
    y = mul(y, _constants(scale * v[:count, None], like))
    return y.real if real else y


# ---- PyTorch's operations


def _factor(mode: int, n: int) -> float:
    """Of one dim, by the normalisation: none, the root of n, or n."""
    return (1.0, 1 / math.sqrt(n), 1 / n)[mode]


def _along(
    x: Parts, dim: int, n: int, sign: int, count: int, mode: int, real: bool = False
) -> Any:  # fmt: skip
    """A transform of length n along a dim of any tensor."""
    shape = list(_shape(x))
    if any(not isinstance(size, int) for size in (shape[dim], n)):
        raise UnsupportedError(f"a transform along an extent that is open ({shape[dim]})")
    dim %= len(shape)
    batch, rest = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    made = transform(
        each(x, lambda t: t.reshape(batch, shape[dim], rest)), n, sign, count, _factor(mode, n),
        real,
    )  # fmt: skip
    shape[dim] = count
    return each(made, lambda t: t.reshape(shape))


def _wide(x: Parts) -> Parts:
    """In f32 at least."""
    return each(x, lambda t: t.float()) if real_of(x).dtype.itemsize < 4 else x


@pairs("_fft_c2c")
def _c2c(self: Pair, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    x, sign = _wide(self), -1 if forward else 1
    for d in reversed(dim):
        size = _shape(x)[d]
        x = _along(x, d, size, sign, size, normalization)
    return x


@pairs("_fft_r2c")
def _r2c(self: torch.Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    size = self.shape[dim[-1]]
    count = size // 2 + 1 if onesided else size
    x = _along(_wide(self), dim[-1], size, -1, count, normalization)
    return _c2c(x, dim[:-1], normalization, True)


@pairs("_fft_c2r")
def _c2r(self: Pair, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    """Each element stands for its mirror image as well, but the first and, of an even size, that in
    the middle, whose imaginary parts add nothing."""
    x = _c2c(self, dim[:-1], normalization, False)
    last, n = dim[-1] % x.real.dim(), last_dim_size
    count = n // 2 + 1
    x = each(x, lambda t: t.narrow(last, 0, count))
    twice = np.full(count, 2.0)
    twice[0] = 1
    if n % 2 == 0:
        twice[-1] = 1
    twice = twice.reshape(-1, *[1] * (x.real.dim() - 1 - last))
    x = mul(x, _constant(twice, x.real))
    return _along(x, last, n, 1, n, normalization, real=True)


# ---- frequencies


def _divided(numbers: torch.Tensor, n: int, d: float, dtype: Any, device: Any) -> torch.Tensor:
    return (numbers.to(torch.float64) / (n * d)).to(dtype or torch.get_default_dtype()).to(device)


@composes("fft_fftfreq.default")
def _fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = "cpu",
    pin_memory: Any = None,
) -> torch.Tensor:  # fmt: skip
    numbers = torch.arange(n, device=device)
    return _divided(torch.where(numbers < (n + 1) // 2, numbers, numbers - n), n, d, dtype, device)


@composes("fft_rfftfreq.default")
def _rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = "cpu",
    pin_memory: Any = None,
) -> torch.Tensor:  # fmt: skip
    return _divided(torch.arange(n // 2 + 1, device=device), n, d, dtype, device)
