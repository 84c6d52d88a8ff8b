"""Few rows by packed weights on a GPU: `python test/hardware/packed_weights.py [ROWS ...]`.

Weights of 11008 x 4096: in 8 bits with a scale a column, or with one for each 128 of the sum; in 4
bits, two a byte, with one for each 128; and in 4 bits, eight a word along the sum, with scales and zero
points for each 128 (as GPTQ stores them; f16, the others bf16). L2 cold, by replaying graphs; the rate
at which the weights' bytes are read, and beside it torch.compile.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import torch
from beside import compare

COLUMNS, SUM, GROUP = 11008, 4096, 128
ROWS = (1, 2, 4, 5, 8, 16, 32, 64)


def of_8_bits(x: torch.Tensor, w: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    return (x @ w.to(x.dtype).t()) * s


def of_8_bits_in_groups(x: torch.Tensor, w: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    return x @ (w.unflatten(1, (-1, GROUP)).to(x.dtype) * s[..., None]).flatten(1).t()


def of_4_bits(x: torch.Tensor, w: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    codes = torch.stack((w & 15, w >> 4), -1).reshape(len(w), -1, GROUP).to(x.dtype) - 8
    return x @ (codes * s[..., None]).flatten(1).t()


def of_words(
    x: torch.Tensor, w: torch.Tensor, zeros: torch.Tensor, s: torch.Tensor
) -> torch.Tensor:
    shifts = torch.arange(0, 32, 4, device=x.device, dtype=torch.int32)
    codes = ((w[:, None] >> shifts[:, None]) & 15).reshape(len(s), GROUP, -1)
    zero = ((zeros[:, :, None] >> shifts) & 15).flatten(1)
    return x @ ((codes - zero[:, None]).to(s.dtype) * s[:, None]).flatten(0, 1)


def integers(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max + 1, shape, device="cuda").to(dtype)


def cases(rows: int) -> dict[str, tuple[Callable, Callable, int]]:
    def inputs(width: int, kind: torch.dtype, *scales: int) -> Callable[[], list[torch.Tensor]]:
        return lambda: [
            torch.randn(rows, SUM, device="cuda").bfloat16(),
            integers(COLUMNS, width, dtype=kind),
            torch.rand(scales, device="cuda").bfloat16(),
        ]

    def words() -> list[torch.Tensor]:
        return [
            torch.randn(rows, SUM, device="cuda").half(),
            integers(SUM // 8, COLUMNS, dtype=torch.int32),
            integers(SUM // GROUP, COLUMNS // 8, dtype=torch.int32),
            torch.rand(SUM // GROUP, COLUMNS, device="cuda").half() * 0.01,
        ]

    groups = COLUMNS, SUM // GROUP
    byte, half = COLUMNS * SUM, COLUMNS * SUM // 2
    return {
        "8 bits": (of_8_bits, inputs(SUM, torch.int8, COLUMNS), byte),
        "8 bits in groups": (of_8_bits_in_groups, inputs(SUM, torch.int8, *groups), byte),
        "4 bits": (of_4_bits, inputs(SUM // 2, torch.uint8, *groups), half),
        "words of 4 bits": (of_words, words, half),
    }


def main() -> int:
    warnings.simplefilter("ignore")
    for rows in [int(text) for text in sys.argv[1:]] or ROWS:
        torch.manual_seed(rows)
        for name, (f, make, moved) in cases(rows).items():
            compare(f"{rows} rows, {name}", f, make, moved)
    return 0


if __name__ == "__main__":
    sys.exit(main())
