"""Fourier transforms in PyTorch programs, against the same in fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redfuse
import torch
from redfuse.frontends.fx import fourier

# Dense, with two and three factors, prime, of two primes beyond DENSE, and convolutions.
SIZES = [1, 2, 3, 8, 31, 60, 64, 97, 128, 251, 331, 509, 768, 1000, 67 * 71, 4096, 521, 1009]
# Errors of a transform of n elements, in 2-norms: sums of up to 2 * 512 products are added in f32,
# in a walk of roundings: 64 elements of a factor twice are 11 eps / 2 of it, PyTorch's within 3.
ALLOWED = 8 * torch.finfo(torch.float32).eps


def wide(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


def compiled(function: Any, inputs: list[torch.Tensor], **more: Any) -> Any:
    return redfuse.compile(function, inputs=inputs, options={"cache": False}, **more)


def check(
    exe: Any, function: Callable[..., Any], inputs: list[torch.Tensor], allowed: float = ALLOWED
) -> None:  # fmt: skip
    got, eager, exact = exe(*inputs), function(*inputs), function(*map(wide, inputs))
    assert (got.shape, got.dtype) == (eager.shape, eager.dtype)
    assert float((wide(got) - exact).norm()) <= allowed * float(exact.norm())


def complexes(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.complex64, generator=generator)


@pytest.mark.parametrize("n", SIZES)
def test_lengths(n: int) -> None:
    """Complex, real and hermitian, there and back."""
    programs = {
        "fft": torch.fft.fft, "ifft": torch.fft.ifft, "rfft": torch.fft.rfft,
        "irfft": lambda x: torch.fft.irfft(x, n=n),
    }  # fmt: skip
    for name, function in programs.items():
        exe = None
        for seed in range(2):
            x = complexes(3, n // 2 + 1 if name == "irfft" else n, seed=seed)
            x = x.real.contiguous() if name == "rfft" else x
            exe = exe or compiled(function, [x])
            check(exe, function, [x])


CASES: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "real": (torch.fft.fft, complexes(3, 45).real),
    "padded": (lambda x: torch.fft.fft(x, n=100), complexes(3, 45)),
    "cut": (lambda x: torch.fft.rfft(x, n=30), complexes(3, 45).real),
    "first": (lambda x: torch.fft.fft(x, dim=0), complexes(130, 2, 5)),
    "middle": (lambda x: torch.fft.irfft(x, dim=1), complexes(2, 77, 5)),
    "ortho": (lambda x: torch.fft.ifft(x, norm="ortho"), complexes(3, 130)),
    "forward": (lambda x: torch.fft.irfft(x, norm="forward"), complexes(3, 66)),
    "fft2": (torch.fft.fft2, complexes(3, 20, 70)),
    "ifft2": (lambda x: torch.fft.ifft2(x, norm="ortho"), complexes(3, 20, 70)),
    "rfftn": (torch.fft.rfftn, complexes(6, 20, 9).real),
    "irfftn": (lambda x: torch.fft.irfftn(x, s=(6, 20, 15)), complexes(6, 20, 8)),
    "fftn": (lambda x: torch.fft.fftn(x, dim=(0, 2)), complexes(6, 20, 9)),
    "hfft": (torch.fft.hfft, complexes(3, 45)),
    "ihfft": (torch.fft.ihfft, complexes(3, 45).real),
    "shifted": (lambda x: torch.fft.fftshift(torch.fft.fft(torch.fft.ifftshift(x))),
                complexes(3, 45)),
    "derivative": (lambda x: torch.fft.ifft(2j * torch.pi * torch.fft.fftfreq(
        45, dtype=x.real.dtype) * torch.fft.fft(x)), complexes(3, 45)),
    "stft": (lambda x: torch.stft(x, 64, 16, window=torch.hann_window(64, dtype=x.dtype),
                                  return_complex=True), complexes(2, 501).real),
    "fp64": (torch.fft.fft, complexes(3, 4096).to(torch.complex128)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operations(name: str) -> None:
    function, x = CASES[name]
    x = x.contiguous()
    check(compiled(function, [x]), function, [x], 1e-15 if name == "fp64" else ALLOWED)


@pytest.mark.parametrize("n", [8, 130])
def test_imaginary_parts_that_count_for_nothing(n: int) -> None:
    """Those of the first and the middle element of what is hermitian."""
    x = complexes(3, n // 2 + 1)
    x[:, 0] += 1e6j
    x[:, -1] -= 1e6j
    check(compiled(torch.fft.irfft, [x]), torch.fft.irfft, [x])


def test_roots_are_exact_where_they_can_be() -> None:
    import numpy as np

    w = fourier.roots(np.arange(12), np.arange(12), 12, -1)
    assert w[1, 3] == -1j
    assert w[2, 3] == -1
    assert w[3, 3] == 1j
    assert w[4, 3] == 1


def test_lengths_are_split_into_few_of_about_one_size() -> None:
    assert [fourier.split(n) for n in (64, 768, 4096, 65536, 331, 67 * 71, 1009)] == [
        64, 24, 64, 32, 331, 67, 0
    ]  # fmt: skip


def fnet(x: torch.Tensor) -> torch.Tensor:
    return torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real


def long_convolution(u: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    n = u.shape[-1]
    made = torch.fft.rfft(u, n=2 * n) * torch.fft.rfft(k, n=2 * n)
    return torch.fft.irfft(made, n=2 * n)[..., :n]


def fourier_layer(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """As a Fourier neural operator's, with the lowest modes of two dims."""
    modes = low.shape[-1]
    there = torch.fft.rfft2(x)
    out = torch.zeros(x.shape[0], low.shape[1], *there.shape[-2:], dtype=there.dtype)
    for rows, weight in ((slice(modes), low), (slice(-modes, None), high)):
        part = torch.einsum("bixy,ioxy->boxy", there[:, :, rows, :modes], weight)
        out[:, :, rows, :modes] = part
    return torch.fft.irfft2(out, s=x.shape[-2:])


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], list[torch.Tensor]]]] = {
    "FNet": (fnet, lambda s: [complexes(2, 35, 96, seed=s).real]),
    "long convolution": (long_convolution, lambda s: [
        complexes(2, 3, 150, seed=s).real, complexes(3, 150, seed=s + 9).real]),
    "Fourier layer": (fourier_layer, lambda s: [
        complexes(2, 3, 20, 24, seed=s).real, complexes(3, 5, 6, 6, seed=s + 9),
        complexes(3, 5, 6, 6, seed=s + 19)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    function, inputs_of = PROGRAMS[name]
    exe = None
    for seed in range(3):
        inputs = [x.contiguous() for x in inputs_of(seed)]
        exe = exe or compiled(function, inputs)
        check(exe, function, inputs, 2 * ALLOWED)


def test_open_batch() -> None:
    shapes = [{0: torch.export.Dim("rows", min=2, max=100)}]

    def smooth(x: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft(torch.fft.rfft(x) * 2j, n=134)

    exe = compiled(smooth, [complexes(4, 134).real.contiguous()], dynamic_shapes=shapes)
    for rows in (2, 7):
        check(exe, smooth, [complexes(rows, 134, seed=rows).real.contiguous()])


def test_open_lengths_are_refused() -> None:
    shapes = [{1: torch.export.Dim("n", min=2, max=100)}]
    with pytest.raises(redfuse.UnsupportedError, match="an extent that is open"):
        compiled(torch.fft.fft, [complexes(4, 96)], dynamic_shapes=shapes)


def test_an_empty_batch() -> None:
    x = torch.empty(0, 8)
    exe = redfuse.compile(torch.fft.fft, inputs=[x], options={"cache": False})
    assert exe(x).shape == (0, 8)
