"""PyTorch's floats of 8 bits: arguments, results and conversions."""

from __future__ import annotations

from typing import Any

import pytest
import redfuse
import torch
from small_float_programs import conversion


@pytest.mark.parametrize("small", ["f8E4M3FN", "f8E5M2"])
def test_torch(small: str) -> None:
    name = {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2"}[small]
    x = torch.randn(300, generator=torch.Generator().manual_seed(0))
    exe = redfuse.compile(conversion("f32", small, 300), target="cpu", options={"cache": False})
    got = exe(x)
    assert got.dtype == getattr(torch, name)
    assert torch.equal(got.view(torch.uint8), x.to(got.dtype).view(torch.uint8))
    back = redfuse.compile(conversion(small, "f32", 300), target="cpu", options={"cache": False})
    assert torch.equal(back(got), got.float())


SMALL = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]


def values_of(dtype: torch.dtype) -> torch.Tensor:
    """All of a type of 8 or 16 bits; of wider ones those of 16 bits, their neighbours, and some
    between."""
    if dtype == torch.bool:
        return torch.tensor([False, True])
    if dtype.itemsize == 1:
        return torch.arange(256).to(torch.uint8).view(dtype)
    words = torch.arange(65536).to(torch.int32).to(torch.int16)
    if dtype.itemsize == 2:
        return words.view(dtype)
    if not dtype.is_floating_point:
        return torch.tensor([0, 1, -1, 17, 250, 448, 464, 465, -480, 57344, 61440, 10**9]).to(dtype)
    some = torch.cat([words.view(t).to(dtype) for t in (torch.bfloat16, torch.float16)])
    ends = torch.tensor([1e30, -1e30], dtype=dtype)
    return torch.cat([some, *(torch.nextafter(some, end) for end in ends)])


SOURCES = [
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool, torch.int8,
    torch.uint8, torch.int16, torch.int32, torch.int64, *SMALL,
]  # fmt: skip


@pytest.mark.parametrize("small", SMALL, ids=str)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_conversions_are_pytorchs(small: torch.dtype, source: torch.dtype) -> None:
    """To the bit, whether the installed PyTorch saturates or not; NaN is any."""
    if small == source:
        return
    x = values_of(source)
    exe = redfuse.compile(lambda x: x.to(small), inputs=[x], options={"cache": False})
    got, expected = exe(x), x.to(small)
    nan = expected.float().isnan()
    assert torch.equal(got.float().isnan(), nan)
    assert torch.equal(got.view(torch.uint8)[~nan], expected.view(torch.uint8)[~nan])


E4M3 = torch.float8_e4m3fn


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(
    "program",
    [
        lambda x: (x * 3).clamp(-448, 448).to(E4M3),
        lambda x: x.clamp(max=448.0).clamp(min=-448).to(E4M3),
        lambda x: torch.nn.functional.hardtanh(x, -240.0, 448.0).to(E4M3),
        lambda x: x.clamp(-448, 448).reshape(-1)[3:].to(E4M3),
        lambda x: torch.minimum(x.clamp(min=-1), torch.full_like(x, 448)).to(E4M3),
    ],
)
def test_clamped_values_are_not_clamped_again(program: Any, dtype: torch.dtype) -> None:
    x = torch.tensor([[-1e4, 3.0, 460.0], [470.0, float("nan"), float("inf")]], dtype=dtype)
    exe = redfuse.compile(program, inputs=[x], options={"cache": False})
    assert torch.equal(exe(x).float().nan_to_num(-7), program(x).float().nan_to_num(-7))
    text = exe.ir["source"]
    assert text.count("arith.maximumf") == text.count("arith.minimumf") == 1


@pytest.mark.parametrize(
    "program", [lambda x: x.to(E4M3), lambda x: x.clamp(-500, 448).to(E4M3),
                lambda x: x.clamp(max=448).to(E4M3)]
)  # fmt: skip
def test_other_values_are_clamped(program: Any) -> None:
    x = torch.tensor([-1e4, -470.0, 3.0, 470.0, float("nan"), -float("inf")])
    exe = redfuse.compile(program, inputs=[x], options={"cache": False})
    assert torch.equal(exe(x).float().nan_to_num(-7), program(x).float().nan_to_num(-7))


def test_a_constant_that_is_no_number() -> None:
    """One NaN, which equals nothing, is a constant all the same."""
    nan = torch.tensor(float("nan"))

    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.where(x > 0, x, nan), nan.clone()

    x = torch.randn(7)
    exe = redfuse.compile(program, inputs=[x], options={"cache": False})
    for made, want in zip(exe(x), program(x), strict=True):
        torch.testing.assert_close(made, want, rtol=0, atol=0, equal_nan=True)
