"""T5 encoder self-attention with bucketed relative position bias (float32, no scaling)."""

import math

import torch
import torch.nn as nn

BATCH = 5
SEQ = 613
D_MODEL = 768
HEADS = 12
D_KV = 64
BUCKETS = 32
MAX_DISTANCE = 128


class Model(nn.Module):
    def __init__(self, d_model, heads, d_kv, buckets, max_distance):
        super().__init__()
        inner = heads * d_kv
        self.heads, self.d_kv, self.buckets, self.max_distance = heads, d_kv, buckets, max_distance
        self.ln = nn.Parameter(torch.ones(d_model))
        self.q = nn.Linear(d_model, inner, bias=False)
        self.k = nn.Linear(d_model, inner, bias=False)
        self.v = nn.Linear(d_model, inner, bias=False)
        self.o = nn.Linear(inner, d_model, bias=False)
        nn.init.normal_(self.q.weight, std=(d_model * d_kv) ** -0.5)
        nn.init.normal_(self.k.weight, std=d_model**-0.5)
        self.rel = nn.Embedding(buckets, heads)

    def _bucket(self, rel_pos):
        n = self.buckets // 2
        out = (rel_pos > 0).long() * n
        rel = rel_pos.abs()
        exact = n // 2
        big = (
            exact
            + (
                torch.log(rel.clamp(min=1).float() / exact)
                / math.log(self.max_distance / exact)
                * (n - exact)
            ).long()
        )
        big = torch.min(big, torch.full_like(big, n - 1))
        return out + torch.where(rel < exact, rel, big)

    def forward(self, x, mask):
        b, s, _ = x.shape
        h = self.ln * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6))
        q = self.q(h).view(b, s, self.heads, self.d_kv).transpose(1, 2)
        k = self.k(h).view(b, s, self.heads, self.d_kv).transpose(1, 2)
        v = self.v(h).view(b, s, self.heads, self.d_kv).transpose(1, 2)
        ctx_pos = torch.arange(s, device=x.device)[:, None]
        mem_pos = torch.arange(s, device=x.device)[None, :]
        bias = self.rel(self._bucket(mem_pos - ctx_pos)).permute(2, 0, 1).unsqueeze(0)
        bias = bias + (1.0 - mask[:, None, None, :]) * -1e9
        scores = q @ k.transpose(3, 2)
        scores += bias
        p = scores.softmax(-1).type_as(scores)
        out = (p @ v).transpose(1, 2).contiguous().view(b, s, -1)
        return x + self.o(out)


def get_inputs():
    x = torch.randn(BATCH, SEQ, D_MODEL)
    lens = torch.randint(SEQ // 2, SEQ + 1, (BATCH, 1))
    return [x, (torch.arange(SEQ)[None] < lens).float()]


def get_init_inputs():
    return [D_MODEL, HEADS, D_KV, BUCKETS, MAX_DISTANCE]
