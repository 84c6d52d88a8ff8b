"""Gemma-2 eager attention with logit soft cap, head dim 256, GQA through repeat_kv, additive padding mask."""

import torch
import torch.nn as nn

BATCH = 3
SEQ = 1091
Q_HEADS = 8
KV_HEADS = 4
HEAD_DIM = 256
WINDOW = 512
CAP = 50.0
QUERY_PRE_ATTN_SCALAR = 224


def repeat_kv(x, n_rep):
    b, h, s, d = x.shape
    if n_rep == 1:
        return x
    return x[:, :, None, :, :].expand(b, h, n_rep, s, d).reshape(b, h * n_rep, s, d)


class Model(nn.Module):
    def __init__(self, n_rep, scalar, cap, window):
        super().__init__()
        self.n_rep, self.cap, self.window = n_rep, cap, window
        self.scaling = scalar**-0.5

    def forward(self, q, k, v, padding):
        k, v = repeat_kv(k, self.n_rep), repeat_kv(v, self.n_rep)
        w = torch.matmul(q, k.transpose(2, 3)) * self.scaling
        w = w / self.cap
        w = torch.tanh(w)
        w = w * self.cap
        s = q.shape[2]
        i = torch.arange(s, device=q.device)
        rel = i[:, None] - i[None, :]
        allowed = (rel >= 0) & (rel < self.window)
        allowed = allowed[None, None] & padding[:, None, None, :].bool()
        # keep the diagonal so that padded rows stay finite
        allowed = allowed | (rel == 0)
        bias = torch.zeros(allowed.shape, dtype=q.dtype, device=q.device)
        bias = bias.masked_fill(~allowed, torch.finfo(q.dtype).min)
        w = w + bias
        w = nn.functional.softmax(w, dim=-1, dtype=torch.float32).to(q.dtype)
        return torch.matmul(w, v).transpose(1, 2).contiguous()


def get_inputs():
    q = torch.randn(BATCH, Q_HEADS, SEQ, HEAD_DIM, dtype=torch.bfloat16)
    k = torch.randn(BATCH, KV_HEADS, SEQ, HEAD_DIM, dtype=torch.bfloat16)
    v = torch.randn(BATCH, KV_HEADS, SEQ, HEAD_DIM, dtype=torch.bfloat16)
    lens = torch.randint(SEQ // 2, SEQ + 1, (BATCH,))
    padding = (torch.arange(SEQ)[None] < lens[:, None]).long()
    return [q, k, v, padding]


def get_init_inputs():
    return [Q_HEADS // KV_HEADS, QUERY_PRE_ATTN_SCALAR, CAP, WINDOW]
