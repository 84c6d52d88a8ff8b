import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """DiffWave-ish non-causal gated stack with mel conditioning and diffusion-step bias; functional style, stacked weights."""

    def __init__(self, C, M, layers, cycle):
        super().__init__()
        P = lambda *s: torch.nn.Parameter(
            torch.randn(*s) * (1.0 / (s[-1] * s[-2]) ** 0.5 if len(s) > 2 else 0.05)
        )
        self.C, self.L, self.cycle = C, layers, cycle
        self.dil_w, self.dil_b = (
            P(layers, 2 * C, C, 3),
            torch.nn.Parameter(torch.zeros(layers, 2 * C)),
        )
        self.mel_w = P(layers, 2 * C, M, 1)
        self.step_w = P(layers, 512, C)
        self.out_w, self.out_b = (
            P(layers, 2 * C, C, 1),
            torch.nn.Parameter(torch.zeros(layers, 2 * C)),
        )

    def forward(self, x, mel, step):
        acc = 0
        for i in range(self.L):
            d = 2 ** (i % self.cycle)
            y = x + torch.mm(step, self.step_w[i]).unsqueeze(-1)
            y = F.conv1d(y, self.dil_w[i], self.dil_b[i], padding=d, dilation=d)
            y = y + F.conv1d(mel, self.mel_w[i])
            gate, filt = torch.split(y, self.C, dim=1)
            y = torch.sigmoid(gate) * torch.tanh(filt)
            y = F.conv1d(y, self.out_w[i], self.out_b[i])
            res, skip = y[:, : self.C], y[:, self.C :]
            x = (x + res) * 0.7071067811865476
            acc = acc + skip
        return F.relu(acc / self.L**0.5)


def get_inputs():
    return [torch.randn(3, 64, 15872), torch.randn(3, 80, 15872), torch.randn(3, 512)]


def get_init_inputs():
    return [64, 80, 10, 5]
