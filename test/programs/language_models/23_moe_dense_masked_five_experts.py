"""Mixtral-like MoE in dense masked form: every expert sees all tokens, weights from one_hot of the top-2 of 5 experts."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
SEQ = 1019
DIM = 1024
INTER = 2816
EXPERTS = 5
TOP_K = 2


class Expert(nn.Module):
    def __init__(self, dim, inter):
        super().__init__()
        self.w1 = nn.Linear(dim, inter, bias=False, dtype=torch.bfloat16)
        self.w2 = nn.Linear(inter, dim, bias=False, dtype=torch.bfloat16)
        self.w3 = nn.Linear(dim, inter, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Model(nn.Module):
    def __init__(self, dim, inter, experts, top_k):
        super().__init__()
        self.n, self.k = experts, top_k
        self.gate = nn.Linear(dim, experts, bias=False, dtype=torch.bfloat16)
        self.experts = nn.ModuleList([Expert(dim, inter) for _ in range(experts)])

    def forward(self, x):
        b, s, d = x.shape
        flat = x.view(-1, d)
        logits = self.gate(flat)
        probs = F.softmax(logits, dim=1, dtype=torch.float)
        w, sel = torch.topk(probs, self.k, dim=-1)
        w = w / w.sum(dim=-1, keepdim=True)
        onehot = F.one_hot(sel, num_classes=self.n)
        combine = (onehot * w.unsqueeze(-1)).sum(dim=1).to(x.dtype)
        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            out = out + expert(flat) * combine[:, e, None]
        # load balancing loss
        frac = onehot.float().sum(1).mean(0)
        aux = self.n * torch.sum(frac * probs.mean(0))
        return out.view(b, s, d), aux


def get_inputs():
    return [torch.randn(BATCH, SEQ, DIM, dtype=torch.bfloat16)]


def get_init_inputs():
    return [DIM, INTER, EXPERTS, TOP_K]
