import torch
import torch.nn as nn


class Dice(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.alpha = nn.Parameter(torch.full((n,), 0.25))
        self.register_buffer("mu", torch.zeros(n))
        self.register_buffer("var", torch.ones(n))

    def forward(self, x):
        p = torch.sigmoid((x - self.mu) * torch.rsqrt(self.var + 1e-8))
        return p * x + (1 - p) * self.alpha * x


class Model(nn.Module):
    """Deep Interest Network: MLP attention of a candidate over user history with a length mask, Dice activations."""

    def __init__(self, items, cates, d):
        super().__init__()
        self.item, self.cate = nn.Embedding(items, d), nn.Embedding(cates, d)
        self.att = nn.Sequential(
            nn.Linear(8 * d, 80), Dice(80), nn.Linear(80, 40), Dice(40), nn.Linear(40, 1)
        )
        self.mlp = nn.Sequential(
            nn.Linear(6 * d, 200), Dice(200), nn.Linear(200, 80), Dice(80), nn.Linear(80, 2)
        )

    def forward(self, hist_i, hist_c, tgt_i, tgt_c, lens):
        h = torch.cat((self.item(hist_i), self.cate(hist_c)), -1)
        t = torch.cat((self.item(tgt_i), self.cate(tgt_c)), -1)
        q = t[:, None].expand_as(h)
        w = self.att(torch.cat([q, h, q - h, q * h], dim=-1)).squeeze(-1)
        mask = torch.arange(h.size(1), device=h.device)[None, :] < lens[:, None]
        w = torch.where(mask, w, torch.zeros_like(w))
        u = torch.bmm(w.unsqueeze(1), h).squeeze(1) / lens.clamp(min=1).to(h.dtype).unsqueeze(1)
        return torch.log_softmax(self.mlp(torch.cat([u, t, u * t], 1)), dim=-1)


def get_inputs():
    B, T = 1900, 100
    return [
        torch.randint(0, 63001, (B, T)),
        torch.randint(0, 801, (B, T)),
        torch.randint(0, 63001, (B,)),
        torch.randint(0, 801, (B,)),
        torch.randint(1, T + 1, (B,)),
    ]


def get_init_inputs():
    return [63001, 801, 32]
