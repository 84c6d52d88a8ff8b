"""RetNet multi-scale retention, chunkwise-recurrent form, with group norm and a swish gate."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
HEADS = 5
CHUNKS = 13
CHUNK = 112
KEY_DIM = 80
VALUE_DIM = 160


class Model(nn.Module):
    def __init__(self, heads, key_dim, value_dim, chunk):
        super().__init__()
        self.chunk, self.scale = chunk, key_dim**-0.5
        gamma = 1 - torch.exp2(-5 - torch.arange(heads, dtype=torch.float32))
        i = torch.arange(chunk, dtype=torch.float32)
        diff = i[:, None] - i[None, :]
        D = torch.where(diff >= 0, gamma[:, None, None] ** diff.clamp(min=0), torch.zeros(()))
        self.register_buffer("D", D)
        self.register_buffer("cross", (gamma[:, None] ** (i + 1))[:, :, None])
        self.register_buffer("inner", (gamma[:, None] ** (chunk - 1 - i))[:, :, None])
        self.register_buffer("chunk_decay", (gamma**chunk)[:, None, None])
        self.g_norm = nn.GroupNorm(heads, heads * value_dim, eps=1e-5)
        self.out = nn.Linear(heads * value_dim, heads * key_dim, bias=False, dtype=torch.bfloat16)

    def forward(self, q, k, v, gate):
        b, h, t, dk = q.shape
        dv = v.shape[-1]
        n = t // self.chunk
        q = q.float().view(b, h, n, self.chunk, dk) * self.scale
        k = k.float().view(b, h, n, self.chunk, dk)
        v = v.float().view(b, h, n, self.chunk, dv)
        intra = (q @ k.transpose(-1, -2) * self.D[:, None]) @ v
        kv = (k * self.inner[:, None]).transpose(-1, -2) @ v
        state = torch.zeros(b, h, dk, dv, device=q.device)
        cross = []
        for c in range(n):
            cross.append((q[:, :, c] * self.cross) @ state)
            state = self.chunk_decay * state + kv[:, :, c]
        o = intra + torch.stack(cross, dim=2)
        o = o.view(b, h, t, dv).transpose(1, 2).reshape(b * t, h * dv)
        o = self.g_norm(o).view(b, t, h * dv).to(gate.dtype)
        return self.out(F.silu(gate) * o), state


def get_inputs():
    t = CHUNKS * CHUNK
    dt = torch.bfloat16
    return [
        torch.randn(BATCH, HEADS, t, KEY_DIM, dtype=dt),
        torch.randn(BATCH, HEADS, t, KEY_DIM, dtype=dt),
        torch.randn(BATCH, HEADS, t, VALUE_DIM, dtype=dt),
        torch.randn(BATCH, t, HEADS * VALUE_DIM, dtype=dt),
    ]


def get_init_inputs():
    return [HEADS, KEY_DIM, VALUE_DIM, CHUNK]
