import torch
import torch.nn as nn


class Model(nn.Module):
    """Conv-TasNet separator: depthwise dilated 1d convs, PReLU, global layer norm, skip sums, mask."""

    def __init__(self, c, hid, layers, src):
        super().__init__()
        self.src = src
        self.inp = nn.Conv1d(c, c, 1)
        self.pw = nn.ModuleList([nn.Conv1d(c, hid, 1) for _ in range(layers)])
        self.dw = nn.ModuleList(
            [nn.Conv1d(hid, hid, 3, padding=2**i, dilation=2**i, groups=hid) for i in range(layers)]
        )
        self.act1 = nn.ModuleList([nn.PReLU() for _ in range(layers)])
        self.act2 = nn.ModuleList([nn.PReLU() for _ in range(layers)])
        self.n1 = nn.ModuleList([nn.GroupNorm(1, hid, eps=1e-8) for _ in range(layers)])
        self.n2 = nn.ModuleList([nn.GroupNorm(1, hid, eps=1e-8) for _ in range(layers)])
        self.res = nn.ModuleList([nn.Conv1d(hid, c, 1) for _ in range(layers)])
        self.skip = nn.ModuleList([nn.Conv1d(hid, c, 1) for _ in range(layers)])
        self.mask = nn.Conv1d(c, c * src, 1)

    def forward(self, x):
        y, total = self.inp(x), 0
        for i in range(len(self.pw)):
            z = self.n1[i](self.act1[i](self.pw[i](y)))
            z = self.n2[i](self.act2[i](self.dw[i](z)))
            total = total + self.skip[i](z)
            y = y + self.res[i](z)
        m = torch.sigmoid(self.mask(total)).view(x.size(0), self.src, x.size(1), x.size(2))
        return m * x.unsqueeze(1)


def get_inputs():
    return [torch.randn(2, 127, 3199)]


def get_init_inputs():
    return [127, 254, 5, 2]
