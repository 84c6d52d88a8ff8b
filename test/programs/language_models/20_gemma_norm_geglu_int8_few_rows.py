"""Decode-time Gemma MLP: (1 + w) RMS norm, GEGLU with int8 weight-only matrices, post norm, residual; 5 rows."""

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 5
HIDDEN = 2304
INTER = 9216


def gemma_norm(x, w, eps=1e-6):
    h = x.float()
    h = h * torch.rsqrt(torch.mean(h * h, dim=-1, keepdim=True) + eps)
    return (h * (1.0 + w.float())).type_as(x)


class Int8Linear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (o, i), dtype=torch.int8))
        self.register_buffer(
            "scales", ((torch.rand(o) * 0.5 + 0.75) / (73 * i**0.5)).to(torch.bfloat16)
        )

    def forward(self, x):
        return F.linear(x, self.weight.to(dtype=x.dtype)) * self.scales


class Model(nn.Module):
    def __init__(self, hidden, inter):
        super().__init__()
        self.pre = nn.Parameter(torch.randn(hidden, dtype=torch.bfloat16) * 0.1)
        self.post = nn.Parameter(torch.randn(hidden, dtype=torch.bfloat16) * 0.1)
        self.gate, self.up, self.down = (
            Int8Linear(hidden, inter),
            Int8Linear(hidden, inter),
            Int8Linear(inter, hidden),
        )

    def forward(self, x):
        h = gemma_norm(x, self.pre)
        h = F.gelu(self.gate(h), approximate="tanh") * self.up(h)
        return x + gemma_norm(self.down(h), self.post)


def get_inputs():
    return [torch.randn(ROWS, 1, HIDDEN, dtype=torch.bfloat16)]


def get_init_inputs():
    return [HIDDEN, INTER]
