import torch
import torch.nn as nn


class Model(nn.Module):
    """Field-aware factorisation machine plus a plain FM term; field-specific vectors, upper-triangle pairs by raw indexing."""

    def __init__(self, vocab, fields, k):
        super().__init__()
        self.F, self.k = fields, k
        self.lin = nn.Embedding(vocab * fields, 1)
        self.fm = nn.Embedding(vocab * fields, 16)
        self.v = nn.Parameter(torch.randn(vocab * fields, fields, k) * 0.05)
        i, j = torch.triu_indices(fields, fields, offset=1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)
        self.register_buffer("base", torch.arange(fields) * vocab)
        self.w0 = nn.Parameter(torch.zeros(1))

    def forward(self, x, val):
        x = x + self.base
        linear = (self.lin(x)[..., 0] * val).sum(-1)
        e = self.fm(x) * val[..., None]
        fm = 0.5 * (e.sum(1) ** 2 - (e**2).sum(1)).sum(-1)
        w = self.v[x] * val[:, :, None, None]  # B, F, F, k
        pairs = w[:, self.i, self.j] * w[:, self.j, self.i]
        return torch.sigmoid(self.w0 + linear + fm + pairs.sum((1, 2)))


def get_inputs():
    return [torch.randint(0, 9973, (6000, 22)), torch.rand(6000, 22)]


def get_init_inputs():
    return [9973, 22, 4]
