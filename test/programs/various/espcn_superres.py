import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """ESPCN x3 super resolution: luma through sub-pixel conv, residual over bicubic upsampling, clamp."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.c1 = nn.Conv2d(1, 64, 5, padding=2)
        self.c2 = nn.Conv2d(64, 32, 3, padding=1)
        self.c3 = nn.Conv2d(32, scale * scale, 3, padding=1)

    def forward(self, rgb):
        r, g, b = rgb.unbind(1)
        y = 0.299 * r + 0.587 * g + 0.114 * b
        cb = (b - y) * 0.564
        cr = (r - y) * 0.713
        up = F.interpolate(rgb, scale_factor=self.scale, mode="bicubic", align_corners=False)
        h = torch.tanh(self.c1(y.unsqueeze(1)))
        h = torch.tanh(self.c2(h))
        detail = F.pixel_shuffle(self.c3(h), self.scale)
        chroma = F.interpolate(torch.stack([cr, cb], 1), scale_factor=self.scale, mode="nearest")
        return torch.clamp(up + detail, 0, 1), chroma.abs().mean((2, 3))


def get_inputs():
    return [torch.rand(2, 3, 131, 179)]


def get_init_inputs():
    return [3]
