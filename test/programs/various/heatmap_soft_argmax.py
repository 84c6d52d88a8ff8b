import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Pose head: deconv to heat maps, spatial softmax, expected coordinates, variance and confidence, plus gaussian targets' MSE."""

    def __init__(self, c, joints, h, w, beta):
        super().__init__()
        self.beta = beta
        self.deconv = nn.ConvTranspose2d(c, 128, 4, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(128)
        self.final = nn.Conv2d(128, joints, 1)
        self.register_buffer("xs", torch.linspace(-1, 1, w))
        self.register_buffer("ys", torch.linspace(-1, 1, h))

    def forward(self, x, kp):
        hm = self.final(F.relu(self.bn(self.deconv(x))))
        b, j, h, w = hm.shape
        p = F.softmax(hm.reshape(b, j, -1) * self.beta, -1).view(b, j, h, w)
        ex = (p.sum(2) * self.xs).sum(-1)
        ey = (p.sum(3) * self.ys).sum(-1)
        vx = (p.sum(2) * (self.xs - ex[..., None]) ** 2).sum(-1)
        vy = (p.sum(3) * (self.ys - ey[..., None]) ** 2).sum(-1)
        gx = torch.exp(-((self.xs - kp[..., :1]) ** 2) / 0.02)
        gy = torch.exp(-((self.ys - kp[..., 1:]) ** 2) / 0.02)
        target = gy[..., :, None] * gx[..., None, :]
        mse = (hm - target).pow(2).mean((2, 3))
        return torch.stack([ex, ey, vx, vy], -1), p.flatten(2).amax(-1), mse


def get_inputs():
    return [torch.randn(7, 150, 48, 36), torch.rand(7, 17, 2) * 2 - 1]


def get_init_inputs():
    return [150, 17, 96, 72, 10.0]
