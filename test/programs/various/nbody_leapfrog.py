import torch
import torch.nn as nn


class Model(nn.Module):
    """Direct N-body with softening: kick-drift-kick leapfrog steps, total energy and angular momentum."""

    def __init__(self, dt, eps, steps):
        super().__init__()
        self.dt, self.eps, self.steps = dt, eps, steps

    def acc(self, x, m):
        r = x[None, :, :] - x[:, None, :]
        d2 = (r * r).sum(-1) + self.eps**2
        inv3 = d2.pow(-1.5)
        return (r * (m[None, :, None] * inv3[..., None])).sum(1)

    def forward(self, x, v, m):
        a = self.acc(x, m)
        for _ in range(self.steps):
            v = v + 0.5 * self.dt * a
            x = x + self.dt * v
            a = self.acc(x, m)
            v = v + 0.5 * self.dt * a
        kin = 0.5 * (m * (v**2).sum(-1)).sum()
        d = torch.sqrt(((x[None] - x[:, None]) ** 2).sum(-1) + self.eps**2)
        pot = -0.5 * (m[:, None] * m[None] / d).sum()
        L = torch.cross(x, v * m[:, None], dim=-1).sum(0)
        return x, v, kin + pot, L


def get_inputs():
    n = 1783
    return [torch.randn(n, 3), torch.randn(n, 3) * 0.1, torch.rand(n) / n]


def get_init_inputs():
    return [0.01, 0.1, 3]
