import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Gaussian process prediction: ARD-RBF Gram matrix times vector, kernel density, Matern-3/2 part, Nadaraya-Watson estimate."""

    def __init__(self, d):
        super().__init__()
        self.ls = nn.Parameter(torch.rand(d) + 0.7)

    def forward(self, xq, xt, alpha):
        a, b = xq / self.ls, xt / self.ls
        d2 = (a.pow(2).sum(-1, keepdim=True) + b.pow(2).sum(-1) - 2 * a @ b.t()).clamp_min(0)
        K = torch.exp(-0.5 * d2)
        r = math.sqrt(3.0) * torch.sqrt(d2 + 1e-8)
        M = (1 + r) * torch.exp(-r)
        mean = (K + 0.5 * M) @ alpha
        kde = torch.logsumexp(-0.5 * d2, -1) - math.log(xt.size(0))
        nw = (M * alpha[:, 0]).sum(1) / M.sum(1)
        return mean, kde, nw


def get_inputs():
    return [torch.randn(2503, 5), torch.randn(4799, 5), torch.randn(4799, 3)]


def get_init_inputs():
    return [5]
