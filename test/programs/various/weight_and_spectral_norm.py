import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Projection discriminator: weight-normalised conv, spectrally normalised linears with power iterations done in forward, class embedding."""

    def __init__(self, d, h, classes, iters):
        super().__init__()
        self.iters = iters
        self.wv = nn.Parameter(torch.randn(h, d))
        self.wg = nn.Parameter(torch.rand(h, 1) + 0.5)
        self.wb = nn.Parameter(torch.zeros(h))
        self.ws = nn.Parameter(torch.randn(h, h) * 0.05)
        self.register_buffer("u", F.normalize(torch.randn(h), dim=0))
        self.emb = nn.Embedding(classes, h)
        self.last = nn.Linear(h, 1)

    def forward(self, x, y):
        w = self.wg * self.wv / torch.norm(self.wv, dim=1, keepdim=True)
        h = F.leaky_relu(F.linear(x, w, self.wb), 0.2)
        u = self.u
        for _ in range(self.iters):
            v = F.normalize(torch.mv(self.ws.t(), u), dim=0, eps=1e-12)
            u = F.normalize(torch.mv(self.ws, v), dim=0, eps=1e-12)
        sigma = torch.dot(u, torch.mv(self.ws, v))
        h = F.leaky_relu(F.linear(h, self.ws / sigma), 0.2)
        e = F.normalize(self.emb(y), dim=-1)
        return self.last(h).squeeze(-1) + (h * e).sum(-1), sigma


def get_inputs():
    return [torch.randn(1021, 391), torch.randint(0, 1000, (1021,))]


def get_init_inputs():
    return [391, 773, 1000, 5]
