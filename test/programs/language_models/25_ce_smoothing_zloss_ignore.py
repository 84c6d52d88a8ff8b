"""Token cross entropy over 50257 classes: label smoothing, z-loss, ignore index, mean over the valid tokens."""

import torch
import torch.nn as nn

BATCH = 3
SEQ = 683
VOCAB = 50257
SMOOTHING = 0.1
Z_LOSS = 1e-4
IGNORE = -100


class Model(nn.Module):
    def __init__(self, smoothing, z_loss, ignore):
        super().__init__()
        self.eps, self.z, self.ignore = smoothing, z_loss, ignore

    def forward(self, logits, labels):
        shift_logits = logits[:, :-1, :].float()
        shift_labels = labels[:, 1:]
        valid = shift_labels.ne(self.ignore)
        safe = shift_labels.masked_fill(~valid, 0)
        lse = torch.logsumexp(shift_logits, dim=-1)
        picked = shift_logits.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
        nll = lse - picked
        smooth = lse - shift_logits.mean(dim=-1)
        per_token = (1.0 - self.eps) * nll + self.eps * smooth + self.z * lse.pow(2)
        per_token = torch.where(valid, per_token, torch.zeros_like(per_token))
        n = valid.sum().clamp(min=1)
        acc = ((shift_logits.argmax(-1) == shift_labels) & valid).sum().float() / n
        return per_token.sum() / n, per_token, acc


def get_inputs():
    logits = (torch.randn(BATCH, SEQ, VOCAB) * 2).to(torch.bfloat16)
    labels = torch.randint(0, VOCAB, (BATCH, SEQ))
    labels = torch.where(torch.rand(BATCH, SEQ) < 0.15, torch.full_like(labels, IGNORE), labels)
    return [logits, labels]


def get_init_inputs():
    return [SMOOTHING, Z_LOSS, IGNORE]
