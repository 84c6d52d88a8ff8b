"""Lightning attention (MiniMax / TransNormer): decay slopes by head, loop over blocks of 256 with a ragged last block."""

import torch
import torch.nn as nn

BATCH = 1
HEADS = 20
SEQ = 2011
HEAD_DIM = 96
BLOCK = 256


class Model(nn.Module):
    def __init__(self, heads, head_dim, block):
        super().__init__()
        self.block, self.head_dim = block, head_dim
        slopes = torch.tensor([2 ** (-8.0 * (i + 1) / heads) for i in range(heads)])
        self.register_buffer("slope", slopes.view(heads, 1, 1))
        self.norm = nn.Parameter(torch.ones(heads * head_dim, dtype=torch.bfloat16))

    def forward(self, q, k, v, gate):
        b, h, n, d = q.shape
        B = self.block
        q, k = torch.nn.functional.silu(q).float(), torch.nn.functional.silu(k).float()
        v = v.float()
        arr = torch.arange(B, device=q.device, dtype=torch.float32) + 1
        q_decay = torch.exp(-self.slope * arr.reshape(-1, 1))
        k_decay = torch.exp(-self.slope * (B - arr.reshape(-1, 1)))
        idx = arr[:, None] - arr[None, :]
        s_index = torch.where(idx >= 0, -self.slope * idx, float("-inf"))
        diag = torch.exp(s_index)
        kv = torch.zeros(b, h, d, v.shape[-1], device=q.device)
        out = torch.empty_like(v)
        for i in range((n + B - 1) // B):
            lo, hi = i * B, min(n, i * B + B)
            m = hi - lo
            qi, ki, vi = q[:, :, lo:hi], k[:, :, lo:hi], v[:, :, lo:hi]
            inter = torch.matmul(qi * q_decay[:, :m], kv)
            qk = torch.matmul(qi, ki.transpose(-1, -2)) * diag[:, :m, :m]
            out[:, :, lo:hi] = inter + torch.matmul(qk, vi)
            kv = torch.exp(-self.slope * m) * kv + torch.matmul(
                (ki * k_decay[:, -m:]).transpose(-1, -2), vi
            )
        y = out.transpose(1, 2).reshape(b, n, h * d)
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.norm * y.to(gate.dtype) * torch.sigmoid(gate)


def get_inputs():
    dt = torch.bfloat16
    return [
        torch.randn(BATCH, HEADS, SEQ, HEAD_DIM, dtype=dt),
        torch.randn(BATCH, HEADS, SEQ, HEAD_DIM, dtype=dt),
        torch.randn(BATCH, HEADS, SEQ, HEAD_DIM, dtype=dt),
        torch.randn(BATCH, SEQ, HEADS * HEAD_DIM, dtype=dt),
    ]


def get_init_inputs():
    return [HEADS, HEAD_DIM, BLOCK]
