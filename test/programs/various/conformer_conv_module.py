import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Conformer: half-step feed forward, conv module (GLU, depthwise 31, BN, swish), half-step feed forward, layer norm."""

    def __init__(self, d, k):
        super().__init__()
        self.ff1 = nn.Sequential(
            nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d)
        )
        self.ff2 = nn.Sequential(
            nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d)
        )
        self.ln = nn.LayerNorm(d)
        self.pw1 = nn.Conv1d(d, 2 * d, 1)
        self.dw = nn.Conv1d(d, d, k, padding=k // 2, groups=d)
        self.bn = nn.BatchNorm1d(d)
        self.pw2 = nn.Conv1d(d, d, 1)
        self.final = nn.LayerNorm(d)

    def forward(self, x, pad_mask):
        x = x + 0.5 * self.ff1(x)
        y = self.ln(x).masked_fill(pad_mask.unsqueeze(-1), 0.0).transpose(1, 2)
        y = F.glu(self.pw1(y), dim=1)
        y = self.pw2(F.silu(self.bn(self.dw(y))))
        x = x + y.transpose(1, 2)
        x = x + 0.5 * self.ff2(x)
        return self.final(x)


def get_inputs():
    lens = torch.randint(200, 743, (5,))
    return [torch.randn(5, 743, 176), torch.arange(743)[None] >= lens[:, None]]


def get_init_inputs():
    return [176, 31]
