import torch
import torch.nn as nn
import torch.nn.functional as F


class Branchy(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.stride = stride
        self.w3 = nn.Parameter(torch.randn(o, i, 3, 3) * (2 / (9 * i)) ** 0.5)
        self.w1 = nn.Parameter(torch.randn(o, i, 1, 1) * (1 / i) ** 0.5)
        self.bn3, self.bn1 = nn.BatchNorm2d(o), nn.BatchNorm2d(o)
        self.bn0 = nn.BatchNorm2d(i) if i == o and stride == 1 else None
        for bn in (self.bn3, self.bn1, self.bn0):
            if bn is not None:
                bn.running_mean.normal_(0, 0.1)
                bn.running_var.uniform_(0.5, 1.5)

    def fused(self):
        s3 = self.bn3.weight / (self.bn3.running_var + self.bn3.eps).sqrt()
        s1 = self.bn1.weight / (self.bn1.running_var + self.bn1.eps).sqrt()
        k = self.w3 * s3.reshape(-1, 1, 1, 1) + F.pad(
            self.w1 * s1.reshape(-1, 1, 1, 1), (1, 1, 1, 1)
        )
        b = self.bn3.bias - self.bn3.running_mean * s3 + self.bn1.bias - self.bn1.running_mean * s1
        if self.bn0 is not None:
            s0 = self.bn0.weight / (self.bn0.running_var + self.bn0.eps).sqrt()
            eye = torch.eye(s0.numel(), device=s0.device, dtype=s0.dtype) * s0[:, None]
            k = k + F.pad(eye[:, :, None, None], [1, 1, 1, 1])
            b = b + self.bn0.bias - self.bn0.running_mean * s0
        return k, b

    def forward(self, x):
        k, b = self.fused()
        return F.relu(F.conv2d(x, k, b, stride=self.stride, padding=1))


class Model(nn.Module):
    """RepVGG stage fused on the fly: 3x3, 1x1 and identity branches folded with their batch norms, four blocks, pooled 11-class head."""

    def __init__(self, widths):
        super().__init__()
        self.blocks = nn.Sequential(*[Branchy(a, b, s) for a, b, s in widths])
        self.fc = nn.Linear(widths[-1][1], 11)

    def forward(self, x):
        x = self.blocks(x)
        return self.fc(x.mean((2, 3)))


def get_inputs():
    return [torch.randn(9, 48, 112, 112)]


def get_init_inputs():
    return [[(48, 96, 2), (96, 96, 1), (96, 96, 1), (96, 192, 2), (192, 192, 1)]]
