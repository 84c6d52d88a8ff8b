import torch
import torch.nn as nn
import torch.nn.functional as F


def swish(x):
    return x * torch.sigmoid(x)


def gn(c):
    return nn.GroupNorm(32, c, eps=1e-6)


class R(nn.Module):
    def __init__(s, i, o):
        super().__init__()
        s.n1, s.c1, s.n2, s.c2 = gn(i), nn.Conv2d(i, o, 3, 1, 1), gn(o), nn.Conv2d(o, o, 3, 1, 1)
        s.short = nn.Conv2d(i, o, 1) if i != o else None

    def forward(s, x):
        h = s.c1(swish(s.n1(x)))
        h = s.c2(swish(s.n2(h)))
        return (x if s.short is None else s.short(x)) + h


class Model(nn.Module):
    """VAE decoder tail: two res blocks, nearest x2, conv, res block, norm/swish/conv to RGB, clamp to [0,1]."""

    def __init__(s, i, o):
        super().__init__()
        s.b = nn.ModuleList([R(i, o), R(o, o)])
        s.up = nn.Conv2d(o, o, 3, padding=1)
        s.no, s.out = gn(o), nn.Conv2d(o, 3, 3, padding=1)

    def forward(s, z):
        for blk in s.b:
            z = blk(z)
        z = s.up(F.interpolate(z, scale_factor=2.0, mode="nearest"))
        return (s.out(swish(s.no(z))) / 2 + 0.5).clamp(0, 1)


def get_inputs():
    return [torch.randn(1, 256, 88, 120)]


def get_init_inputs():
    return [256, 128]
