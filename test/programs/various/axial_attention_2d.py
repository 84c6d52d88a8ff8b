import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Row then column self-attention over a feature map with positional embeddings per axis."""

    def __init__(self, c, heads, h, w):
        super().__init__()
        self.row = nn.MultiheadAttention(c, heads, batch_first=True)
        self.qkv = nn.Linear(c, 3 * c, bias=False)
        self.o = nn.Linear(c, c)
        self.heads = heads
        self.pr = nn.Parameter(torch.randn(1, w, c) * 0.02)
        self.pc = nn.Parameter(torch.randn(1, h, c) * 0.02)

    def forward(self, x):
        b, c, h, w = x.shape
        r = x.permute(0, 2, 3, 1).reshape(b * h, w, c) + self.pr
        a, _ = self.row(r, r, r, need_weights=False)
        r = (r + a).view(b, h, w, c)
        col = r.transpose(1, 2).reshape(b * w, h, c) + self.pc
        q, k, v = self.qkv(col).view(b * w, h, 3, self.heads, -1).unbind(2)
        s = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.size(-1))
        y = torch.einsum("bhij,bjhd->bihd", s.softmax(-1), v).reshape(b * w, h, c)
        y = (col + self.o(y)).view(b, w, h, c)
        return y.permute(0, 3, 2, 1)


def get_inputs():
    return [torch.randn(2, 84, 47, 61)]


def get_init_inputs():
    return [84, 6, 47, 61]
