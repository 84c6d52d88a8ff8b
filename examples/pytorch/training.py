"""Training steps through torch.compile: forward and backward graphs, with eager's gradients.

pip install "redfuse[torch]" && python examples/pytorch/training.py
"""

import copy

import redfuse
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.LayerNorm(256), nn.GELU(), nn.Linear(256, 10))
twin = copy.deepcopy(model)
x, y = torch.randn(2048, 64), torch.randint(0, 10, (2048,))


def train(run: nn.Module, parameters: list[nn.Parameter]) -> list[float]:
    """The losses of five steps."""
    optimizer = torch.optim.AdamW(parameters, lr=1e-2)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(run(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


fast = train(torch.compile(model, backend="redfuse"), list(model.parameters()))
slow = train(twin, list(twin.parameters()))
print(redfuse.explain(model, (x,)))
print("losses:", " ".join(f"{v:.4f}" for v in fast))
assert max(abs(a - b) for a, b in zip(fast, slow, strict=True)) < 1e-3
