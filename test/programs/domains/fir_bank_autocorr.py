import math

import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """Windowed-sinc band-pass bank by conv1d, half-wave rectify and smooth, framed autocorrelation summed over bands, pitch lag by argmax."""

    def __init__(self, bands, taps, sr, frame, hop, maxlag):
        super().__init__()
        self.frame, self.hop, self.maxlag = frame, hop, maxlag
        n = torch.arange(taps).float() - (taps - 1) / 2
        edges = torch.logspace(math.log10(80), math.log10(3600), bands + 1) / sr
        lp = lambda f: 2 * f[:, None] * torch.sinc(2 * f[:, None] * n[None])
        win = 0.54 + 0.46 * torch.cos(2 * math.pi * n / (taps - 1))
        self.register_buffer("h", ((lp(edges[1:]) - lp(edges[:-1])) * win)[:, None])
        self.register_buffer("smooth", torch.hann_window(15)[None, None] / 7)

    def forward(self, x):
        B, L = x.shape
        y = F.conv1d(x[:, None], self.h, padding=self.h.shape[-1] // 2)
        y = y.relu()
        y = F.conv1d(y, self.smooth.expand(y.shape[1], -1, -1), padding=7, groups=y.shape[1])
        f = y.unfold(2, self.frame, self.hop)  # B, bands, frames, frame
        f = f - f.mean(-1, keepdim=True)
        ac = []
        for lag in range(0, self.maxlag, 4):
            ac.append((f[..., : self.frame - lag] * f[..., lag:]).sum(-1).sum(1))
        ac = torch.stack(ac, -1)
        r = ac / ac[..., :1].clamp(min=1e-6)
        score, lag = r[..., 8:].max(-1)
        return r, (lag + 8) * 4, score


def get_inputs():
    return [torch.randn(2, 48000) * 0.3]


def get_init_inputs():
    return [17, 257, 16000, 640, 160, 256]
