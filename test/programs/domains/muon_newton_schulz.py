import torch


def zeropower_via_newtonschulz5(G, steps: int):
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G
    if G.size(-2) > G.size(-1):
        X = X.mT
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        A = X @ X.mT
        B = b * A + c * A @ A
        X = a * X + B @ X
    if G.size(-2) > G.size(-1):
        X = X.mT
    return X


class Model(torch.nn.Module):
    """Muon on qkv, out, up and down matrices: Nesterov momentum, five Newton-Schulz steps, aspect-ratio scaling, decay."""

    def __init__(self, lr=0.02, momentum=0.95, wd=0.01, steps=5):
        super().__init__()
        self.lr, self.mu, self.wd, self.steps = lr, momentum, wd, steps

    def one(self, p, g, buf):
        buf = buf.lerp(g, 1 - self.mu)
        u = zeropower_via_newtonschulz5(g.lerp(buf, self.mu), self.steps)
        u = u * max(1, g.size(-2) / g.size(-1)) ** 0.5
        return p * (1 - self.lr * self.wd) - self.lr * u, buf

    def forward(self, *t):
        out = []
        for i in range(0, len(t), 3):
            out.extend(self.one(*t[i : i + 3]))
        return tuple(out)


def get_inputs():
    r = []
    for s in [(3, 768, 768), (768, 768), (2048, 768), (768, 2048)]:
        r += [torch.randn(*s) * 0.02, torch.randn(*s) * 0.01, torch.randn(*s) * 0.005]
    return r


def get_init_inputs():
    return []
