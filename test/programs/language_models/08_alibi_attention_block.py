"""MPT/BLOOM-like attention with ALiBi slopes: 20 heads of 80, baddbmm spelling."""

import math

import torch
import torch.nn as nn

BATCH = 2
SEQ = 1237
HEADS = 20
HEAD_DIM = 80


def alibi_slopes(n):
    p = 2 ** math.floor(math.log2(n))
    base = 2.0 ** (-(2.0 ** -(math.log2(p) - 3)))
    s = [base ** (i + 1) for i in range(p)]
    if p != n:
        extra = 2.0 ** (-(2.0 ** -(math.log2(2 * p) - 3)))
        s += [extra ** (2 * i + 1) for i in range(n - p)]
    return torch.tensor(s[:n], dtype=torch.float32)


class Model(nn.Module):
    def __init__(self, heads, head_dim):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        dim = heads * head_dim
        self.query_key_value = nn.Linear(dim, 3 * dim, dtype=torch.float16)
        self.dense = nn.Linear(dim, dim, dtype=torch.float16)
        self.register_buffer("slopes", alibi_slopes(heads))
        self.inv_norm = 1.0 / math.sqrt(head_dim)

    def forward(self, hidden, residual, attention_mask):
        b, s, _ = hidden.shape
        fused = self.query_key_value(hidden).view(b, s, self.heads, 3, self.head_dim)
        q, k, v = fused[..., 0, :], fused[..., 1, :], fused[..., 2, :]
        q = q.transpose(1, 2).reshape(b * self.heads, s, self.head_dim)
        k = k.permute(0, 2, 3, 1).reshape(b * self.heads, self.head_dim, s)
        v = v.transpose(1, 2).reshape(b * self.heads, s, self.head_dim)
        pos = (attention_mask.cumsum(dim=-1) - 1) * attention_mask
        dist = (pos[:, None, None, :] - pos[:, None, :, None]).float()
        alibi = (
            (self.slopes.view(1, -1, 1, 1) * dist).reshape(b * self.heads, s, s).to(hidden.dtype)
        )
        scores = torch.baddbmm(alibi, q, k, beta=1.0, alpha=self.inv_norm)
        scores = scores.view(b, self.heads, s, s).float()
        causal = torch.ones(s, s, dtype=torch.bool, device=hidden.device).triu(1)
        scores = scores.masked_fill(causal, float("-inf"))
        probs = torch.softmax(scores, dim=-1).to(hidden.dtype).view(b * self.heads, s, s)
        ctx = torch.bmm(probs, v).view(b, self.heads, s, self.head_dim)
        ctx = ctx.permute(0, 2, 1, 3).reshape(b, s, -1)
        return self.dense(ctx) + residual


def get_inputs():
    d = HEADS * HEAD_DIM
    return [
        torch.randn(BATCH, SEQ, d, dtype=torch.float16),
        torch.randn(BATCH, SEQ, d, dtype=torch.float16),
        torch.ones(BATCH, SEQ, dtype=torch.long),
    ]


def get_init_inputs():
    return [HEADS, HEAD_DIM]
