"""Mamba-2 state space dual, the minimal chunked listing with segsum; softplus dt with bias, D skip."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
CHUNKS = 15
CHUNK = 64
HEADS = 24
HEAD_DIM = 64
STATE = 128


def segsum(x):
    n = x.size(-1)
    x = x[..., None].expand(*x.shape, n)
    low = torch.tril(torch.ones(n, n, device=x.device, dtype=torch.bool), diagonal=-1)
    x = x.masked_fill(~low, 0)
    s = torch.cumsum(x, dim=-2)
    keep = torch.tril(torch.ones(n, n, device=x.device, dtype=torch.bool), diagonal=0)
    return s.masked_fill(~keep, -torch.inf)


class Model(nn.Module):
    def __init__(self, heads, chunk):
        super().__init__()
        self.chunk = chunk
        self.A_log = nn.Parameter(torch.log(torch.rand(heads) * 3 + 1))
        self.dt_bias = nn.Parameter(torch.randn(heads) * 0.3 - 3.0)
        self.D = nn.Parameter(torch.ones(heads))

    def forward(self, x, dt, B, C):
        b, l, h, p = x.shape
        dt = F.softplus(dt.float() + self.dt_bias)
        A = -torch.exp(self.A_log) * dt
        X = x.float() * dt.unsqueeze(-1)
        c = l // self.chunk
        X = X.reshape(b, c, self.chunk, h, p)
        Bc = B.float().reshape(b, c, self.chunk, -1)
        Cc = C.float().reshape(b, c, self.chunk, -1)
        A = A.reshape(b, c, self.chunk, h).permute(0, 3, 1, 2)
        A_cum = torch.cumsum(A, dim=-1)
        L = torch.exp(segsum(A))
        G = torch.einsum("bcln,bcsn->bcls", Cc, Bc)
        y_diag = torch.einsum("bcls,bhcls,bcshp->bclhp", G, L, X)
        decay = torch.exp(A_cum[..., -1:] - A_cum)
        states = torch.einsum("bcln,bhcl,bclhp->bchpn", Bc, decay, X)
        states = torch.cat([torch.zeros_like(states[:, :1]), states], dim=1)
        decay_chunk = torch.exp(segsum(F.pad(A_cum[..., -1], (1, 0))))
        states = torch.einsum("bhzc,bchpn->bzhpn", decay_chunk, states)
        states, final = states[:, :-1], states[:, -1]
        y_off = torch.einsum("bcln,bchpn,bhcl->bclhp", Cc, states, torch.exp(A_cum))
        y = (y_diag + y_off).reshape(b, l, h, p)
        y = y + self.D[:, None] * x.float()
        return y.to(x.dtype), final


def get_inputs():
    l = CHUNKS * CHUNK
    dt = torch.bfloat16
    return [
        torch.randn(BATCH, l, HEADS, HEAD_DIM, dtype=dt),
        torch.randn(BATCH, l, HEADS, dtype=dt),
        torch.randn(BATCH, l, STATE, dtype=dt) * STATE**-0.25,
        torch.randn(BATCH, l, STATE, dtype=dt) * STATE**-0.25,
    ]


def get_init_inputs():
    return [HEADS, CHUNK]
