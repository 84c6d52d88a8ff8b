import torch
import torch.nn as nn


class Model(nn.Module):
    """DCN-Mix: low-rank cross layers with several experts and gates, hashed categorical tables plus log-dense features."""

    def __init__(self, cards, emb, n_dense, rank, experts, layers):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(c, emb) for c in cards])
        d = emb * len(cards) + n_dense
        self.U = nn.ParameterList(
            [nn.Parameter(torch.randn(experts, d, rank) / d**0.5) for _ in range(layers)]
        )
        self.V = nn.ParameterList(
            [nn.Parameter(torch.randn(experts, d, rank) / d**0.5) for _ in range(layers)]
        )
        self.C = nn.ParameterList(
            [nn.Parameter(torch.randn(experts, rank, rank) / rank**0.5) for _ in range(layers)]
        )
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(d)) for _ in range(layers)])
        self.gate = nn.Linear(d, experts, bias=False)
        self.head = nn.Linear(d, 1)

    def forward(self, cat, dense):
        cols = [tab(cat[:, i]) for i, tab in enumerate(self.tables)]
        x0 = torch.cat(cols + [torch.log1p(dense)], dim=1)
        x = x0
        for U, V, C, b in zip(self.U, self.V, self.C, self.bias):
            g = self.gate(x).softmax(dim=-1)  # (B, E)
            v = torch.tanh(torch.einsum("bd,edr->ber", x, V))
            v = torch.tanh(torch.einsum("ber,esr->bes", v, C))
            u = torch.einsum("ber,edr->bed", v, U) + b
            x = ((x0.unsqueeze(1) * u) * g.unsqueeze(-1)).sum(1) + x
        return torch.sigmoid(self.head(x)).squeeze(-1)


def get_inputs():
    return [
        torch.stack([torch.randint(0, c, (5000,)) for c in CARDS], 1),
        torch.rand(5000, 13) * 20,
    ]


CARDS = [
    39043,
    17289,
    7420,
    20263,
    3,
    7120,
    1543,
    63,
    38532,
    2953,
    403,
    10,
    2208,
    11938,
    155,
    4,
    976,
    14,
]


def get_init_inputs():
    return [CARDS, 16, 13, 64, 4, 3]
