import torch
import torch.nn as nn


class Model(nn.Module):
    """DLRM: 13 dense features, 9 embedding bags, pairwise dot interaction (lower triangle), top MLP."""

    def __init__(self, tables, rows, d):
        super().__init__()
        self.embs = nn.ModuleList(
            [nn.EmbeddingBag(rows + 17 * i, d, mode="sum") for i in range(tables)]
        )
        self.bot = nn.Sequential(nn.Linear(13, 128), nn.ReLU(), nn.Linear(128, d), nn.ReLU())
        n = tables + 1
        li, lj = torch.tril_indices(n, n, -1)
        self.register_buffer("li", li)
        self.register_buffer("lj", lj)
        self.top = nn.Sequential(nn.Linear(d + n * (n - 1) // 2, 200), nn.ReLU(), nn.Linear(200, 1))

    def forward(self, dense, ids):
        x = self.bot(torch.log1p(dense))
        feats = [x] + [e(ids[:, i]) for i, e in enumerate(self.embs)]
        t = torch.stack(feats, 1)
        z = torch.bmm(t, t.transpose(1, 2))
        z = z[:, self.li, self.lj]
        return torch.sigmoid(self.top(torch.cat([x, z], 1))).squeeze(1)


def get_inputs():
    return [torch.rand(2047, 13) * 100, torch.randint(0, 20000, (2047, 9, 5))]


def get_init_inputs():
    return [9, 20000, 36]
