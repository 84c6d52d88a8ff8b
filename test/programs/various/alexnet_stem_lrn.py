import torch
import torch.nn as nn


class Model(nn.Module):
    """AlexNet front: 11x11 stride-4, local response norm, overlapping pool, grouped 5x5 conv."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, kernel_size=11, stride=4)
        self.lrn = nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=2.0)
        self.pool = nn.MaxPool2d(3, 2)
        self.conv2 = nn.Conv2d(96, 256, 5, padding=2, groups=2)

    def forward(self, x):
        x = self.pool(self.lrn(torch.relu(self.conv1(x))))
        x = self.pool(self.lrn(torch.relu(self.conv2(x))))
        return x.flatten(1)


def get_inputs():
    return [torch.rand(7, 3, 227, 227)]


def get_init_inputs():
    return []
