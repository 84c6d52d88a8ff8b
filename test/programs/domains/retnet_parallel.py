import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate_every_two(x):
    x1, x2 = x[..., ::2], x[..., 1::2]
    return torch.stack((-x2, x1), dim=-1).flatten(-2)


class Model(nn.Module):
    """RetNet multi-scale retention, parallel form: xPos rotation, decay mask, row normalisation, group norm, swish gate."""

    def __init__(self, dim, heads, length):
        super().__init__()
        self.h, self.dk = heads, dim // heads
        self.q, self.k = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.v, self.g = nn.Linear(dim, 2 * dim, bias=False), nn.Linear(dim, 2 * dim, bias=False)
        self.o = nn.Linear(2 * dim, dim, bias=False)
        angle = (1.0 / (10000 ** torch.linspace(0, 1, self.dk // 2))).repeat_interleave(2)
        pos = torch.arange(length).float()[:, None]
        self.register_buffer("sin", torch.sin(pos * angle))
        self.register_buffer("cos", torch.cos(pos * angle))
        decay = torch.log(1 - 2 ** (-5 - torch.arange(heads).float()))
        diff = pos - pos.t()
        mask = torch.where(
            diff >= 0, torch.exp(diff.clamp(min=0) * decay[:, None, None]), torch.zeros(())
        )
        self.register_buffer("mask", mask / mask.sum(-1, keepdim=True).sqrt())

    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.h, self.dk).transpose(1, 2)
        k = (self.k(x) * self.dk**-0.5).view(b, n, self.h, self.dk).transpose(1, 2)
        v = self.v(x).view(b, n, self.h, 2 * self.dk).transpose(1, 2)
        q = q * self.cos + rotate_every_two(q) * self.sin
        k = k * self.cos + rotate_every_two(k) * self.sin
        qk = q @ k.transpose(-1, -2) * self.mask
        qk = qk / qk.detach().abs().sum(-1, keepdim=True).clamp(min=1, max=5e4)
        y = (qk @ v).transpose(1, 2)
        y = F.rms_norm(y, (2 * self.dk,), eps=1e-6).reshape(b, n, 2 * d)
        return self.o(F.silu(self.g(x)) * y)


def get_inputs():
    return [torch.randn(2, 1500, 1024)]


def get_init_inputs():
    return [1024, 4, 1500]
