import math

import torch


class Model(torch.nn.Module):
    """Heston full-truncation Euler for 32 steps with correlated normals given; down-and-out barrier, arithmetic Asian and vanilla payoffs, control variate."""

    def __init__(self, s0, r, kappa, theta, xi, rho, T):
        super().__init__()
        self.s0, self.r, self.kappa, self.theta, self.xi, self.rho, self.T = (
            s0,
            r,
            kappa,
            theta,
            xi,
            rho,
            T,
        )

    def forward(self, z1, z2, v0, strikes):
        steps = z1.shape[0]
        dt = self.T / steps
        sq = math.sqrt(dt)
        x = torch.full_like(v0, math.log(self.s0))
        v, alive, avg = v0, torch.ones_like(v0), torch.zeros_like(v0)
        for t in range(steps):
            w2 = self.rho * z1[t] + math.sqrt(1 - self.rho**2) * z2[t]
            vp = v.clamp(min=0)
            sv = vp.sqrt()
            x = x + (self.r - 0.5 * vp) * dt + sv * sq * z1[t]
            v = v + self.kappa * (self.theta - vp) * dt + self.xi * sv * sq * w2
            s = x.exp()
            alive = alive * (s > 0.8 * self.s0)
            avg = avg + s / steps
        disc = math.exp(-self.r * self.T)
        k = strikes[:, None]
        vanilla = disc * (s - k).clamp(min=0)
        barrier = vanilla * alive
        asian = disc * torch.relu(avg - k)
        ctrl = disc * s - self.s0
        var = ctrl.var()
        beta = ((vanilla - vanilla.mean(1, keepdim=True)) * (ctrl - ctrl.mean())).mean(1) / var
        price = vanilla.mean(1) - beta * ctrl.mean()
        return price, barrier.mean(1), asian.mean(1), barrier.std(1) / barrier.shape[1] ** 0.5


def get_inputs():
    n = 250007
    return [
        torch.randn(32, n),
        torch.randn(32, n),
        torch.rand(n) * 0.02 + 0.03,
        torch.tensor([80.0, 90.0, 100.0, 110.0, 125.0]),
    ]


def get_init_inputs():
    return [100.0, 0.03, 1.5, 0.04, 0.6, -0.7, 1.0]
