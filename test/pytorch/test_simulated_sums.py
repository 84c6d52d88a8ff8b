"""Long sums, few rows, odd rows and seams of concatenations on a GPU: by the simulator, in fp64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from simulated import Case, outcomes, rows

pytestmark = pytest.mark.sample(3)


CASES: dict[str, Case] = {
    # Pairs of rows and columns that are no products of matrices share what they read.
    "distances": (lambda x, y: (x[:, None] - y[None]).abs().sum(-1), [rows(37, 29), rows(45, 29, seed=1)]),
    "farthest": (lambda x, y: (x[:, None] - y[None]).abs().amax(-1), [rows(37, 29), rows(45, 29, seed=1)]),
    # Few rows that no matrix unit takes.
    "few_rows": (lambda x, y: torch.nn.functional.silu(x @ y), [rows(5, 333).half(), rows(333, 77, seed=1).half()]),
    "few_rows_f32": (lambda x, y: x @ y, [rows(3, 1030), rows(1030, 77, seed=1)]),
    "seven_rows_f32": (lambda x, y: x @ y, [rows(7, 1024), rows(1024, 64, seed=1)]),
    # Eight rows by ragged weights, which are copied.
    "eight_rows_ragged": (torch.nn.functional.linear, [rows(8, 2311).half(), rows(1280, 2311, seed=1).half()]),
    # Sums that are cut: a prime extent has a rest.
    "long": (lambda x, y, b: torch.relu(x.t() @ y + b), [rows(16007, 20), rows(16007, 24, seed=1), rows(24, seed=2)]),
    "long_f16": (lambda x, y: x.t() @ y, [rows(16007, 20).half(), rows(16007, 24, seed=1).half()]),
    # Parts of a concatenation that are kernels of their own, and slices of results.
    "seam": (lambda x, y: torch.cat([torch.relu(x), y * 2], 1).t().contiguous(), [rows(1000, 4160), rows(1000, 1201, seed=1)]),
    "slice": (lambda x, y: torch.slice_scatter(x, y, 1, 3, 20), [rows(37, 29), rows(37, 17, seed=1)]),
    # Results whose rows are no whole 16 bytes, of odd and of even length.
    "odd_columns": (lambda x, w, b: torch.relu(torch.nn.functional.linear(x, w, b)),
                    [rows(260, 128).half(), rows(1333, 128, seed=1).half(), rows(1333, seed=2).half()]),
    "odd_columns_f32": (lambda x, w: torch.nn.functional.linear(x, w).float() * 0.3,
                        [rows(200, 64).half(), rows(333, 64, seed=1).half()]),
    "even_columns": (torch.nn.functional.linear, [rows(300, 64).half(), rows(1002, 64, seed=1).half()]),
    # Ranks of the smallest; means of prefixes of rows that no vector fits.
    "smallest": (lambda x: x.topk(5, largest=False)[0], [rows(9, 61)]),
    "prefixes": (lambda x: (torch.cumsum(x, 1).exp().mean(1), torch.cumsum(x, 1).mean(1)), [rows(257, 91)]),
    # Planes of odd rows.
    "planes": (lambda x: torch.nn.functional.batch_norm(x, None, None, None, None, True), [rows(13, 5, 10, 10).half().float()]),
    # Windows along a sequence whose channels lie side by side.
    "sequence": (lambda x, w: torch.nn.functional.silu(torch.nn.functional.conv1d(x.transpose(1, 2), w, padding=3, groups=300)),
                 [rows(2, 700, 300), rows(300, 1, 4, seed=1)]),
    # Pixels that are computed before they are multiplied.
    "pixels": (lambda x, w: torch.nn.functional.conv2d(torch.relu(x * 2 + 1), w),
               [rows(1, 32, 9, 130).half(), rows(64, 32, 1, 1, seed=1).half()]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_simulated(name: str) -> None:
    for got, eager, exact in outcomes(CASES[name]):
        distance = np.abs(eager.double().numpy() - exact).max()
        # PyTorch's distance twice, the order of sums, and the rounding of the result's type.
        unit = torch.finfo(eager.dtype).eps
        order = 2.0**-23 * np.sqrt(16007) * np.abs(exact).max()
        allowed = 2 * distance + order + unit * np.abs(exact)
        assert (np.abs(np.asarray(got, np.float64) - exact) <= allowed).all()
