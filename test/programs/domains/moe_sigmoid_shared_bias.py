import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """DeepSeek-V3 routing: sigmoid scores, correction bias for choice only, group-limited top-k, shared expert, dense combine loop."""

    def __init__(self, hidden, inter, n_exp, n_group, top_group, top_k):
        super().__init__()
        self.n_exp, self.n_group, self.top_group, self.top_k = n_exp, n_group, top_group, top_k
        self.gate = nn.Parameter(torch.randn(n_exp, hidden) * 0.02)
        self.e_bias = nn.Parameter(torch.randn(n_exp) * 0.01)
        self.gate_up = nn.Parameter(torch.randn(n_exp, 2 * inter, hidden) * 0.02)
        self.down = nn.Parameter(torch.randn(n_exp, hidden, inter) * 0.02)
        self.s_gate, self.s_up = (
            nn.Linear(hidden, inter, bias=False),
            nn.Linear(hidden, inter, bias=False),
        )
        self.s_down = nn.Linear(inter, hidden, bias=False)

    def route(self, x):
        scores = F.linear(x, self.gate).sigmoid()
        choice = scores + self.e_bias
        group = choice.view(-1, self.n_group, self.n_exp // self.n_group).topk(2, dim=-1)[0].sum(-1)
        gi = group.topk(self.top_group, dim=-1, sorted=False)[1]
        gm = torch.zeros_like(group).scatter_(1, gi, 1)
        mask = gm.unsqueeze(-1).expand(-1, -1, self.n_exp // self.n_group).reshape(-1, self.n_exp)
        idx = choice.masked_fill(mask == 0, 0.0).topk(self.top_k, dim=-1)[1]
        w = scores.gather(1, idx)
        return idx, w / (w.sum(-1, keepdim=True) + 1e-20) * 2.5

    def forward(self, x):
        shp = x.shape
        x = x.reshape(-1, shp[-1])
        idx, w = self.route(x)
        dense = torch.zeros(x.shape[0], self.n_exp, dtype=x.dtype, device=x.device).scatter(
            1, idx, w
        )
        y = self.s_down(F.silu(self.s_gate(x)) * self.s_up(x))
        for e in range(self.n_exp):
            g, u = F.linear(x, self.gate_up[e]).chunk(2, dim=-1)
            y = y + F.linear(F.silu(g) * u, self.down[e]) * dense[:, e, None]
        return y.view(shp)


def get_inputs():
    return [torch.randn(1, 777, 1024)]


def get_init_inputs():
    return [1024, 352, 16, 4, 2, 4]
