import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """R(2+1)D / I3D-like stem: 3x7x7 conv3d of RGB clips, then factorised (1,3,3)+(3,1,1) block."""

    def __init__(self, c1, mid, c2):
        super().__init__()
        self.stem = nn.Conv3d(3, c1, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False)
        self.bn = nn.BatchNorm3d(c1)
        self.pool = nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1))
        self.spatial = nn.Conv3d(c1, mid, (1, 3, 3), padding=(0, 1, 1), bias=False)
        self.bn2 = nn.BatchNorm3d(mid)
        self.temporal = nn.Conv3d(mid, c2, (3, 1, 1), padding=(1, 0, 0), bias=False)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn(self.stem(x))))
        x = torch.relu(self.bn2(self.spatial(x)))
        return F.adaptive_avg_pool3d(self.temporal(x), (4, 1, 1)).flatten(1)


def get_inputs():
    return [torch.randn(1, 3, 16, 112, 113)]


def get_init_inputs():
    return [45, 83, 64]
