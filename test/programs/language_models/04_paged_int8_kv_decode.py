"""Paged decode: block table lookup into an int8 KV cache with per-token-per-head scales."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 37
NUM_BLOCKS = 2053
BLOCK = 16
MAX_BLOCKS = 53
Q_HEADS = 40
KV_HEADS = 8
HEAD_DIM = 128


class Model(nn.Module):
    def __init__(self, q_heads, kv_heads, head_dim):
        super().__init__()
        self.hq, self.hk, self.d = q_heads, kv_heads, head_dim

    def _gather(self, cache, scale, table):
        b, nblk = table.shape
        flat = table.reshape(-1).long()
        pages = cache.index_select(0, flat).to(torch.float16)
        pages = pages * scale.index_select(0, flat).unsqueeze(-1)
        return pages.view(b, nblk * cache.shape[1], self.hk, self.d)

    def forward(self, q, k_cache, k_scale, v_cache, v_scale, block_tables, context_lens):
        k = self._gather(k_cache, k_scale, block_tables)
        v = self._gather(v_cache, v_scale, block_tables)
        rep = self.hq // self.hk
        k = k.repeat_interleave(rep, dim=2)
        v = v.repeat_interleave(rep, dim=2)
        pos = torch.arange(k.shape[1], device=q.device)
        mask = (pos[None] < context_lens[:, None])[:, None, None, :]
        out = F.scaled_dot_product_attention(
            q.unsqueeze(2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask, scale=self.d**-0.5
        )
        return out.squeeze(2)


def get_inputs():
    shape = (NUM_BLOCKS, BLOCK, KV_HEADS, HEAD_DIM)
    q = torch.randn(BATCH, Q_HEADS, HEAD_DIM, dtype=torch.float16)
    kc = torch.randint(-127, 128, shape, dtype=torch.int8)
    vc = torch.randint(-127, 128, shape, dtype=torch.int8)
    ks = (torch.rand(shape[:3]) * 0.01 + 0.008).half()
    vs = (torch.rand(shape[:3]) * 0.01 + 0.008).half()
    table = torch.randperm(NUM_BLOCKS)[: BATCH * MAX_BLOCKS].view(BATCH, MAX_BLOCKS).int()
    lens = torch.randint(1, MAX_BLOCKS * BLOCK + 1, (BATCH,), dtype=torch.int32)
    return [q, kc, ks, vc, vs, table, lens]


def get_init_inputs():
    return [Q_HEADS, KV_HEADS, HEAD_DIM]
