import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Mixture of experts: top-2 softmax gating, dense evaluation of all experts, load-balancing loss."""

    def __init__(self, d, ff, experts):
        super().__init__()
        self.e = experts
        self.gate = nn.Linear(d, experts, bias=False)
        self.w1 = nn.Parameter(torch.randn(experts, d, ff) / math.sqrt(d))
        self.w3 = nn.Parameter(torch.randn(experts, d, ff) / math.sqrt(d))
        self.w2 = nn.Parameter(torch.randn(experts, ff, d) / math.sqrt(ff))

    def forward(self, x):
        b, t, d = x.shape
        h = x.reshape(-1, d)
        prob = F.softmax(self.gate(h), -1)
        top, idx = prob.topk(2, -1)
        top = top / top.sum(-1, keepdim=True)
        comb = torch.zeros_like(prob).scatter(1, idx, top)
        up = F.silu(torch.einsum("nd,edf->enf", h, self.w1)) * torch.einsum(
            "nd,edf->enf", h, self.w3
        )
        y = torch.einsum("enf,efd->end", up, self.w2)
        y = (y * comb.t().unsqueeze(-1)).sum(0)
        load = (comb > 0).to(x.dtype).mean(0)
        aux = self.e * (load * prob.mean(0)).sum()
        return y.view(b, t, d) + x, aux


def get_inputs():
    return [torch.randn(3, 211, 288)]


def get_init_inputs():
    return [288, 502, 7]
