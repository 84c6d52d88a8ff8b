import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class Model(nn.Module):
    """Static-cache decode step: rope looked up by position, cache written with scatter at each sequence's own position, SDPA over the cache."""

    def __init__(self, dim, n_q, n_kv, max_pos, theta):
        super().__init__()
        self.nq, self.nkv, self.d = n_q, n_kv, dim // n_q
        self.qkv = nn.Linear(dim, (n_q + 2 * n_kv) * self.d, bias=True)
        self.o = nn.Linear(dim, dim, bias=False)
        inv = 1.0 / theta ** (torch.arange(0, self.d, 2).float() / self.d)
        emb = torch.outer(torch.arange(max_pos).float(), inv).repeat(1, 2)
        self.register_buffer("cos", emb.cos())
        self.register_buffer("sin", emb.sin())

    def forward(self, x, k_cache, v_cache, pos):
        B, T = x.size(0), k_cache.size(2)
        qkv = self.qkv(x).view(B, 1, -1, self.d).transpose(1, 2)
        q, k, v = qkv.split([self.nq, self.nkv, self.nkv], dim=1)
        cos, sin = self.cos[pos][:, None, None], self.sin[pos][:, None, None]
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        at = pos.view(B, 1, 1, 1).expand(-1, self.nkv, 1, self.d)
        k_cache, v_cache = k_cache.scatter(2, at, k), v_cache.scatter(2, at, v)
        keep = torch.arange(T, device=x.device)[None, :] <= pos[:, None]
        kk = (
            k_cache[:, :, None]
            .expand(-1, -1, self.nq // self.nkv, -1, -1)
            .reshape(B, self.nq, T, self.d)
        )
        vv = (
            v_cache[:, :, None]
            .expand(-1, -1, self.nq // self.nkv, -1, -1)
            .reshape(B, self.nq, T, self.d)
        )
        y = F.scaled_dot_product_attention(q, kk, vv, attn_mask=keep[:, None, None])
        return self.o(y.transpose(1, 2).reshape(B, -1)), k_cache, v_cache


def get_inputs():
    B, T = 7, 2333
    return [
        torch.randn(B, 3584),
        torch.randn(B, 4, T, 128),
        torch.randn(B, 4, T, 128),
        torch.randint(100, T, (B,)),
    ]


def get_init_inputs():
    return [3584, 28, 4, 2333, 1000000.0]
