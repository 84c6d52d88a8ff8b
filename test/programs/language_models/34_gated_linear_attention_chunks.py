"""Gated linear attention with per-key-channel log decay, in chunks of 64, low-rank gate projection."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 3
HEADS = 4
CHUNKS = 17
CHUNK = 64
DIM = 1024
DK = 128
DV = 256


class Model(nn.Module):
    def __init__(self, dim, heads, dk, dv, chunk):
        super().__init__()
        self.h, self.dk, self.dv, self.c = heads, dk, dv, chunk
        kw = dict(bias=False, dtype=torch.bfloat16)
        self.wq = nn.Linear(dim, heads * dk, **kw)
        self.wk = nn.Linear(dim, heads * dk, **kw)
        self.wv = nn.Linear(dim, heads * dv, **kw)
        self.gk_down = nn.Linear(dim, 16, **kw)
        self.gk_up = nn.Linear(16, heads * dk, bias=True, dtype=torch.bfloat16)

    def forward(self, x):
        b, t, _ = x.shape
        n = t // self.c

        def split(y, d):
            return y.view(b, n, self.c, self.h, d).permute(0, 3, 1, 2, 4).float()

        q = split(self.wq(x), self.dk) * self.dk**-0.5
        k = split(self.wk(x), self.dk)
        v = split(self.wv(x), self.dv)
        g = split(F.logsigmoid(self.gk_up(self.gk_down(x)).float()) / 16, self.dk)
        cum = g.cumsum(-2)
        total = cum[..., -1:, :]
        q_in = q * cum.exp()
        k_in = k * (-cum).exp()
        k_out = k * (total - cum).exp()
        a = (q_in @ k_in.mT).tril()
        o = a @ v
        s = x.new_zeros(b, self.h, self.dk, self.dv, dtype=torch.float32)
        inter = []
        for i in range(n):
            inter.append(torch.einsum("bhck,bhkv->bhcv", q_in[:, :, i], s))
            s = s * total[:, :, i].exp().transpose(-1, -2) + torch.einsum(
                "bhck,bhcv->bhkv", k_out[:, :, i], v[:, :, i]
            )
        o = o + torch.stack(inter, 2)
        o = o.permute(0, 2, 3, 1, 4).reshape(b, t, self.h, self.dv)
        o = o * torch.rsqrt(o.pow(2).mean(-1, keepdim=True) + 1e-5)
        return o.flatten(2).to(x.dtype)


def get_inputs():
    return [torch.randn(BATCH, CHUNKS * CHUNK, DIM, dtype=torch.bfloat16)]


def get_init_inputs():
    return [DIM, HEADS, DK, DV, CHUNK]
