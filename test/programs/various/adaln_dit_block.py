import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """DiT block: timestep sinusoid + label embedding, ada-LN-zero modulation, QK-RMSnorm attention, gated MLP, final modulated projection."""

    def __init__(self, d, heads, classes, out):
        super().__init__()
        self.h, self.d = heads, d
        self.t1, self.t2 = nn.Linear(256, d), nn.Linear(d, d)
        self.y = nn.Embedding(classes + 1, d)
        self.mod, self.fmod = nn.Linear(d, 6 * d), nn.Linear(d, 2 * d)
        self.n = nn.LayerNorm(d, elementwise_affine=False, eps=1e-6)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.qs = nn.Parameter(torch.ones(d // heads))
        self.ks = nn.Parameter(torch.ones(d // heads))
        self.fc1, self.fc2, self.last = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), nn.Linear(d, out)

    def forward(self, x, t, y):
        fr = torch.exp(-math.log(10000) * torch.arange(128, device=x.device) / 128)
        a = t[:, None] * fr
        te = torch.cat([a.cos(), a.sin()], -1).to(x.dtype)
        c = F.silu(self.t2(F.silu(self.t1(te))) + self.y(y))
        s1, b1, g1, s2, b2, g2 = self.mod(c).unsqueeze(1).chunk(6, -1)
        b, l, d = x.shape
        h = self.n(x) * (1 + s1) + b1
        q, k, v = self.qkv(h).view(b, l, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        rms = lambda z, g: z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-6) * g
        o = F.scaled_dot_product_attention(rms(q, self.qs), rms(k, self.ks), v)
        x = x + g1 * self.proj(o.transpose(1, 2).flatten(2))
        h = self.n(x) * (1 + s2) + b2
        x = x + g2 * self.fc2(F.gelu(self.fc1(h), approximate="tanh"))
        fs, fb = self.fmod(c).unsqueeze(1).chunk(2, -1)
        return self.last(self.n(x) * (1 + fs) + fb)


def get_inputs():
    return [torch.randn(5, 257, 384), torch.rand(5) * 1000, torch.randint(0, 1000, (5,))]


def get_init_inputs():
    return [384, 6, 1000, 32]
