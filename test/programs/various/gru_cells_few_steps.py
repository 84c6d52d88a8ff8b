import torch
import torch.nn as nn


class Model(nn.Module):
    """RAFT-style update loop: a hand-written GRU cell and a peephole LSTM cell unrolled for nine steps."""

    def __init__(self, n_in, h, steps):
        super().__init__()
        self.steps = steps
        self.cell = nn.GRUCell(n_in, h)
        self.wx = nn.Linear(h, 4 * h)
        self.wh = nn.Linear(h, 4 * h, bias=False)
        self.peep = nn.Parameter(torch.randn(3, h) * 0.1)
        self.ln = nn.LayerNorm(h)

    def forward(self, seq, h0):
        hg, hl = h0, torch.zeros_like(h0)
        c = torch.zeros_like(h0)
        outs = []
        for t in range(self.steps):
            hg = self.cell(seq[:, t], hg)
            i, f, g, o = (self.wx(hg) + self.wh(hl)).chunk(4, -1)
            i = torch.sigmoid(i + self.peep[0] * c)
            f = torch.sigmoid(f + 1.0 + self.peep[1] * c)
            c = f * c + i * torch.tanh(g)
            hl = torch.sigmoid(o + self.peep[2] * c) * torch.tanh(c)
            outs.append(self.ln(hl + hg))
        return torch.stack(outs, 1), c


def get_inputs():
    return [torch.randn(129, 9, 75), torch.randn(129, 203)]


def get_init_inputs():
    return [75, 203, 9]
