import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """PWC-Net: warped local cost volume with displacement 4 (81 maps) written as a loop of shifted products."""

    def __init__(self, d, c_out):
        super().__init__()
        self.d = d
        self.conv = nn.Conv2d((2 * d + 1) ** 2 + 2, c_out, 3, padding=1)
        self.flow = nn.Conv2d(c_out, 2, 3, padding=1)

    def forward(self, f1, f2, flow):
        b, c, h, w = f1.shape
        d = self.d
        yy = torch.linspace(-1, 1, h, device=f1.device, dtype=f1.dtype)
        xx = torch.linspace(-1, 1, w, device=f1.device, dtype=f1.dtype)
        gy, gx = torch.meshgrid(yy, xx, indexing="ij")
        grid = torch.stack([gx + flow[:, 0] * 2 / (w - 1), gy + flow[:, 1] * 2 / (h - 1)], -1)
        warped = F.grid_sample(f2, grid, align_corners=True, padding_mode="zeros")
        pad = F.pad(warped, (d, d, d, d))
        cost = []
        for i in range(2 * d + 1):
            for j in range(2 * d + 1):
                cost.append((f1 * pad[:, :, i : i + h, j : j + w]).mean(1, keepdim=True))
        cost = F.leaky_relu(torch.cat(cost, 1), 0.1)
        x = F.leaky_relu(self.conv(torch.cat([cost, flow], 1)), 0.1)
        return flow + self.flow(x)


def get_inputs():
    return [torch.randn(1, 61, 56, 109), torch.randn(1, 61, 56, 109), torch.randn(1, 2, 56, 109)]


def get_init_inputs():
    return [4, 53]
