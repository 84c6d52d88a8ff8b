"""Products of floats of 8 bits with scales (`torch._scaled_mm`), against PyTorch's own and f64."""

from __future__ import annotations

import pytest
import redfuse
import torch

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


class Scaled(torch.nn.Module):
    """``x`` times the transposed ``w``, as rows of weights lie."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(
        self, x: torch.Tensor, w: torch.Tensor, a: torch.Tensor, b: torch.Tensor,
        bias: torch.Tensor | None = None,
    ) -> torch.Tensor:  # fmt: skip
        return torch._scaled_mm(x, w.t(), a, b, bias=bias, out_dtype=self.dtype)


def draw(*shape: int, dtype: torch.dtype = E4M3) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


SCALES = {
    "one": (torch.tensor(0.5), torch.tensor(3.0)),
    "rows and columns": (torch.linspace(0.1, 2, 32)[:, None], torch.linspace(0.5, 1, 48)[None]),
}


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("has_bias", [False, True])
def test_scaled_products(scales: str, dtype: torch.dtype, has_bias: bool) -> None:
    x, w = draw(32, 64), draw(48, 64)
    a, b = SCALES[scales]
    given = [x, w, a, b]
    expected = (x.double() @ w.double().T) * a.double() * b.double()
    if has_bias:
        given.append(draw(48, dtype=torch.bfloat16))
        expected = expected + given[-1].double()
    exe = redfuse.compile(torch.export.export(Scaled(dtype), tuple(given)))
    found = exe(*given)
    assert found.dtype == dtype
    digits = 8 if dtype == torch.bfloat16 else 20
    # The sum's terms and the result are rounded.
    most = float((x.double().abs() @ w.double().abs().T).max() * a.max() * b.max())
    error = (found.double() - expected).abs()
    assert (error <= expected.abs() * 2.0**-digits + most * 2.0**-20).all()


def test_results_of_8_bits_are_the_largest_where_they_are_too_large() -> None:
    x, w = torch.full((16, 32), 8.0).to(E4M3), torch.full((16, 32), 4.0).to(E5M2)
    one = torch.tensor(1.0)
    exe = redfuse.compile(torch.export.export(Scaled(E4M3), (x, w, one, one)))
    assert (exe(x, w, one, one).float() == 448).all()
