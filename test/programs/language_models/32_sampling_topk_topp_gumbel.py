"""Sampler of an inference engine: lm head on the last token, repetition penalty, top-k and top-p filter, Gumbel argmax."""

import torch
import torch.nn as nn

BATCH = 17
HIDDEN = 896
VOCAB = 151936
MAX_K = 64


class Model(nn.Module):
    def __init__(self, hidden, vocab, max_k):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab, hidden, dtype=torch.bfloat16) * hidden**-0.5)
        self.max_k = max_k

    def forward(self, hidden, seen, temperature, top_k, top_p, rep_penalty, gumbel):
        logits = (hidden[:, -1] @ self.weight.t()).float()
        pen = rep_penalty[:, None]
        logits = torch.where(seen, torch.where(logits > 0, logits / pen, logits * pen), logits)
        logits = logits / temperature[:, None]
        logprobs = torch.log_softmax(logits, dim=-1)
        vals, idx = torch.topk(logits, self.max_k, dim=-1)
        rank = torch.arange(self.max_k, device=hidden.device)
        vals = vals.masked_fill(rank[None] >= top_k[:, None], float("-inf"))
        probs = vals.softmax(-1)
        before = probs.cumsum(-1) - probs
        vals = vals.masked_fill(before > top_p[:, None], float("-inf"))
        choice = torch.argmax(vals + gumbel, dim=-1, keepdim=True)
        token = idx.gather(1, choice)
        greedy = logits.argmax(dim=-1)
        return token.squeeze(1), logprobs.gather(1, token).squeeze(1), greedy


def get_inputs():
    u = torch.rand(BATCH, MAX_K).clamp(1e-6, 1 - 1e-6)
    return [
        torch.randn(BATCH, 2, HIDDEN, dtype=torch.bfloat16),
        torch.rand(BATCH, VOCAB) < 0.01,
        torch.rand(BATCH) * 0.6 + 0.5,
        torch.randint(5, MAX_K + 1, (BATCH,)),
        torch.rand(BATCH) * 0.3 + 0.65,
        torch.rand(BATCH) * 0.2 + 1.0,
        -torch.log(-torch.log(u)),
    ]


def get_init_inputs():
    return [HIDDEN, VOCAB, MAX_K]
