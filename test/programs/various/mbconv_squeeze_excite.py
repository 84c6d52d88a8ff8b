import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """EfficientNet front: 3x3 stride-2 RGB stem, then an inverted residual (MBConv) with 5x5 depthwise, squeeze-excite and SiLU."""

    def __init__(self, cin, expand, cout, se):
        super().__init__()
        h = cin * expand
        self.stem = nn.Conv2d(3, cin, 3, stride=2, padding=1, bias=False)
        self.bns = nn.BatchNorm2d(cin, eps=1e-3)
        self.pw = nn.Conv2d(cin, h, 1, bias=False)
        self.bn0 = nn.BatchNorm2d(h, eps=1e-3)
        self.dw = nn.Conv2d(h, h, 5, padding=2, groups=h, bias=False)
        self.bn1 = nn.BatchNorm2d(h, eps=1e-3)
        self.se_r = nn.Conv2d(h, se, 1)
        self.se_e = nn.Conv2d(se, h, 1)
        self.pl = nn.Conv2d(h, cout, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout, eps=1e-3)

    def forward(self, x):
        x = F.silu(self.bns(self.stem(x)))
        y = F.silu(self.bn0(self.pw(x)))
        y = F.silu(self.bn1(self.dw(y)))
        s = F.adaptive_avg_pool2d(y, 1)
        s = self.se_e(F.silu(self.se_r(s)))
        y = torch.sigmoid(s) * y
        return self.bn2(self.pl(y)) + x


def get_inputs():
    return [torch.randn(11, 3, 113, 117)]


def get_init_inputs():
    return [40, 6, 40, 10]
