"""GRPO: lm head, per-token log-probs by gather at a temperature, clipped ratio, k3 KL to the reference, entropy."""

import torch
import torch.nn as nn

BATCH = 6
SEQ = 203
HIDDEN = 896
VOCAB = 151936
CLIP_LOW = 0.2
CLIP_HIGH = 0.28
BETA = 0.04


class Model(nn.Module):
    def __init__(self, hidden, vocab, low, high, beta):
        super().__init__()
        self.lm_head = nn.Linear(hidden, vocab, bias=False, dtype=torch.bfloat16)
        self.low, self.high, self.beta = low, high, beta

    def forward(self, hidden, ids, old_logps, ref_logps, rewards, mask):
        logits = self.lm_head(hidden) / 0.9
        logps, ents = [], []
        # row by row, as trainers do to hold peak memory down
        for row_logits, row_ids in zip(logits, ids):
            lp = row_logits.float().log_softmax(dim=-1)
            logps.append(torch.gather(lp, 1, row_ids[:, None]).squeeze(1))
            ents.append(-(lp.exp() * lp).sum(-1))
        logps, ents = torch.stack(logps), torch.stack(ents)
        adv = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        ratio = torch.exp(logps - old_logps)
        clipped = torch.clamp(ratio, 1 - self.low, 1 + self.high)
        pg = -torch.min(ratio * adv[:, None], clipped * adv[:, None])
        d = ref_logps - logps
        kl = torch.exp(d) - d - 1
        per_tok = pg + self.beta * kl
        loss = ((per_tok * mask).sum(1) / mask.sum(1).clamp(min=1.0)).mean()
        return loss, logps, (ents * mask).sum() / mask.sum()


def get_inputs():
    base = -12.1 + 0.3 * torch.randn(BATCH, SEQ)
    mask = (torch.arange(SEQ)[None] < torch.randint(SEQ // 2, SEQ + 1, (BATCH, 1))).float()
    return [
        torch.randn(BATCH, SEQ, HIDDEN, dtype=torch.bfloat16),
        torch.randint(0, VOCAB, (BATCH, SEQ)),
        base,
        base + 0.1 * torch.randn(BATCH, SEQ),
        torch.rand(BATCH),
        mask,
    ]


def get_init_inputs():
    return [HIDDEN, VOCAB, CLIP_LOW, CLIP_HIGH, BETA]
