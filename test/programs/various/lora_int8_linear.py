import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """QLoRA-like MLP: int8 group-wise quantised weights dequantised on the fly, LoRA adapters, dynamic activation fake-quant."""

    def __init__(self, d, ff, group, rank):
        super().__init__()
        self.d, self.group = d, group
        self.register_buffer(
            "qw1", torch.randint(-127, 128, (ff, d // group, group), dtype=torch.int8)
        )
        self.register_buffer("s1", torch.rand(ff, d // group, 1) * 4e-4 + 1e-4)
        self.register_buffer("qw2", torch.randint(0, 16, (d, ff), dtype=torch.uint8))
        self.register_buffer("s2", torch.rand(d, 1) * 4e-3 + 1e-3)
        self.register_buffer("z2", torch.randint(6, 10, (d, 1)).float())
        self.a1, self.b1 = nn.Linear(d, rank, bias=False), nn.Linear(rank, ff, bias=False)
        self.a2, self.b2 = nn.Linear(ff, rank, bias=False), nn.Linear(rank, d, bias=False)
        self.scaling = 16 / rank

    def forward(self, x):
        amax = x.abs().amax(-1, keepdim=True).clamp_min(1e-6)
        xq = torch.round(x / amax * 127).clamp(-128, 127) * amax / 127
        w1 = (self.qw1.to(x.dtype) * self.s1).flatten(1)
        h = F.silu(F.linear(xq, w1) + self.scaling * self.b1(self.a1(x)))
        w2 = (self.qw2.to(x.dtype) - self.z2) * self.s2
        return F.linear(h, w2) + self.scaling * self.b2(self.a2(h))


def get_inputs():
    return [torch.randn(2, 77, 1056)]


def get_init_inputs():
    return [1056, 2731, 33, 13]
