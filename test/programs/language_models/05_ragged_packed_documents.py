"""Packed variable-length batch: cu_seqlens -> document ids, block-diagonal causal attention."""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOTAL = 3001
N_DOCS = 11
HEADS = 14
HEAD_DIM = 64
HIDDEN = 896


class Model(nn.Module):
    def __init__(self, hidden, heads, head_dim):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        self.wqkv = nn.Linear(hidden, 3 * heads * head_dim, bias=True, dtype=torch.bfloat16)
        self.wo = nn.Linear(heads * head_dim, hidden, bias=False, dtype=torch.bfloat16)

    def forward(self, x, cu_seqlens):
        total = x.shape[0]
        q, k, v = (
            self.wqkv(x).view(total, 3, self.heads, self.head_dim).permute(1, 2, 0, 3).unbind(0)
        )
        idx = torch.arange(total, device=x.device)
        doc = torch.searchsorted(cu_seqlens[1:].contiguous(), idx, right=True)
        same = doc.unsqueeze(0) == doc.unsqueeze(1)
        mask = same & (idx.unsqueeze(1) >= idx.unsqueeze(0))
        o = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask[None, None])
        return self.wo(o[0].transpose(0, 1).reshape(total, -1))


def get_inputs():
    x = torch.randn(TOTAL, HIDDEN, dtype=torch.bfloat16)
    cuts = torch.sort(torch.randperm(TOTAL - 1)[: N_DOCS - 1] + 1).values
    cu = torch.cat([torch.zeros(1, dtype=torch.long), cuts, torch.tensor([TOTAL])])
    return [x, cu]


def get_init_inputs():
    return [HIDDEN, HEADS, HEAD_DIM]
