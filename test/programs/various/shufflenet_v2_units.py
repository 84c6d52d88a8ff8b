import torch
import torch.nn as nn


def channel_shuffle(x, groups):
    b, c, h, w = x.size()
    x = x.view(b, groups, c // groups, h, w)
    return torch.transpose(x, 1, 2).contiguous().view(b, c, h, w)


class Model(nn.Module):
    """A stride-2 and a stride-1 ShuffleNetV2 unit with 58-channel branches."""

    def __init__(self, cin, br):
        super().__init__()
        self.d1 = nn.Sequential(
            nn.Conv2d(cin, cin, 3, 2, 1, groups=cin, bias=False),
            nn.BatchNorm2d(cin),
            nn.Conv2d(cin, br, 1, bias=False),
            nn.BatchNorm2d(br),
            nn.ReLU(),
        )
        self.d2 = nn.Sequential(
            nn.Conv2d(cin, br, 1, bias=False),
            nn.BatchNorm2d(br),
            nn.ReLU(),
            nn.Conv2d(br, br, 3, 2, 1, groups=br, bias=False),
            nn.BatchNorm2d(br),
            nn.Conv2d(br, br, 1, bias=False),
            nn.BatchNorm2d(br),
            nn.ReLU(),
        )
        self.s = nn.Sequential(
            nn.Conv2d(br, br, 1, bias=False),
            nn.BatchNorm2d(br),
            nn.ReLU(),
            nn.Conv2d(br, br, 3, 1, 1, groups=br, bias=False),
            nn.BatchNorm2d(br),
            nn.Conv2d(br, br, 1, bias=False),
            nn.BatchNorm2d(br),
            nn.ReLU(),
        )

    def forward(self, x):
        x = channel_shuffle(torch.cat((self.d1(x), self.d2(x)), 1), 2)
        x1, x2 = x.chunk(2, dim=1)
        return channel_shuffle(torch.cat((x1, self.s(x2)), 1), 2)


def get_inputs():
    return [torch.randn(13, 24, 55, 53)]


def get_init_inputs():
    return [24, 58]
