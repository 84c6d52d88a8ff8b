import torch
import torch.nn as nn


class TriMul(nn.Module):
    def __init__(self, c_z, c, outgoing):
        super().__init__()
        self.eq = "bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc"
        self.ln_in, self.ln_out = nn.LayerNorm(c_z), nn.LayerNorm(c)
        self.a_p, self.a_g = nn.Linear(c_z, c), nn.Linear(c_z, c)
        self.b_p, self.b_g = nn.Linear(c_z, c), nn.Linear(c_z, c)
        self.z, self.g = nn.Linear(c, c_z), nn.Linear(c_z, c_z)

    def forward(self, z, mask):
        z = self.ln_in(z)
        a = mask * torch.sigmoid(self.a_g(z)) * self.a_p(z)
        b = mask * torch.sigmoid(self.b_g(z)) * self.b_p(z)
        x = torch.einsum(self.eq, a, b)
        return torch.sigmoid(self.g(z)) * self.z(self.ln_out(x))


class Model(nn.Module):
    """AlphaFold pair stack part: triangle multiplication outgoing then incoming with pair mask, residuals, then the transition."""

    def __init__(self, c_z, c):
        super().__init__()
        self.out, self.inc = TriMul(c_z, c, True), TriMul(c_z, c, False)
        self.tr = nn.Sequential(
            nn.LayerNorm(c_z), nn.Linear(c_z, 4 * c_z), nn.ReLU(), nn.Linear(4 * c_z, c_z)
        )

    def forward(self, z, seq_mask):
        m = (seq_mask[:, :, None] * seq_mask[:, None, :]).unsqueeze(-1)
        z = z + self.out(z, m)
        z = z + self.inc(z, m)
        return z + self.tr(z)


def get_inputs():
    return [torch.randn(1, 233, 233, 128), (torch.arange(233) < 217).float()[None]]


def get_init_inputs():
    return [128, 128]
