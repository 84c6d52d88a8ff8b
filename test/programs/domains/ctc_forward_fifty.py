import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """CTC negative log-likelihood by the alpha recursion over 50 frames; extended labels with blanks, skip rule, target lengths."""

    def __init__(self, dim, vocab):
        super().__init__()
        self.head = nn.Linear(dim, vocab)

    def forward(self, feats, targets, target_len):
        NEG = -1e5
        B, T, _ = feats.shape
        S = 2 * targets.shape[1] + 1
        ext = torch.zeros(B, S, dtype=torch.long, device=feats.device)
        ext[:, 1::2] = targets
        lp = F.log_softmax(self.head(feats), dim=-1).gather(2, ext[:, None].expand(-1, T, -1))
        skip = torch.zeros(B, S, dtype=torch.bool, device=feats.device)
        skip[:, 3::2] = targets[:, 1:] != targets[:, :-1]
        alpha = torch.full_like(lp[:, 0], NEG)
        alpha[:, :2] = lp[:, 0, :2]
        for t in range(1, T):
            one = F.pad(alpha[:, :-1], (1, 0), value=NEG)
            two = torch.where(
                skip, F.pad(alpha[:, :-2], (2, 0), value=NEG), torch.full_like(alpha, NEG)
            )
            m = torch.maximum(torch.maximum(alpha, one), two)
            alpha = m + torch.log((alpha - m).exp() + (one - m).exp() + (two - m).exp()) + lp[:, t]
        end = (2 * target_len)[:, None]
        nll = -torch.logaddexp(alpha.gather(1, end)[:, 0], alpha.gather(1, end - 1)[:, 0])
        return (nll / target_len.to(nll.dtype)).mean(), nll


def get_inputs():
    B = 700
    return [torch.randn(B, 50, 384), torch.randint(1, 97, (B, 19)), torch.randint(4, 20, (B,))]


def get_init_inputs():
    return [384, 97]
