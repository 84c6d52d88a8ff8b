import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """Six multi-hot features padded to different lengths (-1 is empty): sum, mean, max and attention bags, then an MLP."""

    def __init__(self, rows, dim, feats):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(rows, dim) * 0.1)
        self.register_buffer("offset", torch.arange(feats) * (rows // feats))
        self.query = torch.nn.Parameter(torch.randn(feats, dim) * 0.1)
        self.top = torch.nn.Linear(feats * dim, 256)
        self.out = torch.nn.Linear(256, 11)

    def pool(self, f, ids):
        valid = ids >= 0
        e = F.embedding(ids.clamp(min=0) + self.offset[f], self.weight)
        m = valid.unsqueeze(-1).to(e.dtype)
        if f % 4 == 0:
            return (e * m).sum(1)
        if f % 4 == 1:
            return (e * m).sum(1) / m.sum(1).clamp(min=1.0)
        if f % 4 == 2:
            return (
                torch.where(valid.unsqueeze(-1), e, torch.full_like(e, -1e4))
                .amax(1)
                .clamp(min=-1.0)
            )
        s = (e @ self.query[f]).masked_fill(~valid, -1e4)
        return (F.softmax(s, dim=1).unsqueeze(-1) * e).sum(1)

    def forward(self, a, b, c, d, e, g):
        bags = [self.pool(i, ids) for i, ids in enumerate((a, b, c, d, e, g))]
        return self.out(F.relu(self.top(torch.cat(bags, dim=-1))))


def ragged(batch, longest, rows):
    ids = torch.randint(0, rows, (batch, longest))
    lens = torch.randint(0, longest + 1, (batch, 1))
    return torch.where(torch.arange(longest)[None] < lens, ids, torch.full_like(ids, -1))


def get_inputs():
    return [ragged(3500, n, 100000) for n in (7, 20, 33, 50, 12, 5)]


def get_init_inputs():
    return [600000, 48, 6]
