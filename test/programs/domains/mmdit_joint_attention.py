import torch
import torch.nn as nn
import torch.nn.functional as F


def modulate(x, shift, scale):
    return x * (1 + scale[:, None]) + shift[:, None]


class Stream(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ada = nn.Linear(dim, 6 * dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.o = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim)
        )


class Model(nn.Module):
    """SD3-like joint block: image and text streams with own weights, one attention over both."""

    def __init__(self, dim=768, heads=12):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.img, self.txt = Stream(dim), Stream(dim)

    def ln(self, x):
        return F.layer_norm(x, (self.dim,), eps=1e-6)

    def forward(self, img, txt, cond):
        c = F.silu(cond)
        mi = self.img.ada(c).chunk(6, dim=-1)
        mt = self.txt.ada(c).chunk(6, dim=-1)
        qi = self.img.qkv(modulate(self.ln(img), mi[0], mi[1]))
        qt = self.txt.qkv(modulate(self.ln(txt), mt[0], mt[1]))
        qkv = torch.cat([qt, qi], dim=1)
        b, n, _ = qkv.shape
        q, k, v = qkv.view(b, n, 3, self.heads, -1).unbind(2)
        a = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        a = a.transpose(1, 2).reshape(b, n, self.dim)
        at, ai = a.split([txt.shape[1], img.shape[1]], dim=1)
        img = img + mi[2][:, None] * self.img.o(ai)
        txt = txt + mt[2][:, None] * self.txt.o(at)
        img = img + mi[5][:, None] * self.img.mlp(modulate(self.ln(img), mi[3], mi[4]))
        txt = txt + mt[5][:, None] * self.txt.mlp(modulate(self.ln(txt), mt[3], mt[4]))
        return img, txt


def get_inputs():
    return [torch.randn(2, 1020, 768), torch.randn(2, 154, 768), torch.randn(2, 768)]


def get_init_inputs():
    return []
