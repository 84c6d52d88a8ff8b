"""gpt-oss style attention: 64 query heads over 8 kv heads, learned sink logit per head, sliding window."""

import torch
import torch.nn as nn

SEQ = 1531
KV_HEADS = 8
GROUPS = 8
HEAD_DIM = 64
WINDOW = 128


class Model(nn.Module):
    def __init__(self, kv_heads, groups, head_dim, window):
        super().__init__()
        self.sinks = nn.Parameter(torch.randn(kv_heads * groups, dtype=torch.bfloat16))
        self.sm_scale = head_dim**-0.5
        self.window = window

    def forward(self, Q, K, V):
        # Q: [tokens, kv_heads, groups, d]; K, V: [tokens, kv_heads, d]
        n, hk, g, d = Q.shape
        K = K[:, :, None, :].expand(-1, -1, g, -1)
        V = V[:, :, None, :].expand(-1, -1, g, -1)
        S = self.sinks.reshape(hk, g, 1, 1).expand(-1, -1, n, -1)
        mask = torch.triu(Q.new_full((n, n), -float("inf")), diagonal=1)
        if self.window > 0:
            mask = mask + torch.tril(mask.new_full((n, n), -float("inf")), diagonal=-self.window)
        QK = torch.einsum("qhmd,khmd->hmqk", Q, K) * self.sm_scale
        QK = QK + mask[None, None]
        W = torch.softmax(torch.cat([QK, S], dim=-1), dim=-1)[..., :-1]
        out = torch.einsum("hmqk,khmd->qhmd", W, V)
        return out.reshape(n, -1)


def get_inputs():
    return [
        torch.randn(SEQ, KV_HEADS, GROUPS, HEAD_DIM, dtype=torch.bfloat16),
        torch.randn(SEQ, KV_HEADS, HEAD_DIM, dtype=torch.bfloat16),
        torch.randn(SEQ, KV_HEADS, HEAD_DIM, dtype=torch.bfloat16),
    ]


def get_init_inputs():
    return [KV_HEADS, GROUPS, HEAD_DIM, WINDOW]
