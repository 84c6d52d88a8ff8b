"""minGRU trained in parallel: gate and candidate from one projection, scan by cumsum and logcumsumexp in log space."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 7
SEQ = 769
DIM = 512
EXPANSION = 1.5


def g(x):
    return torch.where(x >= 0, x + 0.5, x.sigmoid())


def log_g(x):
    return torch.where(x >= 0, (F.relu(x) + 0.5).log(), -F.softplus(-x))


def heinsen_scan_log(log_coeffs, log_values):
    a_star = log_coeffs.cumsum(dim=1)
    return (a_star + (log_values - a_star).logcumsumexp(dim=1)).exp()


class Model(nn.Module):
    def __init__(self, dim, expansion):
        super().__init__()
        inner = int(dim * expansion)
        self.to_hidden_and_gate = nn.Linear(dim, inner * 2, bias=False)
        self.to_out = nn.Linear(inner, dim, bias=False)

    def forward(self, x, prev_hidden):
        s = x.shape[1]
        hidden, gate = self.to_hidden_and_gate(x).chunk(2, dim=-1)
        log_coeffs = -F.softplus(gate)
        log_z = -F.softplus(-gate)
        log_values = log_z + log_g(hidden)
        log_values = torch.cat((prev_hidden.log(), log_values), dim=1)
        log_coeffs = F.pad(log_coeffs, (0, 0, 1, 0))
        out = heinsen_scan_log(log_coeffs, log_values)[:, -s:]
        return self.to_out(out) + x, out[:, -1:]


def get_inputs():
    return [torch.randn(BATCH, SEQ, DIM), torch.rand(BATCH, 1, int(DIM * EXPANSION)) + 0.1]


def get_init_inputs():
    return [DIM, EXPANSION]
