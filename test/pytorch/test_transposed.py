"""Transposed convolutions: strides, paddings, dilations, groups and sizes of the result, beside PyTorch in fp64."""

from __future__ import annotations

import pytest
import redfuse
import torch

FUNCTIONS = {
    1: torch.nn.functional.conv_transpose1d,
    2: torch.nn.functional.conv_transpose2d,
    3: torch.nn.functional.conv_transpose3d,
}


def draw(seed: int) -> tuple[int, tuple[int, ...], tuple[int, ...], dict]:
    """Dims, shapes of input and filters, and how the convolution goes; results that exist."""
    random = torch.Generator().manual_seed(seed)

    def number(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=random))

    while True:
        n, groups = number(1, 3), number(1, 2)
        stride, dilation, window, size = (
            [number(1, most) for _ in range(n)] for most in (4, 3, 5, 6)
        )
        padding = [number(0, 4) for _ in range(n)]
        more = [number(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True)]
        extents = [
            (e - 1) * s - 2 * p + d * (k - 1) + m + 1
            for e, s, p, d, k, m in zip(size, stride, padding, dilation, window, more, strict=True)
        ]
        if min(extents) > 0:
            how = {"stride": stride, "padding": padding, "output_padding": more, "groups": groups,
                   "dilation": dilation}  # fmt: skip
            return n, (number(1, 2), 2 * groups, *size), (2 * groups, 3, *window), how


@pytest.mark.parametrize("seed", range(16))
def test_transposed(seed: int) -> None:
    n, shape, filters, how = draw(seed)
    torch.manual_seed(seed)
    x, w, bias = torch.randn(shape), torch.randn(filters), torch.randn(3 * how["groups"])

    def program(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.relu(FUNCTIONS[n](x, w, bias, **how))

    got = redfuse.compile(program, inputs=(x, w, bias), options={"cache": False})(x, w, bias)
    want = program(x.double(), w.double(), bias.double())
    # A sum of as many products as the window has taps for two channels; each rounds once.
    count = 2 * w[0, 0].numel() + 2
    size = FUNCTIONS[n](x.double().abs(), w.double().abs(), bias.double().abs(), **how)
    assert got.shape == want.shape
    assert ((got.double() - want).abs() <= count * torch.finfo(torch.float32).eps * size).all()
