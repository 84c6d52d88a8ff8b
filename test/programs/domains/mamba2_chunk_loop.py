import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Mamba-2 mixer: in_proj split, causal depthwise conv, SSD with a Python loop over chunks carrying the state, gated RMSNorm."""

    def __init__(self, d_model, d_state, headdim, chunk):
        super().__init__()
        self.di, self.ds, self.p, self.c = 2 * d_model, d_state, headdim, chunk
        self.nh = self.di // headdim
        self.in_proj = nn.Linear(d_model, 2 * self.di + 2 * d_state + self.nh, bias=False)
        self.conv1d = nn.Conv1d(
            self.di + 2 * d_state, self.di + 2 * d_state, 4, groups=self.di + 2 * d_state, padding=3
        )
        self.dt_bias = nn.Parameter(torch.linspace(-6, -2, self.nh))
        self.A_log = nn.Parameter(torch.log(torch.linspace(1, 16, self.nh)))
        self.D = nn.Parameter(torch.ones(self.nh))
        self.norm_w = nn.Parameter(torch.ones(self.di))
        self.out_proj = nn.Linear(self.di, d_model, bias=False)

    def forward(self, u):
        b, L, _ = u.shape
        z, xbc, dt = torch.split(self.in_proj(u), [self.di, self.di + 2 * self.ds, self.nh], dim=-1)
        xbc = F.silu(self.conv1d(xbc.transpose(1, 2))[..., :L].transpose(1, 2))
        x, B, C = torch.split(xbc, [self.di, self.ds, self.ds], dim=-1)
        x = x.reshape(b, L, self.nh, self.p)
        dt = F.softplus(dt + self.dt_bias)
        la = dt * -torch.exp(self.A_log)
        tri = torch.ones(self.c, self.c, dtype=torch.bool, device=u.device).tril()
        state = x.new_zeros(b, self.nh, self.p, self.ds)
        ys = []
        for s in range(0, L, self.c):
            xs, Bs, Cs = x[:, s : s + self.c], B[:, s : s + self.c], C[:, s : s + self.c]
            cum = la[:, s : s + self.c].cumsum(1)  # b t h
            seg = (cum[:, :, None] - cum[:, None]).masked_fill(
                ~tri[None, :, :, None], float("-inf")
            )
            xd = xs * dt[:, s : s + self.c, :, None]
            w = torch.einsum("btn,bsn->bts", Cs, Bs)[..., None] * seg.exp()
            y = torch.einsum("btsh,bshp->bthp", w, xd)
            y = y + torch.einsum("btn,bhpn->bthp", Cs, state) * cum.exp()[..., None]
            tail = (cum[:, -1:] - cum).exp()
            state = state * cum[:, -1].exp()[..., None, None] + torch.einsum(
                "bsn,bshp->bhpn", Bs, xd * tail[..., None]
            )
            ys.append(y + xs * self.D[:, None])
        y = torch.cat(ys, 1).reshape(b, L, self.di) * F.silu(z)
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5) * self.norm_w
        return self.out_proj(y)


def get_inputs():
    return [torch.randn(2, 1024, 768)]


def get_init_inputs():
    return [768, 128, 64, 128]
