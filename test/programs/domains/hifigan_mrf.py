import torch
import torch.nn as nn
import torch.nn.functional as F

LRELU_SLOPE = 0.1


class ResBlock1(nn.Module):
    def __init__(self, channels, k, dilations=(1, 3, 5)):
        super().__init__()
        self.convs1 = nn.ModuleList(
            [
                nn.Conv1d(channels, channels, k, 1, dilation=d, padding=(k * d - d) // 2)
                for d in dilations
            ]
        )
        self.convs2 = nn.ModuleList(
            [nn.Conv1d(channels, channels, k, 1, padding=(k - 1) // 2) for _ in dilations]
        )

    def forward(self, x):
        for c1, c2 in zip(self.convs1, self.convs2):
            xt = F.leaky_relu(x, LRELU_SLOPE)
            xt = c1(xt)
            xt = F.leaky_relu(xt, LRELU_SLOPE)
            xt = c2(xt)
            x = xt + x
        return x


class Model(nn.Module):
    """HiFi-GAN stage: transposed conv x8, mean of three residual blocks (3, 7, 11), waveform head."""

    def __init__(self, cin, rate, kernels):
        super().__init__()
        c = cin // 2
        self.up = nn.ConvTranspose1d(cin, c, 2 * rate, rate, padding=rate // 2)
        self.blocks = nn.ModuleList([ResBlock1(c, k) for k in kernels])
        self.post = nn.Conv1d(c, 1, 7, padding=3)

    def forward(self, x):
        x = self.up(F.leaky_relu(x, LRELU_SLOPE))
        xs = None
        for b in self.blocks:
            xs = b(x) if xs is None else xs + b(x)
        x = xs / len(self.blocks)
        return torch.tanh(self.post(F.leaky_relu(x)))


def get_inputs():
    return [torch.randn(2, 128, 1032)]


def get_init_inputs():
    return [128, 8, (3, 7, 11)]
