import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def timestep_embedding(t, dim, max_period=10000.0):
    half = dim // 2
    freqs = torch.exp(
        -math.log(max_period) * torch.arange(half, device=t.device, dtype=torch.float32) / half
    )
    args = t.float()[:, None] * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, temb):
        super().__init__()
        self.in_layers = nn.Sequential(
            nn.GroupNorm(32, cin), nn.SiLU(), nn.Conv2d(cin, cout, 3, padding=1)
        )
        self.emb = nn.Sequential(nn.SiLU(), nn.Linear(temb, 2 * cout))
        self.norm = nn.GroupNorm(32, cout)
        self.out = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1)

    def forward(self, x, emb):
        h = self.in_layers(x)
        scale, shift = self.emb(emb)[:, :, None, None].chunk(2, dim=1)
        h = self.norm(h) * (1 + scale) + shift
        return self.skip(x) + self.out(F.silu(h))


class Model(nn.Module):
    """U-Net decoder stage: skip concat, residual block with scale-shift time conditioning."""

    def __init__(self, ch, skip_ch, out_ch):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(320, 1280), nn.SiLU(), nn.Linear(1280, 1280))
        self.block = ResBlock(ch + skip_ch, out_ch, 1280)

    def forward(self, x, skip, t):
        emb = self.time(timestep_embedding(t, 320).to(x.dtype))
        return self.block(torch.cat((x, skip), dim=1), emb)


def get_inputs():
    return [torch.randn(3, 320, 40, 56), torch.randn(3, 320, 40, 56), torch.randint(0, 1000, (3,))]


def get_init_inputs():
    return [320, 320, 320]
