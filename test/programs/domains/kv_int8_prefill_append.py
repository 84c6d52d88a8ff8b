import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Quantise the new keys and values to int8 per head and token, append to an int8 cache, attend over the dequantised whole."""

    def __init__(self, heads, dh):
        super().__init__()
        self.heads, self.dh = heads, dh
        self.wqkv = nn.Linear(heads * dh, 3 * heads * dh)

    @staticmethod
    def quant(t):
        s = t.abs().amax(-1, keepdim=True).clamp(min=1e-6) / 127
        return (t / s).round().to(torch.int8), s

    def forward(self, x, kq, ks, vq, vs):
        b, n, _ = x.shape
        q, k, v = [
            t.view(b, n, self.heads, self.dh).transpose(1, 2) for t in self.wqkv(x).chunk(3, -1)
        ]
        nkq, nks = self.quant(k)
        nvq, nvs = self.quant(v)
        kq, ks = torch.cat((kq, nkq), 2), torch.cat((ks, nks), 2)
        vq, vs = torch.cat((vq, nvq), 2), torch.cat((vs, nvs), 2)
        past = kq.shape[2] - n
        att = (q @ kq.to(x.dtype).transpose(-2, -1)) * ks.transpose(-2, -1) / math.sqrt(self.dh)
        rows = torch.arange(n, device=x.device)[:, None] + past
        att = att.masked_fill(torch.arange(past + n, device=x.device)[None] > rows, float("-inf"))
        p = torch.softmax(att, -1)
        o = (p * vs.transpose(-2, -1)) @ vq.to(x.dtype)
        return o.transpose(1, 2).reshape(b, n, -1), kq, ks, vq, vs


def get_inputs():
    b, h, past, dh = 4, 16, 1987, 80
    mk = lambda: torch.randint(-127, 128, (b, h, past, dh), dtype=torch.int8)
    sc = lambda: torch.rand(b, h, past, 1) * 0.02 + 0.005
    return [torch.randn(b, 61, h * dh), mk(), sc(), mk(), sc()]


def get_init_inputs():
    return [16, 80]
