import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Point cloud: voxel mean by scatter (PVCNN branch, 3-D conv, nearest devoxelise) fused with ball-query top-k grouping and a shared MLP."""

    def __init__(self, cin, c, res, radius, k):
        super().__init__()
        self.res, self.radius, self.k = res, radius, k
        self.vox = nn.Sequential(
            nn.Conv3d(cin, c, 3, padding=1),
            nn.GroupNorm(4, c),
            nn.LeakyReLU(0.1),
            nn.Conv3d(c, c, 3, padding=1),
        )
        self.mlp = nn.Sequential(nn.Linear(cin + 3, c), nn.ReLU(), nn.Linear(c, c))
        self.point = nn.Conv1d(cin, c, 1)

    def forward(self, xyz, feat):
        B, N, C = feat.shape
        lo = xyz.amin(1, keepdim=True)
        unit = (xyz - lo) / (xyz.amax(1, keepdim=True) - lo).amax(-1, keepdim=True).clamp(min=1e-6)
        v = (unit * self.res).long().clamp(max=self.res - 1)
        cell = (v[..., 0] * self.res + v[..., 1]) * self.res + v[..., 2]
        at = cell[..., None].expand(-1, -1, C)
        total = torch.zeros(B, self.res**3, C, dtype=feat.dtype, device=feat.device).scatter_add(
            1, at, feat
        )
        count = torch.zeros(B, self.res**3, dtype=feat.dtype, device=feat.device).scatter_add(
            1, cell, torch.ones_like(feat[..., 0])
        )
        grid = (
            (total / count.clamp(min=1)[..., None])
            .transpose(1, 2)
            .reshape(B, C, self.res, self.res, self.res)
        )
        g = self.vox(grid).flatten(2)
        back = torch.gather(g, 2, cell[:, None].expand(-1, g.shape[1], -1))
        d2 = ((xyz[:, :, None] - xyz[:, None]) ** 2).sum(-1)
        near, idx = d2.topk(self.k, dim=-1, largest=False)
        idx = torch.where(near > self.radius**2, idx[..., :1], idx)
        b = torch.arange(B, device=xyz.device)[:, None, None]
        rel = (xyz[b, idx] - xyz[:, :, None]) / self.radius
        grouped = self.mlp(torch.cat([rel, feat[b, idx]], dim=-1)).amax(2)
        return F.relu(self.point(feat.transpose(1, 2)) + back + grouped.transpose(1, 2))


def get_inputs():
    return [torch.rand(3, 2500, 3), torch.randn(3, 2500, 32)]


def get_init_inputs():
    return [32, 64, 30, 0.08, 20]
