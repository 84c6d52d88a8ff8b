import torch
import torch.nn as nn


class Model(nn.Module):
    """RWKV: token shift, time mixing with a short decayed WKV written as a matrix of exponents, channel mixing with squared relu."""

    def __init__(self, d, t):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.mix = nn.Parameter(torch.rand(5, d))
        self.decay = nn.Parameter(torch.linspace(-4, 0, d))
        self.bonus = nn.Parameter(torch.zeros(d) + 0.3)
        self.k, self.v, self.r, self.o = [nn.Linear(d, d, bias=False) for _ in range(4)]
        self.ck, self.cv, self.cr = (
            nn.Linear(d, 4 * d, bias=False),
            nn.Linear(4 * d, d, bias=False),
            nn.Linear(d, d, bias=False),
        )

    def forward(self, x):
        h = self.ln1(x)
        p = self.shift(h)
        k = self.k(torch.lerp(p, h, self.mix[0]))
        v = self.v(h * self.mix[1] + p * (1 - self.mix[1]))
        r = torch.sigmoid(self.r(h * self.mix[2] + p * (1 - self.mix[2])))
        w = torch.exp(-torch.exp(self.decay))
        ek = torch.exp(k.clamp(max=8.0))
        num = torch.zeros_like(k[:, 0])
        den = torch.zeros_like(num)
        outs = []
        u = torch.exp(self.bonus)
        for t in range(x.size(1)):
            e, vt = ek[:, t], v[:, t]
            outs.append((num + u * e * vt) / (den + u * e))
            num = w * num + e * vt
            den = w * den + e
        x = x + self.o(r * torch.stack(outs, 1))
        h = self.ln2(x)
        p = self.shift(h)
        kk = torch.relu(self.ck(h * self.mix[3] + p * (1 - self.mix[3]))).square()
        rr = torch.sigmoid(self.cr(h * self.mix[4] + p * (1 - self.mix[4])))
        return x + rr * self.cv(kk)


def get_inputs():
    return [torch.randn(7, 53, 320)]


def get_init_inputs():
    return [320, 53]
