"""The first elements of rows in order, NaN and equal ones among them, beside a stable sort."""

from __future__ import annotations

import pytest
import redfuse
import torch

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32]


class First(torch.nn.Module):
    def __init__(self, k: int, largest: bool, is_sort: bool):
        super().__init__()
        self.k, self.largest, self.is_sort = k, largest, is_sort

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.is_sort:
            values, places = x.sort(dim=-1, descending=self.largest, stable=True)
            return values[:, : self.k], places[:, : self.k]
        return x.topk(self.k, dim=-1, largest=self.largest)


def draw(dtype: torch.dtype, seed: int, rows: int = 5, columns: int = 37) -> torch.Tensor:
    """Rows with NaN, infinities, both zeros and equal numbers; the first of NaN alone."""
    g = torch.Generator().manual_seed(seed)
    if not dtype.is_floating_point:
        return torch.randint(-5, 5, (rows, columns), generator=g).to(dtype)
    x = torch.randn(rows, columns, generator=g)
    for value in (torch.nan, torch.inf, -torch.inf, 0.0, -0.0):
        x[torch.rand(x.shape, generator=g) < 0.15] = value
    x[0] = torch.nan
    return x.to(dtype)


def check(values: torch.Tensor, places: torch.Tensor, x: torch.Tensor, k: int, largest: bool):
    expected, where = x.sort(dim=-1, descending=largest, stable=True)
    assert torch.equal(torch.as_tensor(places), where[:, :k])
    torch.testing.assert_close(
        torch.as_tensor(values), expected[:, :k], rtol=0, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("is_sort", [False, True])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [1, 7, 24])
@pytest.mark.parametrize("dtype", DTYPES)
def test_first(dtype: torch.dtype, k: int, largest: bool, is_sort: bool) -> None:
    x = draw(dtype, k)
    check(*redfuse.compile(First(k, largest, is_sort), inputs=[x])(x), x, k, largest)


def test_the_smallest_on_a_gpu_are_one_kernel() -> None:
    rows = torch.empty(257, 1531, device="meta")
    made = redfuse.compile(First(24, False, False), inputs=[rows], target="cuda:sm_90a")
    assert [launch.kernel for launch in made.launches] == ["main_0"]
