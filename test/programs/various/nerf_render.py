import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """NeRF: positional encoding of samples on rays, MLP with skip, alpha compositing by cumprod."""

    def __init__(self, lx, ld, w):
        super().__init__()
        self.lx, self.ld = lx, ld
        dx, dd = 3 + 6 * lx, 3 + 6 * ld
        self.l1, self.l2 = nn.Linear(dx, w), nn.Linear(w, w)
        self.l3, self.l4 = nn.Linear(w + dx, w), nn.Linear(w, w)
        self.sigma, self.feat = nn.Linear(w, 1), nn.Linear(w, w)
        self.v, self.rgb = nn.Linear(w + dd, w // 2), nn.Linear(w // 2, 3)

    def enc(self, p, n):
        out = [p]
        for i in range(n):
            out += [torch.sin(p * 2.0**i), torch.cos(p * 2.0**i)]
        return torch.cat(out, -1)

    def forward(self, o, d, t):
        pts = o[:, None] + d[:, None] * t[..., None]
        ex = self.enc(pts, self.lx)
        ed = self.enc(F.normalize(d, dim=-1), self.ld)[:, None].expand(-1, t.size(1), -1)
        h = F.relu(self.l2(F.relu(self.l1(ex))))
        h = F.relu(self.l4(F.relu(self.l3(torch.cat([h, ex], -1)))))
        sig = F.softplus(self.sigma(h).squeeze(-1) - 1)
        c = torch.sigmoid(self.rgb(F.relu(self.v(torch.cat([self.feat(h), ed], -1)))))
        delta = torch.cat([t[:, 1:] - t[:, :-1], torch.ones_like(t[:, :1])], -1) * d.norm(
            dim=-1, keepdim=True
        )
        alpha = 1 - torch.exp(-sig * delta)
        trans = torch.cumprod(
            torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1
        )[:, :-1]
        w = alpha * trans
        return (w[..., None] * c).sum(1), (w * t).sum(-1), w.sum(-1)


def get_inputs():
    return [
        torch.randn(701, 3),
        torch.randn(701, 3),
        torch.sort(torch.rand(701, 61) * 4 + 2, -1).values,
    ]


def get_init_inputs():
    return [8, 4, 136]
