"""Final norm + lm head + soft-capped logits + cross entropy, done in chunks of tokens so the logits are never whole."""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 1601
HIDDEN = 1536
VOCAB = 100277
CHUNKS = 5
CAP = 30.0


class Model(nn.Module):
    def __init__(self, hidden, vocab, chunks, cap):
        super().__init__()
        self.norm_w = nn.Parameter(torch.zeros(hidden, dtype=torch.bfloat16))
        self.lm_head = nn.Linear(hidden, vocab, bias=False, dtype=torch.bfloat16)
        self.chunks, self.cap = chunks, cap

    def _loss(self, h, y):
        logits = self.lm_head(h).float()
        logits = self.cap * torch.tanh(logits / self.cap)
        return F.cross_entropy(logits, y, ignore_index=-100, reduction="sum")

    def forward(self, hidden, labels):
        x = hidden.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (1 + self.norm_w.float())
        x = x.to(hidden.dtype)
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        for h, y in zip(x.chunk(self.chunks), labels.chunk(self.chunks)):
            total = total + self._loss(h, y)
        return total / (labels != -100).sum()


def get_inputs():
    labels = torch.randint(0, VOCAB, (TOKENS,))
    labels[: TOKENS // 9] = -100
    return [torch.randn(TOKENS, HIDDEN, dtype=torch.bfloat16), labels]


def get_init_inputs():
    return [HIDDEN, VOCAB, CHUNKS, CAP]
