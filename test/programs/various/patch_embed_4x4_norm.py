import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Swin patch embedding 4x4 (with padding to a multiple) followed by patch merging."""

    def __init__(self, dim, patch):
        super().__init__()
        self.patch = patch
        self.proj = nn.Conv2d(3, dim, patch, stride=patch)
        self.norm = nn.LayerNorm(dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm2 = nn.LayerNorm(4 * dim)

    def forward(self, x):
        H, W = x.shape[-2:]
        p = self.patch
        x = F.pad(x, (0, (p - W % p) % p, 0, (p - H % p) % p))
        x = self.proj(x)
        B, C, h, w = x.shape
        x = self.norm(x.flatten(2).transpose(1, 2)).view(B, h, w, C)
        if h % 2 or w % 2:
            x = F.pad(x, (0, 0, 0, w % 2, 0, h % 2))
        x0 = x[:, 0::2, 0::2]
        x1 = x[:, 1::2, 0::2]
        x2 = x[:, 0::2, 1::2]
        x3 = x[:, 1::2, 1::2]
        x = torch.cat([x0, x1, x2, x3], -1)
        return self.reduction(self.norm2(x))


def get_inputs():
    return [torch.randn(9, 3, 250, 333)]


def get_init_inputs():
    return [96, 4]
