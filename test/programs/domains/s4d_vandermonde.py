import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """S4D-Lin: real arithmetic Vandermonde kernel for a complex diagonal SSM, causal depthwise long convolution, D skip, GLU."""

    def __init__(self, H, N, taps):
        super().__init__()
        self.H, self.taps = H, taps
        self.log_dt = nn.Parameter(
            torch.rand(H) * (math.log(0.1) - math.log(0.001)) + math.log(0.001)
        )
        self.log_A_real = nn.Parameter(torch.log(0.5 * torch.ones(H, N // 2)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(N // 2).float().repeat(H, 1))
        self.C = nn.Parameter(torch.randn(H, N // 2, 2) * 0.5)
        self.D = nn.Parameter(torch.randn(H))
        self.out = nn.Conv1d(H, 2 * H, 1)

    def kernel(self):
        dt = self.log_dt.float().exp()[:, None]
        re, im = -self.log_A_real.float().exp(), self.A_imag.float()
        dre, dim = re * dt, im * dt
        # C * (exp(dtA) - 1) / A
        er, ei = dre.exp() * dim.cos() - 1, dre.exp() * dim.sin()
        den = re * re + im * im
        fr, fi = (er * re + ei * im) / den, (ei * re - er * im) / den
        cr, ci = self.C[..., 0].float(), self.C[..., 1].float()
        gr, gi = cr * fr - ci * fi, cr * fi + ci * fr
        l = torch.arange(self.taps, device=dt.device).float()
        mag = torch.exp(dre[..., None] * l)
        ph = dim[..., None] * l
        return 2 * (mag * (gr[..., None] * ph.cos() - gi[..., None] * ph.sin())).sum(1)

    def forward(self, u):
        k = self.kernel().to(u.dtype).flip(-1)[:, None]
        y = F.conv1d(F.pad(u, (self.taps - 1, 0)), k, groups=self.H)
        y = F.gelu(y + u * self.D[:, None])
        return F.glu(self.out(y), dim=1)


def get_inputs():
    return [torch.randn(5, 256, 1024)]


def get_init_inputs():
    return [256, 64, 784]
