import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Click prediction: one table with field offsets, FM second order, DCN-v2 low-rank cross layers, deep tower."""

    def __init__(self, fields, d, hidden, rank):
        super().__init__()
        self.register_buffer("off", torch.tensor([0] + list(fields[:-1])).cumsum(0))
        n = sum(fields)
        self.emb, self.lin = nn.Embedding(n, d), nn.Embedding(n, 1)
        m = len(fields) * d
        self.U = nn.ParameterList(
            [nn.Parameter(torch.randn(rank, m) / math.sqrt(m)) for _ in range(3)]
        )
        self.V = nn.ParameterList(
            [nn.Parameter(torch.randn(m, rank) / math.sqrt(rank)) for _ in range(3)]
        )
        self.b = nn.ParameterList([nn.Parameter(torch.zeros(m)) for _ in range(3)])
        self.deep = nn.Sequential(
            nn.Linear(m, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden // 2),
            nn.ReLU(),
        )
        self.out = nn.Linear(m + hidden // 2, 1)

    def forward(self, ids):
        ids = ids + self.off
        e = self.emb(ids) * 0.1
        first = self.lin(ids).sum(1).squeeze(-1)
        fm = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(-1)
        x0 = e.flatten(1)
        x = x0
        for U, V, b in zip(self.U, self.V, self.b):
            x = x0 * (x @ U.t() @ V.t() + b) + x
        z = self.out(torch.cat([x, self.deep(x0)], 1)).squeeze(-1)
        return torch.sigmoid(first + fm + z)


FIELDS = [101, 7, 5003, 29, 211, 1009, 53, 20011, 3, 613, 97]


def get_inputs():
    return [torch.stack([torch.randint(0, f, (4001,)) for f in FIELDS], 1)]


def get_init_inputs():
    return [FIELDS, 18, 300, 23]
