import torch
import torch.nn.functional as F
from torch import einsum, nn


class GEGLU(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.proj = nn.Linear(i, o * 2)

    def forward(self, x):
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * F.gelu(gate)


class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, heads=5):
        super().__init__()
        self.heads = heads
        self.scale = (query_dim // heads) ** -0.5
        self.to_q = nn.Linear(query_dim, query_dim, bias=False)
        self.to_k = nn.Linear(context_dim, query_dim, bias=False)
        self.to_v = nn.Linear(context_dim, query_dim, bias=False)
        self.to_out = nn.Linear(query_dim, query_dim)

    def split(self, t):
        b, n, c = t.shape
        return (
            t.reshape(b, n, self.heads, c // self.heads)
            .permute(0, 2, 1, 3)
            .reshape(b * self.heads, n, -1)
        )

    def forward(self, x, context=None):
        context = x if context is None else context
        q, k, v = (
            self.split(self.to_q(x)),
            self.split(self.to_k(context)),
            self.split(self.to_v(context)),
        )
        sim = einsum("b i d, b j d -> b i j", q, k) * self.scale
        out = einsum("b i j, b j d -> b i d", sim.softmax(dim=-1), v)
        b, n, c = x.shape
        out = out.reshape(b, self.heads, n, -1).permute(0, 2, 1, 3).reshape(b, n, c)
        return self.to_out(out)


class Model(nn.Module):
    """Stable-diffusion SpatialTransformer: group norm, 1x1 in, self + cross attention, GEGLU, 1x1 out."""

    def __init__(self, channels, context_dim, heads):
        super().__init__()
        self.norm = nn.GroupNorm(32, channels, eps=1e-6)
        self.proj_in = nn.Conv2d(channels, channels, 1)
        self.attn1 = CrossAttention(channels, channels, heads)
        self.attn2 = CrossAttention(channels, context_dim, heads)
        self.ff = nn.Sequential(GEGLU(channels, channels * 4), nn.Linear(channels * 4, channels))
        self.norm1, self.norm2, self.norm3 = (
            nn.LayerNorm(channels),
            nn.LayerNorm(channels),
            nn.LayerNorm(channels),
        )
        self.proj_out = nn.Conv2d(channels, channels, 1)

    def forward(self, x, context):
        b, c, h, w = x.shape
        res = x
        x = self.proj_in(self.norm(x)).flatten(2).transpose(1, 2)
        x = self.attn1(self.norm1(x)) + x
        x = self.attn2(self.norm2(x), context) + x
        x = self.ff(self.norm3(x)) + x
        x = x.transpose(1, 2).reshape(b, c, h, w)
        return self.proj_out(x) + res


def get_inputs():
    return [torch.randn(2, 320, 48, 52), torch.randn(2, 77, 768)]


def get_init_inputs():
    return [320, 768, 5]
