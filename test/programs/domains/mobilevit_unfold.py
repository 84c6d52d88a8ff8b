import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_bn(i, o, k=3, s=1, g=1):
    return nn.Sequential(
        nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o), nn.SiLU()
    )


class Encoder(nn.Module):
    def __init__(self, d, h, ff):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.in_w = nn.Parameter(torch.randn(3 * d, d) * d**-0.5)
        self.in_b = nn.Parameter(torch.zeros(3 * d))
        self.o = nn.Linear(d, d)
        self.f1, self.f2 = nn.Linear(d, ff), nn.Linear(ff, d)

    def forward(self, x):
        n, l, d = x.shape
        q, k, v = (
            F.linear(self.n1(x), self.in_w, self.in_b)
            .reshape(n, l, 3, self.h, d // self.h)
            .permute(2, 0, 3, 1, 4)
        )
        a = (q * (d // self.h) ** -0.5) @ k.transpose(-1, -2)
        x = x + self.o((a.softmax(-1) @ v).transpose(1, 2).reshape(n, l, d))
        return x + self.f2(F.silu(self.f1(self.n2(x))))


class Model(nn.Module):
    """MobileViT block: local conv, pixels of 2x2 patches as separate sequences, two transformer layers, fold back, fuse with input."""

    def __init__(self, cin, d, heads, ff, layers):
        super().__init__()
        self.local = nn.Sequential(conv_bn(cin, cin), nn.Conv2d(cin, d, 1, bias=False))
        self.enc = nn.Sequential(*[Encoder(d, heads, ff) for _ in range(layers)], nn.LayerNorm(d))
        self.proj, self.fuse = conv_bn(d, cin, 1), conv_bn(2 * cin, cin)

    def forward(self, x):
        y = self.local(x)
        B, C, H, W = y.shape
        y = y.reshape(B * C * (H // 2), 2, W // 2, 2).transpose(1, 2).reshape(B, C, H * W // 4, 4)
        y = y.transpose(1, 3).reshape(B * 4, H * W // 4, C)
        y = self.enc(y)
        y = y.view(B, 4, H * W // 4, C).transpose(1, 3).reshape(B * C * (H // 2), W // 2, 2, 2)
        y = y.transpose(1, 2).reshape(B, C, H, W)
        return self.fuse(torch.cat([x, self.proj(y)], dim=1))


def get_inputs():
    return [torch.randn(11, 96, 32, 36)]


def get_init_inputs():
    return [96, 144, 4, 288, 2]
