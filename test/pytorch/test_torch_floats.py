"""PyTorch's floats of 8 bits: arguments, results and conversions."""

from __future__ import annotations

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
