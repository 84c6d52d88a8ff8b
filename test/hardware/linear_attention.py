"""Attention without a softmax on a GPU: `python test/hardware/linear_attention.py [NAME ...]`.

As people write it in PyTorch: states of chunks (with decays, Mamba-2's form of it; without them), and
all pairs of positions with decays. L2 cold, by replaying graphs, beside torch.compile.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import torch
from beside import compare
from torch.nn import functional as F  # noqa: N812

CHUNK = 64


def chunks(x: torch.Tensor) -> torch.Tensor:
    return x.unflatten(1, (-1, CHUNK))


def sums_between(x: torch.Tensor) -> torch.Tensor:
    """[..., i, j]: the sum of the elements behind j up to i; minus infinity where j is behind i."""
    n = x.shape[-1]
    ones = torch.ones(n, n, device=x.device, dtype=torch.bool)
    rows = x.unsqueeze(-1).expand(*x.shape, n).masked_fill(~ones.tril(-1), 0)
    return rows.cumsum(-2).masked_fill(~ones.tril(), -torch.inf)


def decayed_states(
    x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor
) -> torch.Tensor:
    """Values [batch, time, heads, p], decays (logarithms) [batch, time, heads], keys and queries
    [batch, time, heads, n]."""
    x, a, b, c = (chunks(v) for v in (x, a, b, c))
    a = a.permute(0, 3, 1, 2)
    total = a.cumsum(-1)
    inside = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", c, b, sums_between(a).exp(), x)
    to_end = (total[..., -1:] - total).exp()
    states = torch.einsum("bclhn,bhcl,bclhp->bchpn", b, to_end, x)
    states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
    across = sums_between(F.pad(total[..., -1], (1, 0))).exp()
    states = torch.einsum("bhzc,bchpn->bzhpn", across, states)[:, :-1]
    before = torch.einsum("bclhn,bchpn,bhcl->bclhp", c, states, total.exp())
    return (inside + before).flatten(1, 2)


def plain_states(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    q, k, v = (chunks(x).permute(0, 3, 1, 2, 4) for x in (q * q.shape[-1] ** -0.5, k, v))
    states = (k.mT @ v).cumsum(2)
    states = torch.cat([torch.zeros_like(states[:, :, :1]), states[:, :, :-1]], 2)
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).triu(1)
    o = q @ states + (q @ k.mT).masked_fill(later, 0) @ v
    return o.permute(0, 2, 3, 1, 4).flatten(1, 2)


def decayed_pairs(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor
) -> torch.Tensor:
    q, k, v, g = (x.transpose(1, 2) for x in (q, k, v, g))
    wide = torch.promote_types(q.dtype, torch.float32)
    g = g.to(wide).cumsum(-1)
    decay = (g.unsqueeze(-1) - g.unsqueeze(-2)).tril().exp().tril()
    scores = (q @ k.mT).to(wide) * q.shape[-1] ** -0.5 * decay
    return (scores.to(v.dtype) @ v).transpose(1, 2)


def normal(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return (torch.randn(shape, device="cuda") * 0.3).to(dtype)


def decays(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return (torch.rand(shape, device="cuda") * -0.2).to(dtype)


def cases(dtype: torch.dtype) -> dict[str, tuple[Callable, Callable]]:
    def heads(*shape: int) -> list[torch.Tensor]:
        return [normal(*shape, dtype=dtype) for _ in range(3)]

    def mixed() -> list[torch.Tensor]:
        x, b, c = heads(4, 4096, 32, 64)
        return [x, decays(4, 4096, 32, dtype=dtype), b, c]

    return {
        "decayed_states": (decayed_states, mixed),
        "plain_states": (plain_states, lambda: heads(4, 4096, 16, 128)),
        "decayed_pairs": (
            decayed_pairs,
            lambda: [*heads(2, 4096, 16, 128), decays(2, 4096, 16, dtype=dtype)],
        ),
    }


def main() -> int:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    for dtype in (torch.bfloat16, torch.float32):
        for name, (f, make) in cases(dtype).items():
            if not sys.argv[1:] or name in sys.argv[1:]:
                compare(f"{name} {str(dtype).removeprefix('torch.')}", f, make)
    return 0


if __name__ == "__main__":
    sys.exit(main())
