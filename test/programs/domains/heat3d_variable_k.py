import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """Explicit 3-D heat equation with face-averaged conductivity, Neumann walls via replicate pad, fixed hot plate, six steps by slicing."""

    def __init__(self, steps, dt):
        super().__init__()
        self.steps, self.dt = steps, dt

    def forward(self, T, k, source):
        for _ in range(self.steps):
            Tp = F.pad(T[:, None], (1,) * 6, mode="replicate")[:, 0]
            kp = F.pad(k[:, None], (1,) * 6, mode="replicate")[:, 0]
            c, kc = Tp[:, 1:-1, 1:-1, 1:-1], kp[:, 1:-1, 1:-1, 1:-1]
            flux = torch.zeros_like(T)
            for dim, n in ((1, T.shape[1]), (2, T.shape[2]), (3, T.shape[3])):
                for s in (0, 2):
                    sl = [slice(None)] + [slice(1, -1)] * 3
                    sl[dim] = slice(s, s + n)
                    sl = tuple(sl)
                    flux = flux + 0.5 * (kp[sl] + kc) * (Tp[sl] - c)
            T = T + self.dt * (flux + source)
            T = torch.cat([torch.ones_like(T[:, :1]), T[:, 1:]], dim=1)
        return T


def get_inputs():
    return [
        torch.rand(2, 96, 120, 101),
        torch.rand(2, 96, 120, 101) * 0.9 + 0.1,
        torch.randn(2, 96, 120, 101) * 0.01,
    ]


def get_init_inputs():
    return [6, 0.1]
