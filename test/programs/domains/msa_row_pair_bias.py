import torch
import torch.nn as nn


class Model(nn.Module):
    """Gated MSA row attention with pair bias and mask, then outer product mean back into the pair representation."""

    def __init__(self, c_m, c_z, c, heads, c_opm):
        super().__init__()
        self.c, self.h = c, heads
        self.ln_m, self.ln_z, self.ln_o = nn.LayerNorm(c_m), nn.LayerNorm(c_z), nn.LayerNorm(c_m)
        self.pair = nn.Linear(c_z, heads, bias=False)
        self.q, self.k, self.v = (nn.Linear(c_m, c * heads, bias=False) for _ in range(3))
        self.g, self.o = nn.Linear(c_m, c * heads), nn.Linear(c * heads, c_m)
        self.a, self.b = nn.Linear(c_m, c_opm), nn.Linear(c_m, c_opm)
        self.opm = nn.Linear(c_opm * c_opm, c_z)

    def forward(self, m, z, mask):
        S, R, _ = m.shape
        x = self.ln_m(m)
        bias = self.pair(self.ln_z(z)).permute(2, 0, 1)[None]
        q = self.q(x).view(S, R, self.h, self.c) * self.c**-0.5
        k = self.k(x).view(S, R, self.h, self.c)
        v = self.v(x).view(S, R, self.h, self.c)
        logit = torch.einsum("sihc,sjhc->shij", q, k) + bias + (mask[:, None, None, :] - 1) * 1e4
        o = torch.einsum("shij,sjhc->sihc", logit.softmax(-1), v)
        o = o * torch.sigmoid(self.g(x)).view(S, R, self.h, self.c)
        m = m + self.o(o.flatten(-2))
        y = self.ln_o(m)
        a, b = self.a(y) * mask[..., None], self.b(y) * mask[..., None]
        outer = torch.einsum("sic,sjd->ijcd", a, b).flatten(-2)
        norm = torch.einsum("si,sj->ij", mask, mask)[..., None]
        return m, z + self.opm(outer) / (norm + 1e-3)


def get_inputs():
    S, R = 124, 150
    return [torch.randn(S, R, 256), torch.randn(R, R, 128), (torch.rand(S, R) > 0.1).float()]


def get_init_inputs():
    return [256, 128, 32, 8, 32]
