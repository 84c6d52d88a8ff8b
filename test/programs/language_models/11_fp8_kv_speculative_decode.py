"""Speculative verification: 5 query tokens per request against an fp8 KV cache with per-head scales."""

import torch
import torch.nn as nn

BATCH = 19
Q_LEN = 5
CACHE_LEN = 3011
Q_HEADS = 24
KV_HEADS = 8
HEAD_DIM = 128


class Model(nn.Module):
    def __init__(self, q_heads, kv_heads, head_dim):
        super().__init__()
        self.hq, self.hk, self.d = q_heads, kv_heads, head_dim

    def forward(self, q, k_fp8, v_fp8, k_scale, v_scale, cache_seqlens):
        b, sq, hq, d = q.shape
        t = k_fp8.shape[1]
        g = hq // self.hk
        k = k_fp8.to(q.dtype)
        v = v_fp8.to(q.dtype)
        qg = q.reshape(b, sq, self.hk, g, d)
        att = torch.einsum("bshgd,bthd->bhgst", qg, k).float()
        att = att * (k_scale.view(1, self.hk, 1, 1, 1) * d**-0.5)
        # the last query token sits at cache_seqlens - 1
        q_pos = cache_seqlens[:, None] - sq + torch.arange(sq, device=q.device)[None, :]
        k_pos = torch.arange(t, device=q.device)
        keep = k_pos[None, None, :] <= q_pos[:, :, None]
        att = att.masked_fill(~keep[:, None, None], float("-inf"))
        p = att.softmax(-1).to(q.dtype)
        o = torch.einsum("bhgst,bthd->bshgd", p, v)
        o = o * v_scale.view(1, 1, self.hk, 1, 1).to(o.dtype)
        return o.reshape(b, sq, hq * d)


def get_inputs():
    q = torch.randn(BATCH, Q_LEN, Q_HEADS, HEAD_DIM, dtype=torch.bfloat16)
    k = (torch.randn(BATCH, CACHE_LEN, KV_HEADS, HEAD_DIM) * 16).to(torch.float8_e4m3fn)
    v = (torch.randn(BATCH, CACHE_LEN, KV_HEADS, HEAD_DIM) * 16).to(torch.float8_e4m3fn)
    ks = torch.rand(KV_HEADS) * 0.02 + 0.05
    vs = torch.rand(KV_HEADS) * 0.02 + 0.05
    lens = torch.randint(CACHE_LEN // 4, CACHE_LEN + 1, (BATCH,))
    return [q, k, v, ks, vs, lens]


def get_init_inputs():
    return [Q_HEADS, KV_HEADS, HEAD_DIM]
