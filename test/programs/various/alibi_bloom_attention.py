import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """BLOOM attention: fused qkv, ALiBi slopes, causal mask, tanh-approximated gelu MLP."""

    def __init__(self, d, heads):
        super().__init__()
        self.h = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.dense = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.register_buffer(
            "slopes", torch.tensor([2 ** (-8.0 * (i + 1) / heads) for i in range(heads)])
        )

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, l, self.h, 3, d // self.h).unbind(3)
        q, k, v = q.transpose(1, 2), k.permute(0, 2, 3, 1), v.transpose(1, 2)
        pos = torch.arange(l, device=x.device)
        alibi = self.slopes[:, None, None] * (pos[None, :] - pos[:, None])
        scores = torch.matmul(q, k) / math.sqrt(d // self.h) + alibi
        causal = torch.ones(l, l, dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(causal, torch.finfo(scores.dtype).min)
        y = torch.matmul(F.softmax(scores, -1), v).transpose(1, 2).reshape(b, l, d)
        x = x + self.dense(y)
        h = self.up(self.ln2(x))
        h = 0.5 * h * (1.0 + torch.tanh(0.79788456 * h * (1 + 0.044715 * h * h)))
        return x + self.down(h)


def get_inputs():
    return [torch.randn(2, 347, 576)]


def get_init_inputs():
    return [576, 12]
