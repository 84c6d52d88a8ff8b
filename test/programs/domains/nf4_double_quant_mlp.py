import torch
import torch.nn as nn
import torch.nn.functional as F

NF4 = [
    -1.0,
    -0.6961928,
    -0.5250731,
    -0.3949175,
    -0.2844414,
    -0.1847734,
    -0.0910500,
    0.0,
    0.0795803,
    0.1609302,
    0.2461123,
    0.3379152,
    0.4407098,
    0.5626170,
    0.7229568,
    1.0,
]


class Model(nn.Module):
    """SwiGLU MLP with NF4 look-up weights, blocks of 64 whose absmax is itself int8 with blocks of 256."""

    def __init__(self, dim, inter):
        super().__init__()
        self.dim, self.inter = dim, inter
        self.register_buffer("code", torch.tensor(NF4))
        for name in ("gate", "up", "down"):
            n = dim * inter
            self.register_buffer(
                name + "_packed", torch.randint(0, 256, (n // 2,), dtype=torch.uint8)
            )
            self.register_buffer(
                name + "_absq", torch.randint(0, 256, (n // 64,), dtype=torch.uint8)
            )
            self.register_buffer(name + "_abss", torch.rand(n // 64 // 256) * 2e-4 + 1e-4)
            self.register_buffer(name + "_mean", torch.tensor(0.04))

    def weight(self, name, rows, cols):
        p = getattr(self, name + "_packed").long()
        vals = torch.stack((self.code[p >> 4], self.code[p & 15]), dim=-1).view(-1, 64)
        q = getattr(self, name + "_absq").view(-1, 256).to(vals.dtype) - 128.0
        absmax = (q * getattr(self, name + "_abss")[:, None]).view(-1, 1) + getattr(
            self, name + "_mean"
        )
        return (vals * absmax).view(rows, cols)

    def forward(self, x):
        g = F.linear(x, self.weight("gate", self.inter, self.dim))
        u = F.linear(x, self.weight("up", self.inter, self.dim))
        return F.linear(F.silu(g) * u, self.weight("down", self.dim, self.inter))


def get_inputs():
    return [torch.randn(5, 61, 2048)]


def get_init_inputs():
    return [2048, 5632]
