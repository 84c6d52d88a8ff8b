import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """SuperGlue matching: descriptor scores, dustbins, log-space Sinkhorn for 12 iterations, transport cost."""

    def __init__(self, d, iters):
        super().__init__()
        self.iters = iters
        self.proj = nn.Conv1d(d, d, 1)
        self.bin = nn.Parameter(torch.tensor(1.0))

    def forward(self, d0, d1):
        a, b = self.proj(d0), self.proj(d1)
        s = torch.einsum("bdn,bdm->bnm", a, b) / d0.size(1) ** 0.5
        B, m, n = s.shape
        col = self.bin.expand(B, m, 1)
        row = self.bin.expand(B, 1, n + 1)
        Z = torch.cat([torch.cat([s, col], -1), row], 1)
        norm = -math.log(m + n)
        log_mu = torch.full((B, m + 1), norm, device=s.device, dtype=s.dtype)
        log_nu = torch.full((B, n + 1), norm, device=s.device, dtype=s.dtype)
        log_mu[:, -1] = math.log(n) + norm
        log_nu[:, -1] = math.log(m) + norm
        u, v = torch.zeros_like(log_mu), torch.zeros_like(log_nu)
        for _ in range(self.iters):
            u = log_mu - torch.logsumexp(Z + v.unsqueeze(1), 2)
            v = log_nu - torch.logsumexp(Z + u.unsqueeze(2), 1)
        P = Z + u.unsqueeze(2) + v.unsqueeze(1) - norm
        return P[:, :-1, :-1].exp(), P[:, :-1, -1].exp()


def get_inputs():
    return [torch.randn(2, 128, 511), torch.randn(2, 128, 467)]


def get_init_inputs():
    return [128, 12]
