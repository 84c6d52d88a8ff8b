import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Two-layer GCN with symmetric degree normalisation by index_add, then mean graph pooling by scatter_add."""

    def __init__(self, cin, hid, out, graphs):
        super().__init__()
        self.g = graphs
        self.l1, self.l2 = nn.Linear(cin, hid, bias=False), nn.Linear(hid, out, bias=False)
        self.b1, self.b2 = nn.Parameter(torch.zeros(hid)), nn.Parameter(torch.zeros(out))

    def prop(self, x, src, dst, norm):
        out = torch.zeros_like(x)
        return out.index_add(0, dst, x[src] * norm[:, None])

    def forward(self, x, edge, batch):
        n = x.size(0)
        loop = torch.arange(n, device=x.device)
        src, dst = torch.cat([edge[0], loop]), torch.cat([edge[1], loop])
        deg = torch.zeros(n, device=x.device, dtype=x.dtype).index_add(
            0, dst, torch.ones_like(dst, dtype=x.dtype)
        )
        inv = deg.pow(-0.5)
        norm = inv[src] * inv[dst]
        h = F.relu(self.prop(self.l1(x), src, dst, norm) + self.b1)
        h = self.prop(self.l2(h), src, dst, norm) + self.b2
        s = torch.zeros(self.g, h.size(1), device=x.device, dtype=h.dtype).scatter_add(
            0, batch[:, None].expand_as(h), h
        )
        cnt = torch.zeros(self.g, device=x.device, dtype=h.dtype).scatter_add(
            0, batch, torch.ones_like(batch, dtype=h.dtype)
        )
        return s / cnt.clamp(min=1)[:, None]


def get_inputs():
    n, e = 9973, 60013
    return [
        torch.randn(n, 143),
        torch.randint(0, n, (2, e)),
        torch.sort(torch.randint(0, 31, (n,))).values,
    ]


def get_init_inputs():
    return [143, 64, 41, 31]
