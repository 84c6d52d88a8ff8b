import torch
import torch.nn as nn

C0 = 0.28209479177387814
C1 = 0.4886025119029199
C2 = [
    1.0925484305920792,
    -1.0925484305920792,
    0.31539156525252005,
    -1.0925484305920792,
    0.5462742152960396,
]


class Model(nn.Module):
    """Plenoctree-like rays: trilinear-free voxel lookup of density and degree-2 SH, view-dependent colour, cumprod transmittance, depth and white background."""

    def __init__(self, res, near, far, samples):
        super().__init__()
        self.res = res
        self.grid = nn.Parameter(torch.randn(res**3, 28) * 0.3)
        self.register_buffer("t", torch.linspace(near, far, samples + 1))

    def sh(self, d):
        x, y, z = d.unbind(-1)
        return torch.stack(
            [
                torch.full_like(x, C0),
                -C1 * y,
                C1 * z,
                -C1 * x,
                C2[0] * x * y,
                C2[1] * y * z,
                C2[2] * (2 * z * z - x * x - y * y),
                C2[3] * x * z,
                C2[4] * (x * x - y * y),
            ],
            dim=-1,
        )

    def forward(self, o, d):
        mid, dt = 0.5 * (self.t[1:] + self.t[:-1]), self.t[1:] - self.t[:-1]
        d = d / d.norm(dim=-1, keepdim=True)
        p = o[:, None] + d[:, None] * mid[None, :, None]
        inside = (p.abs() < 1).all(-1)
        ijk = ((p + 1) * 0.5 * self.res).long().clamp(0, self.res - 1)
        flat = (ijk[..., 0] * self.res + ijk[..., 1]) * self.res + ijk[..., 2]
        f = self.grid[flat]
        sigma = torch.relu(f[..., 0] * 8) * inside
        rgb = torch.sigmoid((f[..., 1:].unflatten(-1, (3, 9)) * self.sh(d)[:, None, None]).sum(-1))
        alpha = 1 - torch.exp(-sigma * dt)
        trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)
        w = alpha * trans[:, :-1]
        acc = w.sum(1, keepdim=True)
        return (
            (w[..., None] * rgb).sum(1) + 1 - acc,
            (w * mid).sum(1) + (1 - acc[:, 0]) * self.t[-1],
            acc,
        )


def get_inputs():
    n = 9000
    d = torch.randn(n, 3) * 0.25
    d[:, 2] = -1
    return [torch.tensor([0.0, 0.0, 2.5]) + 0.02 * torch.randn(n, 3), d]


def get_init_inputs():
    return [96, 1.2, 4.0, 93]
