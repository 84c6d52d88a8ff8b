import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Inception-C-like block: 1x1, 1x7/7x1 factorised, pooled and 3x3 branches concatenated, with local pooling head."""

    def __init__(self, cin, c7):
        super().__init__()
        self.b1 = nn.Conv2d(cin, 101, 1)
        self.b7_1 = nn.Conv2d(cin, c7, 1)
        self.b7_2 = nn.Conv2d(c7, c7, (1, 7), padding=(0, 3))
        self.b7_3 = nn.Conv2d(c7, 97, (7, 1), padding=(3, 0))
        self.b3_1 = nn.Conv2d(cin, 64, 1)
        self.b3_2 = nn.Conv2d(64, 90, 3, padding=1)
        self.bp = nn.Conv2d(cin, 50, 1)

    def forward(self, x):
        a = F.relu(self.b1(x))
        b = F.relu(self.b7_3(F.relu(self.b7_2(F.relu(self.b7_1(x))))))
        c = F.relu(self.b3_2(F.relu(self.b3_1(x))))
        d = F.relu(self.bp(F.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)))
        y = torch.cat([a, b, c, d], 1)
        return torch.cat([F.max_pool2d(y, 3, 2), F.avg_pool2d(y, 3, 2)], 1)


def get_inputs():
    return [torch.randn(6, 217, 35, 35)]


def get_init_inputs():
    return [217, 79]
