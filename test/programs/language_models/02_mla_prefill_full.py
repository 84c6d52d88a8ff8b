"""MLA prefill without absorption: low-rank q and kv projections, rope on the shared key part, causal SDPA."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
SEQ = 1237
HIDDEN = 2560
HEADS = 20
Q_RANK = 768
KV_RANK = 512
NOPE_DIM = 128
ROPE_DIM = 64
V_DIM = 128


class RMSNorm(nn.Module):
    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n, dtype=torch.bfloat16))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * h.to(x.dtype)


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def apply_rope(x, cos, sin):
    # DeepSeek stores the pairs interleaved; de-interleave first
    b, h, s, d = x.shape
    x = x.view(b, h, s, d // 2, 2).transpose(4, 3).reshape(b, h, s, d)
    return x * cos + rotate_half(x) * sin


class Model(nn.Module):
    def __init__(self, hidden, heads, q_rank, kv_rank, nope, rope, v_dim):
        super().__init__()
        self.h, self.nope, self.rope, self.v_dim, self.kv_rank = heads, nope, rope, v_dim, kv_rank
        kw = dict(bias=False, dtype=torch.bfloat16)
        self.q_a = nn.Linear(hidden, q_rank, **kw)
        self.q_norm = RMSNorm(q_rank)
        self.q_b = nn.Linear(q_rank, heads * (nope + rope), **kw)
        self.kv_a = nn.Linear(hidden, kv_rank + rope, **kw)
        self.kv_norm = RMSNorm(kv_rank)
        self.kv_b = nn.Linear(kv_rank, heads * (nope + v_dim), **kw)
        self.o = nn.Linear(heads * v_dim, hidden, **kw)
        self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, rope, 2).float() / rope))

    def forward(self, x, position_ids):
        b, s, _ = x.shape
        q = self.q_b(self.q_norm(self.q_a(x))).view(b, s, self.h, -1).transpose(1, 2)
        q_nope, q_pe = q.split([self.nope, self.rope], dim=-1)
        c, k_pe = self.kv_a(x).split([self.kv_rank, self.rope], dim=-1)
        kv = self.kv_b(self.kv_norm(c)).view(b, s, self.h, self.nope + self.v_dim).transpose(1, 2)
        k_nope, v = kv.split([self.nope, self.v_dim], dim=-1)
        freqs = position_ids[..., None].float() * self.inv_freq
        emb = torch.cat((freqs, freqs), dim=-1)
        cos, sin = emb.cos().to(x.dtype).unsqueeze(1), emb.sin().to(x.dtype).unsqueeze(1)
        q_pe = apply_rope(q_pe, cos, sin)
        k_pe = apply_rope(k_pe.reshape(b, 1, s, self.rope), cos, sin)
        query = torch.cat([q_nope, q_pe], dim=-1)
        key = torch.cat([k_nope, k_pe.expand(-1, self.h, -1, -1)], dim=-1)
        out = F.scaled_dot_product_attention(query, key, v, is_causal=True)
        return self.o(out.transpose(1, 2).reshape(b, s, -1))


def get_inputs():
    x = torch.randn(BATCH, SEQ, HIDDEN, dtype=torch.bfloat16)
    pos = torch.arange(SEQ).unsqueeze(0).repeat(BATCH, 1)
    return [x, pos]


def get_init_inputs():
    return [HIDDEN, HEADS, Q_RANK, KV_RANK, NOPE_DIM, ROPE_DIM, V_DIM]
