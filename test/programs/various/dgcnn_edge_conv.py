import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """DGCNN edge convolution: knn in feature space, edge features, batch-statistics norm, max over neighbours."""

    def __init__(self, k, c1, c2):
        super().__init__()
        self.k = k
        self.c1 = nn.Sequential(
            nn.Conv2d(6, c1, 1, bias=False),
            nn.BatchNorm2d(c1, track_running_stats=False),
            nn.LeakyReLU(0.2),
        )
        self.c2 = nn.Sequential(
            nn.Conv1d(c1, c2, 1, bias=False),
            nn.BatchNorm1d(c2, track_running_stats=False),
            nn.LeakyReLU(0.2),
        )

    def forward(self, x):
        b, c, n = x.shape
        inner = -2 * torch.matmul(x.transpose(2, 1), x)
        xx = torch.sum(x**2, dim=1, keepdim=True)
        dist = -xx - inner - xx.transpose(2, 1)
        idx = dist.topk(k=self.k, dim=-1)[1]
        base = torch.arange(b, device=x.device).view(-1, 1, 1) * n
        pts = x.transpose(2, 1).reshape(b * n, c)
        nb = pts[(idx + base).view(-1)].view(b, n, self.k, c)
        ctr = pts.view(b, n, 1, c).expand(-1, -1, self.k, -1)
        e = torch.cat((nb - ctr, ctr), 3).permute(0, 3, 1, 2).contiguous()
        h = self.c1(e).max(dim=-1)[0]
        h = self.c2(h)
        return torch.cat([F.adaptive_max_pool1d(h, 1), F.adaptive_avg_pool1d(h, 1)], 1).squeeze(-1)


def get_inputs():
    return [torch.randn(6, 3, 1021)]


def get_init_inputs():
    return [20, 64, 259]
