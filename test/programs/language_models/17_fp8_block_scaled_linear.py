"""DeepSeek-V3 fp8 product: 1x128 activation scales made on the fly, 128x128 weight scales, N not a multiple of 128."""

import torch
import torch.nn as nn

TOKENS = 389
K = 7168
N = 2112
BLOCK = 128
FP8_MAX = 448.0


class Model(nn.Module):
    def __init__(self, block, fp8_max):
        super().__init__()
        self.block, self.fp8_max = block, fp8_max

    def forward(self, x, w, w_scale):
        m, k = x.shape
        n = w.shape[0]
        g = k // self.block
        xb = x.float().view(m, g, self.block)
        xs = xb.abs().amax(dim=2).clamp(1e-4) / self.fp8_max
        xq = (xb / xs.unsqueeze(2)).to(torch.float8_e4m3fn)
        ws = w_scale.repeat_interleave(self.block, dim=0)[:n]
        # one small product for each block of K, both scales applied to the partial sums
        a = xq.to(torch.float16).permute(1, 0, 2)
        b = w.to(torch.float16).view(n, g, self.block).permute(1, 2, 0)
        part = torch.bmm(a.float(), b.float())
        part = part * xs.t().unsqueeze(-1) * ws.t().unsqueeze(1)
        return part.sum(0).to(torch.bfloat16)


def get_inputs():
    x = torch.randn(TOKENS, K, dtype=torch.bfloat16)
    w = (torch.randn(N, K) * 64).to(torch.float8_e4m3fn)
    nb = (N + BLOCK - 1) // BLOCK
    ws = (torch.rand(nb, K // BLOCK) + 0.5) / (64 * K**0.5)
    return [x, w, ws]


def get_init_inputs():
    return [BLOCK, FP8_MAX]
