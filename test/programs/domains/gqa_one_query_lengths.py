import torch


class Model(torch.nn.Module):
    """One-token GQA decode against a padded cache with per-sequence lengths; einsum over groups, manual softmax, output projection."""

    def __init__(self, hq, hkv, dh):
        super().__init__()
        self.hq, self.hkv, self.dh = hq, hkv, dh
        self.wq = torch.nn.Linear(hq * dh, hq * dh, bias=False)
        self.wo = torch.nn.Linear(hq * dh, hq * dh, bias=False)

    def forward(self, x, k_cache, v_cache, lens):
        B, S = k_cache.shape[:2]
        q = self.wq(x).view(B, self.hkv, self.hq // self.hkv, self.dh) * self.dh**-0.5
        s = torch.einsum("bkgd,bskd->bkgs", q, k_cache)
        dead = torch.arange(S, device=x.device).unsqueeze(0) >= lens.unsqueeze(1)
        s = s.masked_fill(dead[:, None, None, :], torch.finfo(s.dtype).min)
        s = s - s.max(dim=-1, keepdim=True).values
        e = s.exp()
        p = e / e.sum(-1, keepdim=True)
        o = torch.einsum("bkgs,bskd->bkgd", p, v_cache)
        return self.wo(o.reshape(B, -1))


def get_inputs():
    B, S = 19, 3071
    return [
        torch.randn(B, 2048),
        torch.randn(B, S, 4, 64),
        torch.randn(B, S, 4, 64),
        torch.randint(200, S + 1, (B,)),
    ]


def get_init_inputs():
    return [32, 4, 64]
