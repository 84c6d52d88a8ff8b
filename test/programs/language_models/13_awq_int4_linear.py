"""AWQ 4-bit linear (int32 packed along the output, interleaved order, packed zero points), reference dequantisation."""

import torch
import torch.nn as nn

ROWS = 7
K = 3584
N = 18944
GROUP = 128
AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)


class Model(nn.Module):
    def __init__(self, n, group, order):
        super().__init__()
        self.group = group
        self.register_buffer("shifts", torch.tensor(order, dtype=torch.int32) * 4)
        self.bias = nn.Parameter(torch.zeros(n, dtype=torch.float16))

    def unpack(self, w):
        u = torch.bitwise_right_shift(w[:, :, None], self.shifts[None, None, :]) & 0xF
        return u.view(w.shape[0], -1)

    def forward(self, x, qweight, qzeros, scales):
        iw = self.unpack(qweight).to(torch.int8)
        iz = self.unpack(qzeros).to(torch.int8)
        iz = iz.repeat_interleave(self.group, dim=0)
        s = scales.repeat_interleave(self.group, dim=0)
        w = (iw - iz) * s
        return torch.matmul(x, w) + self.bias


def get_inputs():
    x = torch.randn(ROWS, K, dtype=torch.float16)
    qw = torch.randint(-(2**31), 2**31 - 1, (K, N // 8), dtype=torch.int32)
    qz = torch.randint(-(2**31), 2**31 - 1, (K // GROUP, N // 8), dtype=torch.int32)
    s = ((torch.rand(K // GROUP, N) + 0.5) * (0.15 * K**-0.5)).half()
    return [x, qw, qz, s]


def get_init_inputs():
    return [N, GROUP, AWQ_ORDER]
