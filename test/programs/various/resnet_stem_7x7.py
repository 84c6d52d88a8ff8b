import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """ResNet stem: 7x7 stride-2 conv on RGB, batch norm, relu, max pool, first basic block."""

    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(width)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        y = F.relu(self.bn2(self.conv2(x)))
        y = self.bn3(self.conv3(y))
        return F.relu(x + y)


def get_inputs():
    return [torch.randn(5, 3, 223, 231)]


def get_init_inputs():
    return [61]
