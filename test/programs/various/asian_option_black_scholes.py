import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Monte Carlo Asian call with a geometric control variate from given normals, plus Black-Scholes prices and Greeks on a strike grid."""

    def __init__(self, s0, r, sigma, T, steps):
        super().__init__()
        self.s0, self.r, self.sigma, self.T, self.n = s0, r, sigma, T, steps

    def forward(self, normals, strikes, vols):
        dt = self.T / self.n
        inc = (self.r - 0.5 * self.sigma**2) * dt + self.sigma * math.sqrt(dt) * normals
        logs = torch.cumsum(inc, 1)
        arith = self.s0 * torch.exp(logs).mean(1)
        geo = self.s0 * torch.exp(logs.mean(1))
        disc = math.exp(-self.r * self.T)
        pay = disc * F.relu(arith[:, None] - strikes)
        cv = disc * F.relu(geo[:, None] - strikes)
        price = pay.mean(0)
        err = pay.std(0) / math.sqrt(normals.size(0))
        v = vols[:, None] * math.sqrt(self.T)
        d1 = (torch.log(self.s0 / strikes) + self.r * self.T + 0.5 * v * v) / v
        cdf = lambda t: 0.5 * (1 + torch.erf(t / math.sqrt(2)))
        call = self.s0 * cdf(d1) - strikes * disc * cdf(d1 - v)
        vega = self.s0 * torch.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi) * math.sqrt(self.T)
        return price, cv.mean(0), err, call, cdf(d1), vega


def get_inputs():
    return [torch.randn(65537, 91), torch.linspace(0.7, 1.3, 11), torch.rand(997) * 0.4 + 0.1]


def get_init_inputs():
    return [1.0, 0.03, 0.25, 1.0, 91]
