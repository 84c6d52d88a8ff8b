import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Feature pyramid: laterals, nearest-neighbour top-down sum, smoothing, extra stride-2 level."""

    def __init__(self, chans, d):
        super().__init__()
        self.lat = nn.ModuleList([nn.Conv2d(c, d, 1) for c in chans])
        self.out = nn.ModuleList([nn.Conv2d(d, d, 3, padding=1) for _ in chans])
        self.extra = nn.Conv2d(d, d, 3, stride=2, padding=1)

    def forward(self, c3, c4, c5):
        feats = [l(c) for l, c in zip(self.lat, (c3, c4, c5))]
        for i in (1, 0):
            feats[i] = feats[i] + F.interpolate(
                feats[i + 1], size=feats[i].shape[-2:], mode="nearest"
            )
        outs = [o(f) for o, f in zip(self.out, feats)]
        outs.append(self.extra(outs[-1]))
        return tuple(outs)


def get_inputs():
    return [torch.randn(1, 192, 100, 151), torch.randn(1, 384, 50, 76), torch.randn(1, 768, 25, 38)]


def get_init_inputs():
    return [(192, 384, 768), 112]
