"""DeltaNet forward in chunks of 32: WY representation by row substitution, then a python loop over the chunks."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
HEADS = 6
CHUNKS = 23
CHUNK = 32
DK = 128
DV = 128


class Model(nn.Module):
    def __init__(self, chunk):
        super().__init__()
        self.chunk = chunk

    def forward(self, q, k, v, beta):
        b, h, t, dk = q.shape
        c = self.chunk
        q = F.normalize(q.float(), dim=-1) * dk**-0.5
        k = F.normalize(k.float(), dim=-1)
        bt = torch.sigmoid(beta.float()).unsqueeze(-1)
        v = v.float() * bt
        k_beta = k * bt
        q, k, v, k_beta = [x.reshape(b, h, t // c, c, x.shape[-1]) for x in (q, k, v, k_beta)]
        upper = torch.triu(torch.ones(c, c, dtype=torch.bool, device=q.device), diagonal=0)
        attn = -(k_beta @ k.transpose(-1, -2)).masked_fill(upper, 0)
        for i in range(1, c):
            row = attn[..., i, :i]
            sub = attn[..., :i, :i]
            attn[..., i, :i] = row + (row.unsqueeze(-1).clone() * sub.clone()).sum(-2)
        attn = attn + torch.eye(c, dtype=torch.float32, device=q.device)
        u = attn @ v
        w = attn @ k_beta
        S = k.new_zeros(b, h, dk, v.shape[-1])
        o = torch.zeros_like(v)
        strict = torch.triu(torch.ones(c, c, dtype=torch.bool, device=q.device), diagonal=1)
        for i in range(t // c):
            qi, ki = q[:, :, i], k[:, :, i]
            a = (qi @ ki.transpose(-1, -2)).masked_fill(strict, 0)
            ui = u[:, :, i] - w[:, :, i] @ S
            o[:, :, i] = qi @ S + a @ ui
            S = S + ki.transpose(-1, -2) @ ui
        return o.reshape(b, h, t, -1).to(torch.bfloat16), S


def get_inputs():
    t = CHUNKS * CHUNK
    dt = torch.bfloat16
    return [
        torch.randn(BATCH, HEADS, t, DK, dtype=dt),
        torch.randn(BATCH, HEADS, t, DK, dtype=dt),
        torch.randn(BATCH, HEADS, t, DV, dtype=dt),
        torch.randn(BATCH, HEADS, t, dtype=dt),
    ]


def get_init_inputs():
    return [CHUNK]
