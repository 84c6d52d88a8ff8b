import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Shifted window attention (window 7, shift 3) with relative position bias, region mask and MLP."""

    def __init__(self, dim, heads, size, win, shift):
        super().__init__()
        self.win, self.shift, self.heads, self.scale = win, shift, heads, (dim // heads) ** -0.5
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.table = nn.Parameter(torch.randn((2 * win - 1) ** 2, heads) * 0.02)
        g = torch.stack(
            torch.meshgrid(torch.arange(win), torch.arange(win), indexing="ij")
        ).flatten(1)
        rel = (g[:, :, None] - g[:, None, :]).permute(1, 2, 0) + win - 1
        self.register_buffer("idx", rel[..., 0] * (2 * win - 1) + rel[..., 1])
        m = torch.zeros(1, size, size, 1)
        cuts = (slice(0, -win), slice(-win, -shift), slice(-shift, None))
        for i, a in enumerate(cuts):
            for j, b in enumerate(cuts):
                m[:, a, b] = i * 3 + j
        m = self.part(m).squeeze(-1)
        d = m[:, None, :] - m[:, :, None]
        self.register_buffer("mask", torch.zeros_like(d).masked_fill(d != 0, -100.0))

    def part(self, x):
        b, h, w, c = x.shape
        k = self.win
        return x.view(b, h // k, k, w // k, k, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, k * k, c)

    def forward(self, x):
        b, h, w, c = x.shape
        k, n = self.win, self.win**2
        y = self.part(torch.roll(self.n1(x), (-self.shift, -self.shift), (1, 2)))
        q, kk, v = self.qkv(y).reshape(-1, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        att = (q * self.scale) @ kk.transpose(-2, -1)
        att = att + self.table[self.idx.view(-1)].view(n, n, -1).permute(2, 0, 1)
        nw = self.mask.shape[0]
        att = (att.view(b, nw, self.heads, n, n) + self.mask[None, :, None]).view(
            -1, self.heads, n, n
        )
        y = self.proj((att.softmax(-1) @ v).transpose(1, 2).reshape(-1, n, c))
        y = y.view(b, h // k, w // k, k, k, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        x = x + torch.roll(y, (self.shift, self.shift), (1, 2))
        return x + self.fc2(F.gelu(self.fc1(self.n2(x))))


def get_inputs():
    return [torch.randn(4, 42, 42, 93)]


def get_init_inputs():
    return [93, 3, 42, 7, 3]
