import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """DeepLab ASPP with dilated convs, image pooling and bilinear upsampling to the input size."""

    def __init__(self, cin, c, rates, classes):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(cin, c, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU())
        self.dil = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Conv2d(cin, c, 3, padding=r, dilation=r, bias=False),
                    nn.BatchNorm2d(c),
                    nn.ReLU(),
                )
                for r in rates
            ]
        )
        self.img = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(cin, c, 1), nn.ReLU())
        self.proj = nn.Sequential(
            nn.Conv2d(c * (len(rates) + 2), c, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU()
        )
        self.cls = nn.Conv2d(c, classes, 1)

    def forward(self, x):
        outs = [self.one(x)] + [d(x) for d in self.dil]
        g = F.interpolate(self.img(x), size=x.shape[2:], mode="bilinear", align_corners=False)
        y = self.cls(self.proj(torch.cat(outs + [g], 1)))
        return F.interpolate(y, scale_factor=8, mode="bilinear", align_corners=False)


def get_inputs():
    return [torch.randn(2, 320, 33, 41)]


def get_init_inputs():
    return [320, 128, (6, 12, 18), 21]
