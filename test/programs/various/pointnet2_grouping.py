import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """PointNet++: ball grouping around fixed centroids by cdist/topk, shared MLP, max pool, then inverse-distance feature propagation."""

    def __init__(self, c, nsample, radius):
        super().__init__()
        self.ns, self.r = nsample, radius
        self.mlp = nn.ModuleList([nn.Linear(c + 3, 32), nn.Linear(32, 32), nn.Linear(32, 70)])
        self.fp = nn.Linear(70 + c, 51)

    def forward(self, xyz, feat, cent):
        new = torch.gather(xyz, 1, cent[..., None].expand(-1, -1, 3))
        d = torch.cdist(new, xyz)
        dk, idx = d.topk(self.ns, dim=-1, largest=False)
        idx = torch.where(dk > self.r, idx[..., :1], idx)
        b, m, s = idx.shape
        flat = idx.reshape(b, -1, 1)
        gx = xyz.gather(1, flat.expand(-1, -1, 3)).view(b, m, s, 3) - new[:, :, None]
        gf = feat.gather(1, flat.expand(-1, -1, feat.size(-1))).view(b, m, s, -1)
        h = torch.cat([gx / self.r, gf], -1)
        for l in self.mlp:
            h = F.relu(l(h))
        h = h.amax(2)
        w = 1.0 / (d.transpose(1, 2) + 1e-2) ** 2
        w3, i3 = w.topk(3, -1)
        w3 = w3 / w3.sum(-1, keepdim=True)
        bi = torch.arange(b, device=xyz.device)[:, None, None]
        up = (h[bi, i3] * w3.unsqueeze(-1)).sum(2)
        return F.relu(self.fp(torch.cat([up, feat], -1)))


def get_inputs():
    return [
        torch.rand(3, 1531, 3),
        torch.randn(3, 1531, 9),
        torch.stack([torch.randperm(1531)[:257] for _ in range(3)]),
    ]


def get_init_inputs():
    return [9, 24, 0.2]
