"""Pre-norm SwiGLU block of a 1.5B model on a training-size batch, separate gate and up weights, residual."""

import torch
import torch.nn as nn
from torch.nn import functional as F

BATCH = 2
SEQ = 2039
DIM = 1536
FFN = 8960


class Model(nn.Module):
    def __init__(self, dim, ffn):
        super().__init__()
        self.norm = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))
        self.w1 = nn.Parameter(torch.randn(dim, ffn, dtype=torch.bfloat16) / dim**0.5)
        self.w3 = nn.Parameter(torch.randn(dim, ffn, dtype=torch.bfloat16) / dim**0.5)
        self.w2 = nn.Parameter(torch.randn(ffn, dim, dtype=torch.bfloat16) / ffn**0.5)

    def forward(self, x):
        h = F.rms_norm(x, (x.shape[-1],), self.norm, 1e-6)
        g = torch.einsum("bsd,df->bsf", h, self.w1)
        u = torch.einsum("bsd,df->bsf", h, self.w3)
        a = g * torch.sigmoid(g) * u
        return x + torch.einsum("bsf,fd->bsd", a, self.w2)


def get_inputs():
    return [torch.randn(BATCH, SEQ, DIM, dtype=torch.bfloat16)]


def get_init_inputs():
    return [DIM, FFN]
