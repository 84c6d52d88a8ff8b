import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """DenseNet block of 7 layers (growth 19), then transition."""

    def __init__(self, cin, growth, layers):
        super().__init__()
        self.bns = nn.ModuleList()
        self.convs = nn.ModuleList()
        for i in range(layers):
            c = cin + i * growth
            self.bns.append(nn.BatchNorm2d(c))
            self.convs.append(nn.Conv2d(c, growth, 3, padding=1, bias=False))
        c = cin + layers * growth
        self.tbn = nn.BatchNorm2d(c)
        self.tconv = nn.Conv2d(c, c // 2, 1, bias=False)

    def forward(self, x):
        feats = [x]
        for bn, conv in zip(self.bns, self.convs):
            feats.append(conv(F.relu(bn(torch.cat(feats, 1)))))
        x = torch.cat(feats, 1)
        return F.avg_pool2d(self.tconv(F.relu(self.tbn(x))), 2)


def get_inputs():
    return [torch.randn(4, 37, 45, 61)]


def get_init_inputs():
    return [37, 19, 7]
