import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """T5 bucketed relative bias plus talking-heads mixing before and after the softmax; RMS norm."""

    def __init__(self, d, heads, buckets, maxd):
        super().__init__()
        self.h, self.buckets, self.maxd = heads, buckets, maxd
        self.g = nn.Parameter(torch.ones(d))
        self.q, self.k, self.v, self.o = [nn.Linear(d, d, bias=False) for _ in range(4)]
        self.bias = nn.Embedding(buckets, heads)
        self.pre = nn.Parameter(torch.eye(heads) + 0.1 * torch.randn(heads, heads))
        self.post = nn.Parameter(torch.eye(heads) + 0.1 * torch.randn(heads, heads))

    def bucket(self, rel):
        n = self.buckets // 2
        out = (rel > 0).long() * n
        rel = rel.abs()
        exact = n // 2
        large = (
            exact
            + (
                torch.log(rel.clamp(min=1).float() / exact)
                / math.log(self.maxd / exact)
                * (n - exact)
            ).long()
        )
        return out + torch.where(rel < exact, rel, large.clamp(max=n - 1))

    def forward(self, x):
        b, l, d = x.shape
        n = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.g
        q, k, v = [f(n).view(b, l, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v)]
        p = torch.arange(l, device=x.device)
        bias = self.bias(self.bucket(p[None] - p[:, None])).permute(2, 0, 1)
        s = torch.einsum("bhid,bhjd,hg->bgij", q, k, self.pre) * (d // self.h) ** -0.5 + bias
        s = torch.einsum("bhij,hg->bgij", s.softmax(-1), self.post)
        return x + self.o((s @ v).transpose(1, 2).reshape(b, l, d))


def get_inputs():
    return [torch.randn(3, 233, 440)]


def get_init_inputs():
    return [440, 10, 32, 128]
