"""Operations at places that are data, and scans, on a GPU: by the simulator, against fp64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from simulated import Case, outcomes, rows

pytestmark = pytest.mark.sample(3)


def places(most: int, *shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(seed))


def reduced(kind: str) -> Callable[..., torch.Tensor]:
    return lambda x, i, y: x.scatter_reduce(0, i[:, None].expand(-1, 3), y, kind)


CASES: dict[str, Case] = {
    # Places of one update and of more than a chunk of them, and none at all.
    "index_add": (lambda x, i, y: x.index_add(0, i, y), [rows(37, 3), places(37, 307), rows(307, 3)]),
    "one_place": (lambda x, i, y: x.index_add(0, i * 0 + 5, y), [rows(7, 3), places(7, 307), rows(307, 3)]),
    "replaced": (lambda x, i, y: x.index_put((i,), y), [rows(17, 3), places(17, 307), rows(307, 3)]),
    "pairs": (lambda x, i, j, y: x.index_put((i, j), y, accumulate=True),
              [rows(9, 5), places(9, 300), places(5, 300, seed=2), rows(300)]),
    "short": (lambda x, i, y: x.bfloat16().index_add(0, i, y.bfloat16()).float(),
              [rows(11, 3), places(11, 300), rows(300, 3)]),
    "mean": (reduced("mean"), [rows(11, 3), places(11, 300), rows(300, 3)]),
    "largest": (reduced("amax"), [rows(11, 3), places(11, 300), rows(300, 3)]),
    "product": (reduced("prod"), [rows(111, 3), places(111, 300), rows(300, 3)]),
    "rows_of_few": (lambda x, i, y: x.scatter(1, i, y).scatter_add(1, i, y), [rows(5, 33), places(33, 5, 3), rows(5, 3)]),
    "rows_of_many": (lambda x, i, y: x.scatter_add(1, i, y), [rows(5, 33), places(33, 5, 70), rows(5, 70)]),
    "ordered": (lambda x, y: torch.searchsorted(x.sort(0)[0], y), [rows(67), rows(50, seed=3)]),
    "ordered_right": (lambda x, y: torch.searchsorted(x.round().sort(-1)[0], y.round(), right=True), [rows(3, 65), rows(3, 20, seed=3)]),
    "rolled": (lambda x: x.roll((-3, 2), (0, 1)).unflatten(0, (2, 4)).transpose(0, 1).contiguous(), [rows(8, 7)]),
    "logcumsumexp": (lambda x: (x * 20).logcumsumexp(-1), [rows(5, 301)]),
    "masked": (lambda x, y: torch.masked_scatter(x, x > 0, y), [rows(3 * 4096), rows(3 * 4096, seed=3)]),
    "merged_ranks": (lambda x: x.topk(40, 0), [rows(500, 7)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_simulated(name: str) -> None:
    for got, eager, exact in outcomes(CASES[name]):
        if not np.issubdtype(exact.dtype, np.floating):
            np.testing.assert_array_equal(got, eager.numpy())
            continue
        # Updates of 16 bits are rounded one by one by PyTorch, once here.
        unit = 2.0**-7 if name == "short" else 2.0**-22
        allowed = 2 * np.abs(eager.numpy() - exact).max() + unit * (1 + np.abs(exact))
        assert (np.abs(got - exact) <= allowed).all()
