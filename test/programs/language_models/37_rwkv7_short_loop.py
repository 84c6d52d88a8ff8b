"""RWKV-7-like time mixing: token shift with learned mixes, decay/in-context rate, state loop over a short sequence."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 13
STEPS = 19
HEADS = 12
HEAD_DIM = 64


class Model(nn.Module):
    def __init__(self, heads, d):
        super().__init__()
        n = heads * d
        bf = torch.bfloat16
        self.h, self.d = heads, d
        self.mix = nn.Parameter(torch.rand(5, n, dtype=bf))
        self.wr = nn.Linear(n, n, bias=False, dtype=bf)
        self.wk = nn.Linear(n, n, bias=False, dtype=bf)
        self.wv = nn.Linear(n, n, bias=False, dtype=bf)
        self.wo = nn.Linear(n, n, bias=False, dtype=bf)
        self.w0 = nn.Parameter(torch.randn(n) - 1.0)
        self.w_a = nn.Linear(n, 64, bias=False, dtype=bf)
        self.w_b = nn.Linear(64, n, bias=False, dtype=bf)
        self.a_a = nn.Linear(n, 64, bias=False, dtype=bf)
        self.a_b = nn.Linear(64, n, bias=True, dtype=bf)
        self.bonus = nn.Parameter(torch.randn(heads, d) * 0.1)
        self.ln_x = nn.GroupNorm(heads, n, eps=64e-5)

    def forward(self, x, x_prev, state):
        b, t, n = x.shape
        shifted = torch.cat([x_prev.unsqueeze(1), x[:, :-1]], dim=1)
        delta = shifted - x
        xr, xw, xk, xv, xa = [x + delta * m for m in self.mix]
        r = self.wr(xr).float().view(b, t, self.h, self.d)
        k = self.wk(xk).float().view(b, t, self.h, self.d)
        v = self.wv(xv).float().view(b, t, self.h, self.d)
        w = self.w0 + self.w_b(torch.tanh(self.w_a(xw))).float()
        w = torch.exp(-0.606531 * torch.sigmoid(w)).view(b, t, self.h, self.d)
        a = torch.sigmoid(self.a_b(self.a_a(xa)).float()).view(b, t, self.h, self.d)
        kk = F.normalize(k, dim=-1, p=2.0)
        k = k * (1 + (a - 1) * 0.5)
        outs = []
        for i in range(t):
            ki, vi, ri, wi = k[:, i], v[:, i], r[:, i], w[:, i]
            sa = torch.einsum("bhvk,bhk->bhv", state, -kk[:, i])
            state = (
                state * wi.unsqueeze(-2)
                + sa.unsqueeze(-1) * (kk[:, i] * a[:, i]).unsqueeze(-2)
                + vi.unsqueeze(-1) * ki.unsqueeze(-2)
            )
            outs.append((state @ ri.unsqueeze(-1)).squeeze(-1))
        y = torch.stack(outs, dim=1)
        y = self.ln_x(y.view(b * t, n)).view(b, t, n)
        y = y + ((r * k * self.bonus).sum(-1, keepdim=True) * v).view(b, t, n)
        return self.wo(y.to(x.dtype)), x[:, -1], state


def get_inputs():
    n = HEADS * HEAD_DIM
    return [
        torch.randn(BATCH, STEPS, n, dtype=torch.bfloat16),
        torch.randn(BATCH, n, dtype=torch.bfloat16),
        torch.randn(BATCH, HEADS, HEAD_DIM, HEAD_DIM) * 0.1,
    ]


def get_init_inputs():
    return [HEADS, HEAD_DIM]
