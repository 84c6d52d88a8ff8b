import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1),
            nn.GroupNorm(4, cout),
            nn.LeakyReLU(0.1),
            nn.Conv2d(cout, cout, 3, padding=1),
            nn.GroupNorm(4, cout),
            nn.LeakyReLU(0.1),
        )

    def forward(self, x):
        return self.net(x)


class Model(nn.Module):
    """One-channel U-Net, two levels, transposed conv up, pads the up path for odd sizes."""

    def __init__(self, c):
        super().__init__()
        self.e1 = DoubleConv(1, c)
        self.e2 = DoubleConv(c, 2 * c)
        self.mid = DoubleConv(2 * c, 4 * c)
        self.u2 = nn.ConvTranspose2d(4 * c, 2 * c, 2, stride=2)
        self.d2 = DoubleConv(4 * c, 2 * c)
        self.u1 = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.d1 = DoubleConv(2 * c, c)
        self.out = nn.Conv2d(c, 2, 1)

    @staticmethod
    def join(up, skip):
        dy, dx = skip.size(2) - up.size(2), skip.size(3) - up.size(3)
        up = F.pad(up, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return torch.cat([skip, up], 1)

    def forward(self, x):
        a = self.e1(x)
        b = self.e2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        y = self.d2(self.join(self.u2(m), b))
        y = self.d1(self.join(self.u1(y), a))
        return torch.softmax(self.out(y), 1)


def get_inputs():
    return [torch.randn(2, 1, 187, 147)]


def get_init_inputs():
    return [28]
