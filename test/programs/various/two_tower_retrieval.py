import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """User tower with history mean pooling, item tower, cosine similarity, top-k scores and in-batch softmax loss."""

    def __init__(self, items, d, k):
        super().__init__()
        self.k = k
        self.emb = nn.Embedding(items, d, padding_idx=0)
        self.user = nn.Sequential(nn.Linear(d + 11, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.item = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.logt = nn.Parameter(torch.tensor(2.5))

    def forward(self, hist, side, pos):
        m = (hist != 0).unsqueeze(-1)
        h = (self.emb(hist) * m).sum(1) / m.sum(1).clamp(min=1)
        u = F.normalize(self.user(torch.cat([h, side], -1)), dim=-1)
        it = F.normalize(self.item(self.emb.weight), dim=-1)
        s = u @ it.t()
        top = torch.topk(s, self.k, dim=-1).values
        inb = s.gather(1, pos[None].expand(u.size(0), -1)) * self.logt.exp()
        loss = F.cross_entropy(inb, torch.arange(u.size(0), device=u.device), reduction="none")
        return top, loss


def get_inputs():
    return [
        torch.randint(0, 29989, (307, 50)),
        torch.randn(307, 11),
        torch.randint(1, 29989, (307,)),
    ]


def get_init_inputs():
    return [29989, 72, 10]
