import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Stable-diffusion style spatial transformer: group norm, cross attention with 77 text tokens (masked), GEGLU."""

    def __init__(self, c, ctx, heads, dh):
        super().__init__()
        self.h = heads
        inner = heads * dh
        self.gn = nn.GroupNorm(20, c, eps=1e-6)
        self.n1, self.n2 = nn.LayerNorm(c), nn.LayerNorm(c)
        self.q = nn.Linear(c, inner, bias=False)
        self.k = nn.Linear(ctx, inner, bias=False)
        self.v = nn.Linear(ctx, inner, bias=False)
        self.o = nn.Linear(inner, c)
        self.ge = nn.Linear(c, 8 * c)
        self.go = nn.Linear(4 * c, c)

    def forward(self, x, ctx, mask):
        b, c, hh, ww = x.shape
        t = self.gn(x).permute(0, 2, 3, 1).reshape(b, hh * ww, c)
        q = self.q(self.n1(t)).view(b, -1, self.h, self.q.out_features // self.h).transpose(1, 2)
        k = self.k(ctx).view(b, ctx.size(1), self.h, -1).transpose(1, 2)
        v = self.v(ctx).view(b, ctx.size(1), self.h, -1).transpose(1, 2)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        t = t + self.o(a.transpose(1, 2).reshape(b, hh * ww, -1))
        u, g = self.ge(self.n2(t)).chunk(2, -1)
        t = t + self.go(u * F.gelu(g))
        return x + t.transpose(1, 2).reshape(b, c, hh, ww)


def get_inputs():
    n = torch.tensor([77, 31])
    return [
        torch.randn(2, 320, 31, 45),
        torch.randn(2, 77, 768),
        torch.arange(77)[None] < n[:, None],
    ]


def get_init_inputs():
    return [320, 768, 8, 40]
