import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Capsule network: primary capsules by conv, squash, prediction vectors, three rounds of dynamic routing."""

    def __init__(self, caps_in, din, caps_out, dout, rounds):
        super().__init__()
        self.rounds, self.din = rounds, din
        self.conv = nn.Conv2d(1, 56, 9)
        self.prim = nn.Conv2d(56, 11 * din, 9, stride=2)
        self.W = nn.Parameter(torch.randn(caps_in, caps_out, dout, din) * 0.1)

    @staticmethod
    def squash(s):
        n2 = (s * s).sum(-1, keepdim=True)
        return n2 / (1 + n2) * s / torch.sqrt(n2 + 1e-7)

    def forward(self, x):
        p = self.prim(F.relu(self.conv(x)))
        b = p.size(0)
        u = self.squash(p.view(b, 11, self.din, -1).permute(0, 1, 3, 2).reshape(b, -1, self.din))
        uh = torch.einsum("ijod,bid->bijo", self.W, u)
        logit = torch.zeros_like(uh[..., 0])
        for i in range(self.rounds):
            c = logit.softmax(2)
            v = self.squash((c.unsqueeze(-1) * uh).sum(1))
            if i < self.rounds - 1:
                logit = logit + (uh * v.unsqueeze(1)).sum(-1)
        return torch.sqrt((v * v).sum(-1) + 1e-7)


def get_inputs():
    return [torch.rand(23, 1, 28, 28)]


def get_init_inputs():
    return [396, 8, 10, 15, 3]
