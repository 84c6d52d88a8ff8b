import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """A gMLP block with spatial gating followed by an MLP-Mixer block with layer scale, 196+1 tokens."""

    def __init__(self, tokens, d, ff, tok_ff):
        super().__init__()
        self.n0, self.n1, self.n2, self.ns = (
            nn.LayerNorm(d),
            nn.LayerNorm(d),
            nn.LayerNorm(d),
            nn.LayerNorm(ff // 2),
        )
        self.inp, self.out = nn.Linear(d, ff), nn.Linear(ff // 2, d)
        self.spatial = nn.Conv1d(tokens, tokens, 1)
        nn.init.constant_(self.spatial.bias, 1.0)
        self.t1, self.t2 = nn.Linear(tokens, tok_ff), nn.Linear(tok_ff, tokens)
        self.c1, self.c2 = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        self.ls1 = nn.Parameter(0.1 * torch.ones(d))
        self.ls2 = nn.Parameter(0.1 * torch.ones(d))

    def forward(self, x):
        u, v = F.gelu(self.inp(self.n0(x))).chunk(2, -1)
        x = x + self.out(u * self.spatial(self.ns(v)))
        y = self.n1(x).transpose(1, 2)
        x = x + self.ls1 * self.t2(F.gelu(self.t1(y))).transpose(1, 2)
        return x + self.ls2 * self.c2(F.gelu(self.c1(self.n2(x))))


def get_inputs():
    return [torch.randn(17, 197, 252)]


def get_init_inputs():
    return [197, 252, 1010, 130]
