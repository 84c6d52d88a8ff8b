import torch
import torch.nn as nn


class Model(nn.Module):
    """One beam step: LM head, repetition penalty by gather/scatter, banned EOS before min length, finished beams forced to pad, flat top-2k, length-normalised scores, reordering."""

    def __init__(self, dim, vocab, beams, eos, pad, penalty):
        super().__init__()
        self.k, self.eos, self.pad, self.penalty, self.V = beams, eos, pad, penalty, vocab
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, hidden, seqs, beam_scores, finished, cache):
        B, K, T = seqs.shape
        logits = self.lm_head(hidden)
        seen = logits.gather(-1, seqs)
        seen = torch.where(seen < 0, seen * self.penalty, seen / self.penalty)
        logits = logits.scatter(-1, seqs, seen)
        logp = logits.log_softmax(-1)
        only_pad = torch.full_like(logp, -1e9)
        only_pad[..., self.pad] = 0
        logp = torch.where(finished[..., None], only_pad, logp)
        total = (beam_scores[..., None] + logp).view(B, K * self.V)
        top, idx = total.topk(2 * self.k, dim=-1)
        beam, tok = torch.div(idx, self.V, rounding_mode="floor"), idx % self.V
        rank = torch.where(tok == self.eos, top - 1e7, top)
        order = rank.argsort(dim=-1, descending=True)[:, : self.k]
        beam, tok, score = beam.gather(1, order), tok.gather(1, order), top.gather(1, order)
        new = torch.cat([seqs.gather(1, beam[..., None].expand(-1, -1, T)), tok[..., None]], dim=-1)
        done = finished.gather(1, beam) | (tok == self.eos)
        flat = (beam + torch.arange(B, device=beam.device)[:, None] * K).view(-1)
        return new, score, done, score / ((5 + T + 1) / 6) ** 0.6, cache.index_select(0, flat)


def get_inputs():
    B, K, T, V = 16, 5, 63, 32128
    return [
        torch.randn(B, K, 768),
        torch.randint(0, V, (B, K, T)),
        -torch.rand(B, K) * 20,
        torch.rand(B, K) < 0.15,
        torch.randn(B * K, 12, T, 64),
    ]


def get_init_inputs():
    return [768, 32128, 5, 1, 0, 1.3]
