import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Bilateral filter 7x7 on RGB by unfold, followed by unsharp masking."""

    def __init__(self, k, ss, sr, amount):
        super().__init__()
        self.k, self.sr, self.amount = k, sr, amount
        a = torch.arange(k) - k // 2
        d2 = (a[:, None] ** 2 + a[None] ** 2).float()
        self.register_buffer("spatial", torch.exp(-d2 / (2 * ss * ss)).view(1, 1, k * k, 1))

    def forward(self, x):
        b, c, h, w = x.shape
        p = self.k // 2
        u = F.unfold(F.pad(x, (p, p, p, p), mode="replicate"), self.k).view(b, c, self.k**2, h * w)
        diff = (u - x.view(b, c, 1, h * w)).pow(2).sum(1, keepdim=True)
        wgt = self.spatial * torch.exp(-diff / (2 * self.sr**2))
        y = ((u * wgt).sum(2) / wgt.sum(2)).view(b, c, h, w)
        return (y + self.amount * (x - y)).clamp(0, 1)


def get_inputs():
    return [torch.rand(1, 3, 301, 227)]


def get_init_inputs():
    return [7, 2.0, 0.15, 1.4]
