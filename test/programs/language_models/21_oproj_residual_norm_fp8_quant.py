"""Output projection + bias + residual, LayerNorm, then per-token fp8 quantisation for the next product; three results."""

import torch
import torch.nn as nn

TOKENS = 777
HEADS = 32
HEAD_DIM = 80


class Model(nn.Module):
    def __init__(self, heads, head_dim):
        super().__init__()
        dim = heads * head_dim
        self.dense = nn.Linear(dim, dim, dtype=torch.bfloat16)
        self.ln = nn.LayerNorm(dim, eps=1e-5, dtype=torch.bfloat16)
        self.fp8_max = 448.0

    def forward(self, attn_out, residual):
        y = self.dense(attn_out.flatten(-2))
        residual = residual + y
        h = self.ln(residual)
        amax = h.abs().max(dim=-1, keepdim=True)[0].float()
        scale = torch.clamp(amax / self.fp8_max, min=1.0 / (self.fp8_max * 512.0))
        q = (h.float() / scale).clamp(-self.fp8_max, self.fp8_max).to(torch.float8_e4m3fn)
        return q, scale, residual


def get_inputs():
    return [
        torch.randn(TOKENS, HEADS, HEAD_DIM, dtype=torch.bfloat16),
        torch.randn(TOKENS, HEADS * HEAD_DIM, dtype=torch.bfloat16),
    ]


def get_init_inputs():
    return [HEADS, HEAD_DIM]
