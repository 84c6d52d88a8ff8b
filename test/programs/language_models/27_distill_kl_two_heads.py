"""Logit distillation: student and teacher heads over 32003 words, temperature, forward KL mixed with reverse KL and CE."""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 1023
S_DIM = 896
T_DIM = 2048
VOCAB = 32003
TEMP = 2.0


class Model(nn.Module):
    def __init__(self, s_dim, t_dim, vocab, temp):
        super().__init__()
        self.student_head = nn.Linear(s_dim, vocab, bias=False, dtype=torch.bfloat16)
        self.teacher_head = nn.Linear(t_dim, vocab, bias=False, dtype=torch.bfloat16)
        self.temp = temp

    def forward(self, hs, ht, labels, mask):
        s_logits = self.student_head(hs).float()
        t_logits = self.teacher_head(ht).float()
        ls = F.log_softmax(s_logits / self.temp, dim=-1)
        lt = F.log_softmax(t_logits / self.temp, dim=-1)
        fkl = F.kl_div(ls, lt, log_target=True, reduction="none").sum(-1)
        rkl = (ls.exp() * (ls - lt)).sum(-1)
        ce = F.cross_entropy(s_logits, labels, reduction="none")
        per_tok = self.temp**2 * (0.5 * fkl + 0.5 * rkl) + 0.3 * ce
        return (per_tok * mask).sum() / mask.sum(), fkl, rkl


def get_inputs():
    return [
        torch.randn(TOKENS, S_DIM, dtype=torch.bfloat16),
        torch.randn(TOKENS, T_DIM, dtype=torch.bfloat16),
        torch.randint(0, VOCAB, (TOKENS,)),
        (torch.rand(TOKENS) > 0.2).float(),
    ]


def get_init_inputs():
    return [S_DIM, T_DIM, VOCAB, TEMP]
