"""QLoRA forward: NF4 table lookup, double-quantised absmax (int8 + nested scale), LoRA branch beside the base product."""

import torch
import torch.nn as nn

BATCH = 1
SEQ = 211
D_IN = 2048
D_OUT = 5632
RANK = 16
BLOCK = 64
NESTED = 256

NF4 = [
    -1.0,
    -0.6961928,
    -0.5250731,
    -0.3949175,
    -0.2844414,
    -0.1847734,
    -0.0910500,
    0.0,
    0.0795803,
    0.1609302,
    0.2461123,
    0.3379152,
    0.4407098,
    0.5626170,
    0.7229568,
    1.0,
]


class Model(nn.Module):
    def __init__(self, d_in, d_out, rank, block, nested):
        super().__init__()
        self.d_in, self.d_out, self.block, self.nested = d_in, d_out, block, nested
        self.register_buffer("table", torch.tensor(NF4))
        self.lora_a = nn.Linear(d_in, rank, bias=False, dtype=torch.bfloat16)
        self.lora_b = nn.Linear(rank, d_out, bias=False, dtype=torch.bfloat16)
        self.scaling = 32 / rank

    def dequant(self, packed, absmax_q, nested_scale, offset):
        absmax = absmax_q.float().view(-1, self.nested) / 127 * nested_scale.unsqueeze(1) + offset
        hi = packed.int() >> 4
        lo = packed.int() & 15
        codes = torch.stack([hi, lo], dim=-1).reshape(-1)
        vals = torch.index_select(self.table, 0, codes)
        w = vals.view(-1, self.block) * absmax.reshape(-1, 1)
        return w.view(self.d_out, self.d_in).to(torch.bfloat16)

    def forward(self, x, packed, absmax_q, nested_scale, offset):
        w = self.dequant(packed, absmax_q, nested_scale, offset)
        base = x @ w.t()
        return base + self.lora_b(self.lora_a(x)) * self.scaling


def get_inputs():
    n = D_IN * D_OUT
    mag = 2.0 * D_IN**-0.5
    return [
        torch.randn(BATCH, SEQ, D_IN, dtype=torch.bfloat16),
        torch.randint(0, 256, (n // 2,), dtype=torch.uint8),
        torch.randint(-127, 128, (n // BLOCK,), dtype=torch.int8),
        torch.rand(n // BLOCK // NESTED) * 0.4 * mag,
        torch.tensor(mag),
    ]


def get_init_inputs():
    return [D_IN, D_OUT, RANK, BLOCK, NESTED]
