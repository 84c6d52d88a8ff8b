"""Qwen3 attention: fused qkv, per-head RMS norm of q and k, rope, GQA causal attention, output projection."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
SEQ = 1873
HIDDEN = 1024
Q_HEADS = 16
KV_HEADS = 8
HEAD_DIM = 128
THETA = 1000000.0


def head_norm(x, w, eps: float = 1e-6):
    dt = x.dtype
    x = x.to(torch.float32)
    var = x.pow(2).mean(-1, keepdim=True)
    return (x * torch.rsqrt(var + eps)).to(dt) * w


def rope(x, cos, sin):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


class Model(nn.Module):
    def __init__(self, hidden, hq, hk, d, theta):
        super().__init__()
        self.hq, self.hk, self.d = hq, hk, d
        self.qkv_proj = nn.Linear(hidden, (hq + 2 * hk) * d, bias=False, dtype=torch.bfloat16)
        self.o_proj = nn.Linear(hq * d, hidden, bias=False, dtype=torch.bfloat16)
        self.q_norm = nn.Parameter(torch.ones(d, dtype=torch.bfloat16))
        self.k_norm = nn.Parameter(torch.ones(d, dtype=torch.bfloat16))
        inv = theta ** (-torch.arange(0, d, 2, dtype=torch.float32) / d)
        self.register_buffer("inv_freq", inv, persistent=False)

    def forward(self, x, positions):
        b, s, _ = x.shape
        q, k, v = self.qkv_proj(x).split(
            [self.hq * self.d, self.hk * self.d, self.hk * self.d], dim=-1
        )
        q = head_norm(q.unflatten(-1, (self.hq, self.d)), self.q_norm)
        k = head_norm(k.unflatten(-1, (self.hk, self.d)), self.k_norm)
        v = v.unflatten(-1, (self.hk, self.d))
        ang = torch.outer(positions.float(), self.inv_freq)
        cos, sin = ang.cos()[None, :, None, :], ang.sin()[None, :, None, :]
        q, k = rope(q, cos, sin), rope(k, cos, sin)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o_proj(out.transpose(1, 2).flatten(2))


def get_inputs():
    return [torch.randn(BATCH, SEQ, HIDDEN, dtype=torch.bfloat16), torch.arange(SEQ) + 17]


def get_init_inputs():
    return [HIDDEN, Q_HEADS, KV_HEADS, HEAD_DIM, THETA]
