"""The most likely word on a GPU: `python test/hardware/vocabulary.py [ROWS ...]`.

Rows of 4096 by a head of 128256 words, bf16: the logits are in no memory. The rate at which the
head's bytes are read, beside torch.compile, which stores them; errors are shares of other words than
fp64's (logits that round to the same bf16 are equal here).
"""

from __future__ import annotations

import sys
import warnings

import torch
from beside import compare

WORDS, WIDTH = 128256, 4096
ROWS = (1, 2, 4, 8, 16, 32, 64)


def most_likely(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w.t()).argmax(-1)


def main() -> int:
    warnings.simplefilter("ignore")
    for rows in [int(text) for text in sys.argv[1:]] or ROWS:
        torch.manual_seed(rows)
        compare(
            f"{rows} rows", most_likely,
            lambda rows=rows: [torch.randn(n, WIDTH, device="cuda").bfloat16() for n in (rows, WORDS)],
            moved=2 * WORDS * WIDTH,
        )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
