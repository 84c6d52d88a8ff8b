import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """GATv2 layer with 5 heads: edge scores, softmax over incoming edges through scatter_reduce amax and index_add."""

    def __init__(self, cin, heads, d, edge_d):
        super().__init__()
        self.h, self.d = heads, d
        self.wl, self.wr = nn.Linear(cin, heads * d), nn.Linear(cin, heads * d)
        self.we = nn.Linear(edge_d, heads * d, bias=False)
        self.att = nn.Parameter(torch.randn(1, heads, d) * 0.2)
        self.norm = nn.LayerNorm(heads * d)

    def forward(self, x, src, dst, ef):
        n = x.size(0)
        xl = self.wl(x).view(n, self.h, self.d)
        xr = self.wr(x).view(n, self.h, self.d)
        m = F.leaky_relu(xl[src] + xr[dst] + self.we(ef).view(-1, self.h, self.d), 0.2)
        e = (m * self.att).sum(-1)
        idx = dst[:, None].expand(-1, self.h)
        mx = torch.full((n, self.h), -1e4, device=x.device, dtype=e.dtype).scatter_reduce(
            0, idx, e, reduce="amax", include_self=True
        )
        p = torch.exp(e - mx.gather(0, idx))
        z = torch.zeros(n, self.h, device=x.device, dtype=e.dtype).scatter_add(0, idx, p)
        a = p / (z[dst] + 1e-12)
        out = torch.zeros_like(xl).index_add(0, dst, xl[src] * a.unsqueeze(-1))
        return F.elu(self.norm(out.flatten(1)))


def get_inputs():
    n, e = 3001, 24019
    return [
        torch.randn(n, 70),
        torch.randint(0, n, (e,)),
        torch.randint(0, n, (e,)),
        torch.randn(e, 6),
    ]


def get_init_inputs():
    return [70, 5, 21, 6]
