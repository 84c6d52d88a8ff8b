import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal WaveNet: gated tanh*sigmoid units with conditioning, residual and skip; mu-law logits."""

    def __init__(self, c, cond, layers, q):
        super().__init__()
        self.inp = nn.Conv1d(1, c, 1)
        self.dil = [2**i for i in range(layers)]
        self.fil = nn.ModuleList([nn.Conv1d(c, 2 * c, 2, dilation=d) for d in self.dil])
        self.cond = nn.ModuleList([nn.Conv1d(cond, 2 * c, 1, bias=False) for d in self.dil])
        self.out = nn.ModuleList([nn.Conv1d(c, 2 * c, 1) for d in self.dil])
        self.post = nn.Sequential(nn.ReLU(), nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, q, 1))

    def forward(self, wav, mel):
        mel = F.interpolate(mel, size=wav.size(-1), mode="linear", align_corners=False)
        x = torch.sign(wav) * torch.log1p(255.0 * wav.abs()) / math.log(256.0)
        x = self.inp(x)
        skips = torch.zeros_like(x)
        for d, f, c, o in zip(self.dil, self.fil, self.cond, self.out):
            z = f(F.pad(x, (d, 0))) + c(mel)
            a, b = z.chunk(2, 1)
            r, s = o(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            x = (x + r) * math.sqrt(0.5)
            skips = skips + s
        return self.post(skips)


def get_inputs():
    return [torch.rand(1, 1, 12001) * 2 - 1, torch.randn(1, 80, 47)]


def get_init_inputs():
    return [48, 80, 8, 256]
