"""An attention of one's own: a soft cap on the scores and a penalty for distance.

    pip install "redfuse[torch]" && python examples/pytorch/attention.py

No kernel is written for it anywhere. `redfuse.compile` makes one of the whole function: five loops
become one that never stores the scores.
"""

import redfuse
import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Weights of scores that are capped at 20 and fall with the distance of their places."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    scores = 20 * torch.tanh(scores / 20)
    places = torch.arange(q.shape[-2])
    scores = scores - 0.1 * (places[:, None] - places[None, :]).abs()
    return torch.softmax(scores, -1) @ v


torch.manual_seed(0)
q, k, v = (torch.randn(1, 4, 512, 64) for _ in range(3))

fused = redfuse.compile(attention, inputs=(q, k, v))
exact = attention(q.double(), k.double(), v.double())
error = (fused(q, k, v).double() - exact).abs().max()
print(fused.explain())
print(f"largest difference from fp64: {error:.1e}")
assert error < 1e-4

# Inside a larger model the same function is left or taken, as predictions are.
print(redfuse.explain(attention, (q, k, v)))
