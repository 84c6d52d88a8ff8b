import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Whisper log-mel: 400-sample frames, hop 160, DFT by matmul, 80 slaney-ish filters, max-relative floor."""

    def __init__(self, n_fft: int, hop: int, n_mels: int, sr: int):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        k = torch.arange(n_fft // 2 + 1).float()[:, None]
        n = torch.arange(n_fft).float()[None]
        win = 0.5 - 0.5 * torch.cos(2 * math.pi * n / n_fft)
        ang = 2 * math.pi * k * n / n_fft
        self.register_buffer("cosb", (torch.cos(ang) * win).t().contiguous())
        self.register_buffer("sinb", (torch.sin(ang) * win).t().contiguous())
        hz = 700 * (
            10 ** (torch.linspace(0, 2595 * math.log10(1 + sr / 2 / 700), n_mels + 2) / 2595) - 1
        )
        f = torch.linspace(0, sr / 2, n_fft // 2 + 1)
        up = (f[None] - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
        dn = (hz[2:, None] - f[None]) / (hz[2:] - hz[1:-1])[:, None]
        fb = torch.minimum(up, dn).clamp_min(0) * (2.0 / (hz[2:] - hz[:-2]))[:, None]
        self.register_buffer("fb", fb)

    def forward(self, wav):
        pad = self.n_fft // 2
        x = torch.nn.functional.pad(wav[:, None], (pad, pad), mode="reflect")[:, 0]
        frames = x.unfold(-1, self.n_fft, self.hop)[:, :-1]
        power = (frames @ self.cosb) ** 2 + (frames @ self.sinb) ** 2
        mel = torch.einsum("btf,mf->bmt", power, self.fb)
        log = torch.clamp(mel, min=1e-10).log10()
        log = torch.maximum(log, log.amax(dim=(1, 2), keepdim=True) - 8.0)
        return (log + 4.0) / 4.0


def get_inputs():
    return [torch.randn(7, 480000) * 0.1]


def get_init_inputs():
    return [400, 160, 80, 16000]
