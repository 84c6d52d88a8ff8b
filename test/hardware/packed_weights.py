"""Few rows of bf16 by packed weights: `python test/hardware/packed_weights.py [ROWS ...]`.

Weights of 11008 x 4096 in 8 bits with a scale a column, and in 4 bits, two a byte, with one for each 128 of the
sum. L2 cold, by replaying graphs; the rate at which the weights' bytes are read, and beside it torch.compile.
"""

from __future__ import annotations

import sys
import warnings

import redfuse
import torch
from bytes import replayed
from timing import microseconds

COLUMNS, SUM, SETS = 11008, 4096, 4
ROWS = (1, 2, 4, 5, 8, 16, 32, 64)


def of_8_bits(x: torch.Tensor, w: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    return (x @ w.to(x.dtype).t()) * s


def of_4_bits(x: torch.Tensor, w: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    n, k = w.shape[0], 2 * w.shape[1]
    codes = torch.stack((w & 15, w >> 4), -1).reshape(n, k // 128, 128).to(x.dtype) - 8
    return x @ (codes * s[..., None]).reshape(n, k).t()


def run(rows: int) -> None:
    torch.manual_seed(rows)
    x = torch.randn(rows, SUM, device="cuda").bfloat16()
    for f in (of_8_bits, of_4_bits):
        width, scales = (SUM, (COLUMNS,)) if f is of_8_bits else (SUM // 2, (COLUMNS, SUM // 128))
        kind = torch.int8 if f is of_8_bits else torch.uint8
        data = [
            (
                x,
                torch.randint(0, 127, (COLUMNS, width), device="cuda", dtype=kind),
                torch.rand(scales, device="cuda").bfloat16(),
            )
            for _ in range(SETS)
        ]
        meta = [v.to("meta") for v in data[0]]
        own = redfuse.compile(f, inputs=meta, target="cuda", options={"cache": False})
        torch._dynamo.reset()
        peer = torch.compile(f, dynamic=False)
        graphs = [
            replayed(lambda i, g=g, data=data: g(*data[i]), SETS)  # type: ignore[misc]
            for g in (own, peer)
        ]
        times = [[microseconds(graph, 1, calls=4) / SETS for graph in graphs] for _ in range(3)]
        mine, theirs = (sorted(one)[1] for one in zip(*times, strict=True))
        print(
            f"{rows:3} rows {f.__name__}  {mine:8.1f} us {1e-6 * COLUMNS * width / mine:5.2f} TB/s  "
            f"torch.compile {theirs:8.1f} us {theirs / mine:.2f}",
            flush=True,
        )


def main() -> int:
    warnings.simplefilter("ignore")
    for rows in [int(text) for text in sys.argv[1:]] or ROWS:
        run(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
