"""One-token grouped-query decode over a 130k cache (28 query heads, 4 kv heads), lengths as a tensor."""

import torch
import torch.nn as nn

BATCH = 2
Q_HEADS = 28
KV_HEADS = 4
HEAD_DIM = 128
CACHE_LEN = 130003


class Model(nn.Module):
    def __init__(self, q_heads, kv_heads, head_dim):
        super().__init__()
        self.groups = q_heads // kv_heads
        self.kv_heads = kv_heads
        self.sm_scale = 1.0 / head_dim**0.5

    def forward(self, q, k_cache, v_cache, seq_lens):
        bsz, n_q, d = q.shape
        q = q.view(bsz, self.kv_heads, self.groups, d)
        logits = torch.matmul(q, k_cache.transpose(-1, -2)) * self.sm_scale
        valid = torch.arange(k_cache.shape[2], device=q.device).unsqueeze(0) < seq_lens.unsqueeze(1)
        logits = torch.where(
            valid[:, None, None, :], logits.float(), torch.finfo(torch.float32).min
        )
        m = logits.amax(dim=-1, keepdim=True)
        p = torch.exp(logits - m)
        denom = p.sum(dim=-1, keepdim=True)
        out = torch.matmul((p / denom).to(v_cache.dtype), v_cache)
        lse = (m + denom.log()).squeeze(-1)
        return out.reshape(bsz, n_q, d), lse.reshape(bsz, n_q)


def get_inputs():
    q = torch.randn(BATCH, Q_HEADS, HEAD_DIM).to(torch.bfloat16)
    k = torch.randn(BATCH, KV_HEADS, CACHE_LEN, HEAD_DIM, dtype=torch.bfloat16)
    v = torch.randn(BATCH, KV_HEADS, CACHE_LEN, HEAD_DIM, dtype=torch.bfloat16)
    lens = torch.randint(CACHE_LEN // 3, CACHE_LEN, (BATCH,), dtype=torch.int32)
    return [q, k, v, lens]


def get_init_inputs():
    return [Q_HEADS, KV_HEADS, HEAD_DIM]
