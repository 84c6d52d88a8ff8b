import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Technical indicators over a panel of log returns in percent: rolling mean/std z-score, EMA by a causal kernel, RSI, drawdown, AR residual."""

    def __init__(self, win, span, taps):
        super().__init__()
        self.win = win
        a = 2 / (span + 1)
        w = a * (1 - a) ** torch.arange(taps).float()
        self.register_buffer("ema", (w / w.sum()).flip(0).view(1, 1, -1))
        self.ar = nn.Parameter(torch.randn(1, 1, 5) * 0.1)

    def forward(self, r):
        lp = torch.cumsum(r / 100, 1)
        u = r.unfold(1, self.win, 1)
        mu, sd = u.mean(-1), u.std(-1)
        z = (r[:, self.win - 1 :] - mu) / (sd + 1e-4)
        k = self.ema.size(-1)
        smooth = lambda t: F.conv1d(F.pad(t.unsqueeze(1), (k - 1, 0)), self.ema).squeeze(1)
        gain, loss = smooth(r.clamp(min=0)), smooth((-r).clamp(min=0))
        rsi = 100 - 100 / (1 + gain / (loss + 1e-3))
        peak = torch.cummax(lp, 1).values
        dd = (peak - lp).amax(1)
        resid = r[:, 5:] - F.conv1d(r.unsqueeze(1), self.ar).squeeze(1)[:, :-1]
        return z, rsi, dd, resid.square().mean(1)


def get_inputs():
    return [torch.randn(503, 1259) * 2 + 0.05]


def get_init_inputs():
    return [20, 14, 63]
