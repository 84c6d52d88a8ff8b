import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Mean-aggregated GraphSAGE layer (index_add and degree) then a GATv2 layer with edge softmax by scatter_reduce amax and scatter_add."""

    def __init__(self, fin, hid, heads, classes):
        super().__init__()
        self.heads, self.hid = heads, hid
        self.l, self.r = nn.Linear(fin, hid), nn.Linear(fin, hid, bias=False)
        self.src, self.dst = (
            nn.Linear(hid, heads * hid // 4, bias=False),
            nn.Linear(hid, heads * hid // 4, bias=False),
        )
        self.att = nn.Parameter(torch.randn(heads, hid // 4) * 0.2)
        self.out = nn.Linear(heads * hid // 4, classes)

    def forward(self, x, edge_index):
        s, d = edge_index[0], edge_index[1]
        n = x.shape[0]
        agg = torch.zeros_like(x).index_add_(0, d, x[s])
        deg = torch.zeros(n, dtype=x.dtype, device=x.device).index_add_(
            0, d, torch.ones_like(d, dtype=x.dtype)
        )
        h = F.normalize(self.l(agg / deg.clamp(min=1).unsqueeze(1)) + self.r(x), p=2.0, dim=-1)
        h = F.relu(h)
        a, b = self.src(h).view(n, self.heads, -1), self.dst(h).view(n, self.heads, -1)
        e = (F.leaky_relu(a[s] + b[d], 0.2) * self.att).sum(-1)
        idx = d[:, None].expand(-1, self.heads)
        mx = torch.full((n, self.heads), -1e4, dtype=e.dtype, device=e.device).scatter_reduce(
            0, idx, e, reduce="amax"
        )
        w = (e - mx[d]).exp()
        den = torch.zeros_like(mx).scatter_add(0, idx, w)
        w = w / (den[d] + 1e-9)
        y = torch.zeros_like(a).index_add(0, d, a[s] * w.unsqueeze(-1))
        return F.log_softmax(self.out(F.elu(y.flatten(1))), dim=-1)


def get_inputs():
    n, e = 19717, 108365
    return [
        torch.randn(n, 200),
        torch.stack([torch.randint(0, n, (e,)), (torch.rand(e) ** 2 * n).long()]),
    ]


def get_init_inputs():
    return [200, 128, 4, 11]
