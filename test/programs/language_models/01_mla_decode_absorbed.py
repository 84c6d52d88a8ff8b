"""DeepSeek-V2-Lite style MLA decode, weight-absorbed form over the latent cache."""

import torch
import torch.nn as nn

BATCH = 23
HEADS = 16
CACHE_LEN = 4099
KV_RANK = 512
ROPE_DIM = 64
NOPE_DIM = 128
V_DIM = 128
HIDDEN = 2048


class Model(nn.Module):
    def __init__(self, heads, kv_rank, nope, rope, v_dim, hidden):
        super().__init__()
        self.heads, self.kv_rank, self.nope, self.v_dim = heads, kv_rank, nope, v_dim
        self.scale = (nope + rope) ** -0.5
        # kv_b_proj, rows are [heads, nope + v]
        self.kv_b = nn.Parameter(
            torch.randn(heads * (nope + v_dim), kv_rank, dtype=torch.bfloat16) * kv_rank**-0.5
        )
        self.o_proj = nn.Linear(heads * v_dim, hidden, bias=False, dtype=torch.bfloat16)

    def forward(self, q_nope, q_pe, ckv, k_pe, lengths):
        b = q_nope.size(0)
        kv_b = self.kv_b.view(self.heads, self.nope + self.v_dim, self.kv_rank)
        w_uk, w_uv = kv_b[:, : self.nope], kv_b[:, self.nope :]
        q_lat = torch.einsum("bhd,hdc->bhc", q_nope, w_uk)
        scores = torch.einsum("bhc,btc->bht", q_lat, ckv) + torch.einsum("bhr,btr->bht", q_pe, k_pe)
        scores = scores.float() * self.scale
        t = torch.arange(ckv.size(1), device=ckv.device)
        scores = scores.masked_fill(t[None, None, :] >= lengths[:, None, None], float("-inf"))
        attn = scores.softmax(dim=-1).to(ckv.dtype)
        o_lat = torch.einsum("bht,btc->bhc", attn, ckv)
        o = torch.einsum("bhc,hdc->bhd", o_lat, w_uv)
        return self.o_proj(o.reshape(b, -1))


def get_inputs():
    dt = torch.bfloat16
    return [
        torch.randn(BATCH, HEADS, NOPE_DIM, dtype=dt),
        torch.randn(BATCH, HEADS, ROPE_DIM, dtype=dt),
        torch.randn(BATCH, CACHE_LEN, KV_RANK, dtype=dt),
        torch.randn(BATCH, CACHE_LEN, ROPE_DIM, dtype=dt),
        torch.randint(CACHE_LEN // 4, CACHE_LEN + 1, (BATCH,)),
    ]


def get_init_inputs():
    return [HEADS, KV_RANK, NOPE_DIM, ROPE_DIM, V_DIM, HIDDEN]
