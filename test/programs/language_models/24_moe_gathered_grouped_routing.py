"""Few-token MoE decode: sigmoid scores with bias correction, group-limited top-k, expert weights gathered, shared expert."""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 6
DIM = 2048
INTER = 1408
EXPERTS = 60
GROUPS = 6
TOPK_GROUPS = 3
TOP_K = 4
SHARED_INTER = 2816
ROUTE_SCALE = 2.5


class Model(nn.Module):
    def __init__(self, dim, inter, experts, groups, topk_groups, top_k, shared, route_scale):
        super().__init__()
        bf = torch.bfloat16
        self.groups, self.topk_groups, self.k, self.route_scale = (
            groups,
            topk_groups,
            top_k,
            route_scale,
        )
        self.gate = nn.Parameter(torch.randn(experts, dim, dtype=torch.float32) * dim**-0.5)
        self.e_bias = nn.Parameter(torch.randn(experts) * 0.02)
        self.w13 = nn.Parameter(torch.randn(experts, 2 * inter, dim, dtype=bf) * dim**-0.5)
        self.w2 = nn.Parameter(torch.randn(experts, dim, inter, dtype=bf) * inter**-0.5)
        self.s13 = nn.Linear(dim, 2 * shared, bias=False, dtype=bf)
        self.s2 = nn.Linear(shared, dim, bias=False, dtype=bf)

    def route(self, x):
        t = x.shape[0]
        scores = F.linear(x.float(), self.gate).sigmoid()
        choice = scores + self.e_bias
        grouped = choice.view(t, self.groups, -1)
        gscore = grouped.topk(2, dim=-1)[0].sum(dim=-1)
        gidx = gscore.topk(self.topk_groups, dim=-1, sorted=False)[1]
        gmask = torch.zeros_like(gscore).scatter_(1, gidx, 1.0)
        masked = grouped.masked_fill(gmask.unsqueeze(-1) == 0, float("-inf")).flatten(1)
        idx = masked.topk(self.k, dim=-1)[1]
        w = scores.gather(1, idx)
        return idx, w / (w.sum(-1, keepdim=True) + 1e-20) * self.route_scale

    def forward(self, x):
        idx, w = self.route(x)
        w13 = self.w13[idx]
        h = torch.einsum("td,tkfd->tkf", x, w13)
        a, b = h.chunk(2, dim=-1)
        h = F.silu(a) * b
        y = torch.einsum("tkf,tkdf->tkd", h, self.w2[idx])
        y = (y * w.to(y.dtype).unsqueeze(-1)).sum(1)
        g, u = self.s13(x).chunk(2, -1)
        return y + self.s2(F.silu(g) * u)


def get_inputs():
    return [torch.randn(TOKENS, DIM, dtype=torch.bfloat16)]


def get_init_inputs():
    return [DIM, INTER, EXPERTS, GROUPS, TOPK_GROUPS, TOP_K, SHARED_INTER, ROUTE_SCALE]
