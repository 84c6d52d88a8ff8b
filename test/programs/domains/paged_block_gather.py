import math

import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """vLLM-like pages: write the new key/value at slot_mapping, gather blocks of 16 by block table, masked SDPA per sequence with window."""

    def __init__(self, n_heads, n_kv, dh, window):
        super().__init__()
        self.rep, self.dh, self.window = n_heads // n_kv, dh, window
        self.sink = torch.nn.Parameter(torch.zeros(n_heads))

    def forward(self, q, k_new, v_new, k_pages, v_pages, block_table, slots, ctx):
        nb, bs, hk, d = k_pages.shape
        k_flat = k_pages.view(nb * bs, hk, d).index_copy(0, slots, k_new)
        v_flat = v_pages.view(nb * bs, hk, d).index_copy(0, slots, v_new)
        rows = (block_table[:, :, None] * bs + torch.arange(bs, device=q.device)).flatten(1)
        k = k_flat[rows].repeat_interleave(self.rep, dim=2)
        v = v_flat[rows].repeat_interleave(self.rep, dim=2)
        pos = torch.arange(rows.shape[1], device=q.device)[None]
        ok = (pos < ctx[:, None]) & (pos >= ctx[:, None] - self.window)
        s = torch.einsum("bhd,bthd->bht", q, k) / math.sqrt(self.dh)
        s = torch.where(ok[:, None], s, torch.full_like(s, float("-inf")))
        s = torch.cat([s, self.sink[None, :, None].expand(s.shape[0], -1, 1)], dim=-1)
        p = F.softmax(s, dim=-1)[..., :-1]
        return torch.einsum("bht,bthd->bhd", p, v)


def get_inputs():
    B, nb, bs, M, H, HK, D = 21, 2100, 16, 97, 24, 8, 128
    table = torch.randperm(nb)[: B * M].view(B, M)
    ctx = torch.randint(300, M * bs, (B,))
    last = ctx - 1
    slots = table[torch.arange(B), last // bs] * bs + last % bs
    return [
        torch.randn(B, H, D),
        torch.randn(B, HK, D),
        torch.randn(B, HK, D),
        torch.randn(nb, bs, HK, D) * 0.8,
        torch.randn(nb, bs, HK, D) * 0.8,
        table,
        slots,
        ctx,
    ]


def get_init_inputs():
    return [24, 8, 128, 1024]
