"""SwiGLU MLP with unsigned 4-bit weights packed in uint8 (two codes a byte), groups of 64 with float zero points."""

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 3
HIDDEN = 2560
INTER = 6912
GROUP = 64


class U4Linear(nn.Module):
    def __init__(self, n_in, n_out, group):
        super().__init__()
        self.n_in, self.n_out, self.group = n_in, n_out, group
        self.register_buffer("codes", torch.randint(0, 256, (n_out, n_in // 2), dtype=torch.uint8))
        ng = n_in // group
        self.register_buffer("scale", ((torch.rand(n_out, ng) + 0.5) * 0.2 * n_in**-0.5).bfloat16())
        self.register_buffer("zero", torch.randint(6, 10, (n_out, ng)).bfloat16())

    def weight(self):
        lo = self.codes & 0x0F
        hi = self.codes >> 4
        w = torch.stack((lo, hi), dim=-1).view(self.n_out, -1, self.group).to(torch.bfloat16)
        w = (w - self.zero.unsqueeze(-1)) * self.scale.unsqueeze(-1)
        return w.view(self.n_out, self.n_in)

    def forward(self, x):
        return F.linear(x, self.weight())


class Model(nn.Module):
    def __init__(self, hidden, inter, group):
        super().__init__()
        self.gate_up = U4Linear(hidden, 2 * inter, group)
        self.down = U4Linear(inter, hidden, group)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


def get_inputs():
    return [torch.randn(ROWS, HIDDEN, dtype=torch.bfloat16)]


def get_init_inputs():
    return [HIDDEN, INTER, GROUP]
