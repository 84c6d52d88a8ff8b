import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """3D Gray-Scott reaction diffusion with a 7-point stencil and replicated borders, then gradient magnitude and divergence of the flux."""

    def __init__(self, du, dv, feed, kill, steps):
        super().__init__()
        self.du, self.dv, self.f, self.k, self.steps = du, dv, feed, kill, steps

    @staticmethod
    def lap(a):
        p = F.pad(a[None], (1,) * 6, mode="replicate")[0]
        return (
            p[:, 2:, 1:-1, 1:-1]
            + p[:, :-2, 1:-1, 1:-1]
            + p[:, 1:-1, 2:, 1:-1]
            + p[:, 1:-1, :-2, 1:-1]
            + p[:, 1:-1, 1:-1, 2:]
            + p[:, 1:-1, 1:-1, :-2]
            - 6 * a
        )

    def forward(self, u, v):
        for _ in range(self.steps):
            uvv = u * v * v
            u = u + self.du * self.lap(u) - uvv + self.f * (1 - u)
            v = v + self.dv * self.lap(v) + uvv - (self.f + self.k) * v
        gz = 0.5 * (v[:, 2:, 1:-1, 1:-1] - v[:, :-2, 1:-1, 1:-1])
        gy = 0.5 * (v[:, 1:-1, 2:, 1:-1] - v[:, 1:-1, :-2, 1:-1])
        gx = 0.5 * (v[:, 1:-1, 1:-1, 2:] - v[:, 1:-1, 1:-1, :-2])
        mag = torch.sqrt(gx**2 + gy**2 + gz**2 + 1e-12)
        nx = gx / (mag + 1e-3)
        curv = nx[..., 1:] - nx[..., :-1]
        return u, v, mag.amax((2, 3)), curv.abs().mean((1, 2, 3))


def get_inputs():
    return [torch.rand(2, 67, 83, 95), torch.rand(2, 67, 83, 95) * 0.3]


def get_init_inputs():
    return [0.12, 0.06, 0.035, 0.06, 3]
