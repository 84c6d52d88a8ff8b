import torch


class Model(torch.nn.Module):
    """Lennard-Jones liquid, two species with Lorentz-Berthelot mixing, minimum image, shifted cutoff, forces, virial, one velocity-Verlet step."""

    def __init__(self, box, rc, dt):
        super().__init__()
        self.box, self.rc, self.dt = box, rc, dt
        self.register_buffer("sigma", torch.tensor([1.0, 0.88]))
        self.register_buffer("eps", torch.tensor([1.0, 0.5]))

    def forces(self, x, s, e):
        d = x[:, None, :] - x[None, :, :]
        d = d - self.box * torch.round(d / self.box)
        r2 = d.square().sum(-1)
        n = x.shape[0]
        ok = (r2 < self.rc**2) & ~torch.eye(n, dtype=torch.bool, device=x.device)
        r2 = torch.where(ok, r2, torch.ones_like(r2)).clamp(min=0.5)
        sr6 = (s * s / r2) ** 3
        rc6 = (s / self.rc) ** 6
        u = 4 * e * (sr6 * sr6 - sr6) - 4 * e * (rc6 * rc6 - rc6)
        f = 24 * e * (2 * sr6 * sr6 - sr6) / r2
        f = torch.where(ok, f, torch.zeros_like(f))
        u = torch.where(ok, u, torch.zeros_like(u))
        return (f[..., None] * d).sum(1), 0.5 * u.sum(), (f * r2).sum() / 6

    def forward(self, x, v, kind):
        si, ei = self.sigma[kind], self.eps[kind]
        s = 0.5 * (si[:, None] + si[None, :])
        e = torch.sqrt(ei[:, None] * ei[None, :])
        f, _, _ = self.forces(x, s, e)
        v = v + 0.5 * self.dt * f
        x = torch.remainder(x + self.dt * v, self.box)
        f, u, w = self.forces(x, s, e)
        v = v + 0.5 * self.dt * f
        return x, v, u, w, 0.5 * (v * v).sum()


def get_inputs():
    g = torch.stack(torch.meshgrid(*[torch.arange(13).float()] * 3, indexing="ij"), -1).view(-1, 3)
    n = g.shape[0]
    return [
        g * 1.2 + 0.05 * torch.randn(n, 3) + 0.3,
        torch.randn(n, 3) * 0.8,
        (torch.rand(n) < 0.2).long(),
    ]


def get_init_inputs():
    return [15.6, 2.5, 0.002]
