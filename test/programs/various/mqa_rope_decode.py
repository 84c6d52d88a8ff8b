import torch
import torch.nn as nn


class Model(nn.Module):
    """Multi-query attention of a small prompt against a KV cache, with rotary embedding and a sliding window."""

    def __init__(self, d, heads, dh, window):
        super().__init__()
        self.h, self.dh, self.window = heads, dh, window
        self.wq = nn.Linear(d, heads * dh, bias=False)
        self.wkv = nn.Linear(d, 2 * dh, bias=False)
        self.wo = nn.Linear(heads * dh, d, bias=False)

    def rope(self, x, pos):
        inv = 10000 ** (-torch.arange(0, self.dh, 2, device=x.device) / self.dh)
        ang = pos[:, None] * inv
        cos, sin = torch.cos(ang).repeat(1, 2).to(x.dtype), torch.sin(ang).repeat(1, 2).to(x.dtype)
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x, kc, vc):
        b, l, _ = x.shape
        past = kc.size(1)
        pos = torch.arange(past, past + l, device=x.device)
        q = self.wq(x).view(b, l, self.h, self.dh).transpose(1, 2)
        k, v = self.wkv(x).chunk(2, -1)
        q = self.rope(q, pos)
        k = torch.cat([kc, self.rope(k, pos)], 1)
        v = torch.cat([vc, v], 1)
        j = torch.arange(past + l, device=x.device)
        ok = (j[None] <= pos[:, None]) & (j[None] > pos[:, None] - self.window)
        s = torch.matmul(q, k.unsqueeze(1).transpose(-1, -2)) * self.dh**-0.5
        p = torch.softmax(s.masked_fill(~ok, float("-inf")), -1)
        y = torch.matmul(p, v.unsqueeze(1)).transpose(1, 2).reshape(b, l, -1)
        return self.wo(y), k, v


def get_inputs():
    return [torch.randn(6, 5, 1136), torch.randn(6, 1999, 64), torch.randn(6, 1999, 64)]


def get_init_inputs():
    return [1136, 17, 64, 1024]
