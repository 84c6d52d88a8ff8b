import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Speculative verify: attention of 5 draft tokens over a cache, LM head, accept while u < p/q, residual distribution for the first reject."""

    def __init__(self, d, heads, vocab):
        super().__init__()
        self.h = heads
        self.q = nn.Linear(d, d, bias=False)
        self.kv = nn.Linear(d, 2 * d, bias=False)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, x, k_cache, v_cache, draft_tokens, draft_probs, u):
        B, Q, D = x.shape
        q = self.q(x).view(B, Q, self.h, -1).transpose(1, 2)
        k, v = self.kv(x).view(B, Q, 2, self.h, -1).permute(2, 0, 3, 1, 4)
        k, v = torch.cat([k_cache, k], 2), torch.cat([v_cache, v], 2)
        S = k.size(2)
        mask = torch.ones(Q, S, dtype=torch.bool, device=x.device).tril(S - Q)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(B, Q, D)
        probs = self.head(self.norm(x + y)).softmax(-1)
        p = probs[:, :-1].gather(2, draft_tokens.unsqueeze(-1)).squeeze(-1)
        qd = draft_probs.gather(2, draft_tokens.unsqueeze(-1)).squeeze(-1)
        accept = (u < p / qd.clamp(min=1e-9)).long().cumprod(dim=1)
        n = accept.sum(1)
        pad = F.pad(draft_probs, (0, 0, 0, 1))
        at = n.view(-1, 1, 1).expand(-1, 1, probs.shape[-1])
        rest = (probs.gather(1, at) - pad.gather(1, at)).squeeze(1).clamp(min=0)
        rest = rest / rest.sum(-1, keepdim=True).clamp(min=1e-9)
        return n, rest


def get_inputs():
    B, V = 9, 50257
    return [
        torch.randn(B, 5, 1280),
        torch.randn(B, 20, 1401, 64),
        torch.randn(B, 20, 1401, 64),
        torch.randint(0, V, (B, 4)),
        torch.randn(B, 4, V).softmax(-1),
        torch.rand(B, 4),
    ]


def get_init_inputs():
    return [1280, 20, 50257]
