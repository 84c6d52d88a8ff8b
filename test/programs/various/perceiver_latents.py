import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Perceiver: 37 learned latents attend to a long sparse input with Fourier features, two rounds with shared weights."""

    def __init__(self, c, bands, n_lat, d, classes):
        super().__init__()
        self.bands = bands
        cin = c + 2 * (2 * bands + 1)
        self.lat = nn.Parameter(torch.randn(n_lat, d) * 0.02)
        self.nx, self.nl, self.nm = nn.LayerNorm(cin), nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.kv, self.o = (
            nn.Linear(d, 64, bias=False),
            nn.Linear(cin, 128, bias=False),
            nn.Linear(64, d),
        )
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.sa = nn.TransformerEncoderLayer(
            d, 4, 2 * d, dropout=0.0, batch_first=True, norm_first=True
        )
        self.cls = nn.Linear(d, classes)

    def forward(self, img):
        b, c, h, w = img.shape
        ys = torch.linspace(-1, 1, h, device=img.device)
        xs = torch.linspace(-1, 1, w, device=img.device)
        pos = torch.stack(torch.meshgrid(ys, xs, indexing="ij"), -1).view(h * w, 2, 1)
        ang = pos * torch.linspace(1.0, 112.0, self.bands, device=img.device) * math.pi
        enc = torch.cat([ang.sin(), ang.cos(), pos], -1).flatten(1).to(img.dtype)
        x = torch.cat([img.flatten(2).transpose(1, 2), enc.expand(b, -1, -1)], -1)
        k, v = self.kv(self.nx(x)).chunk(2, -1)
        z = self.lat.expand(b, -1, -1)
        for _ in range(2):
            a = torch.softmax(self.q(self.nl(z)) @ k.transpose(1, 2) * 0.125, -1) @ v
            z = z + self.o(a)
            z = z + self.mlp(self.nm(z))
            z = self.sa(z)
        return self.cls(z.mean(1))


def get_inputs():
    return [torch.rand(3, 3, 113, 109)]


def get_init_inputs():
    return [3, 16, 37, 228, 100]
