import torch
import torch.nn as nn
import torch.nn.functional as F


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1 = nn.Conv2d(c, c, 3)
        self.n1 = nn.InstanceNorm2d(c, affine=True)
        self.c2 = nn.Conv2d(c, c, 3)
        self.n2 = nn.InstanceNorm2d(c, affine=True)

    def forward(self, x):
        y = F.relu(self.n1(self.c1(F.pad(x, (1, 1, 1, 1), mode="reflect"))))
        y = self.n2(self.c2(F.pad(y, (1, 1, 1, 1), mode="reflect")))
        return x + y


class Model(nn.Module):
    """Fast style transfer: AdaIN with a style feature, residual block, upsample, 9x9 reflection conv to RGB, gram matrix."""

    def __init__(self, c):
        super().__init__()
        self.res = ResBlock(c)
        self.up = nn.Conv2d(c, 32, 3)
        self.norm = nn.InstanceNorm2d(32, affine=True)
        self.to_rgb = nn.Conv2d(32, 3, 9)

    def forward(self, content, style):
        cm, cs = content.mean((2, 3), keepdim=True), content.std((2, 3), keepdim=True) + 1e-5
        sm, ss = style.mean((2, 3), keepdim=True), style.std((2, 3), keepdim=True) + 1e-5
        x = self.res((content - cm) / cs * ss + sm)
        b, c, h, w = x.shape
        f = x.reshape(b, c, h * w)
        gram = f @ f.transpose(1, 2) / (c * h * w)
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = F.relu(self.norm(self.up(F.pad(x, (1,) * 4, mode="reflect"))))
        x = torch.tanh(self.to_rgb(F.pad(x, (4,) * 4, mode="reflect")))
        return x, gram


def get_inputs():
    return [torch.randn(2, 67, 63, 75), torch.randn(2, 67, 40, 40)]


def get_init_inputs():
    return [67]
