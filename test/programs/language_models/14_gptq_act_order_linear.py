"""GPTQ 4-bit linear with act-order (g_idx), packed along the input dimension, zeros stored minus one."""

import torch
import torch.nn as nn

ROWS = 33
K = 4096
N = 5504
GROUP = 128


class Model(nn.Module):
    def __init__(self, k, n, group):
        super().__init__()
        self.n = n
        g = k // group
        self.register_buffer(
            "qweight", torch.randint(-(2**31), 2**31 - 1, (k // 8, n), dtype=torch.int32)
        )
        self.register_buffer(
            "qzeros", torch.randint(-(2**31), 2**31 - 1, (g, n // 8), dtype=torch.int32)
        )
        self.register_buffer("scales", ((torch.rand(g, n) + 0.5) * 0.15 * k**-0.5).half())
        g_idx = (torch.arange(k) // group)[torch.randperm(k)].to(torch.int32)
        self.register_buffer("g_idx", g_idx)
        self.register_buffer("wf", torch.arange(0, 32, 4, dtype=torch.int32).unsqueeze(0))

    def forward(self, x):
        lead = x.shape[:-1]
        zeros = torch.bitwise_right_shift(
            self.qzeros.unsqueeze(2).expand(-1, -1, 8), self.wf.unsqueeze(0)
        )
        zeros = torch.bitwise_and(zeros, 15).to(torch.int8) + 1
        zeros = zeros.reshape(self.scales.shape)
        weight = torch.bitwise_right_shift(
            self.qweight.unsqueeze(1).expand(-1, 8, -1), self.wf.unsqueeze(-1)
        )
        weight = torch.bitwise_and(weight, 15).to(torch.int8)
        weight = weight.reshape(-1, self.n)
        idx = self.g_idx.long()
        w = self.scales[idx] * (weight - zeros[idx])
        return (x.reshape(-1, x.shape[-1]) @ w).reshape(*lead, self.n)


def get_inputs():
    return [torch.randn(3, ROWS // 3, K, dtype=torch.float16)]


def get_init_inputs():
    return [K, N, GROUP]
