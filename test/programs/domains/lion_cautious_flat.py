import torch


class Model(torch.nn.Module):
    """Lion with cautious mask on one flat buffer, gradient clipped by value, weight decay, EMA copy of the weights."""

    def __init__(self, lr=1e-4, b1=0.9, b2=0.99, wd=0.05, ema=0.9995):
        super().__init__()
        self.lr, self.b1, self.b2, self.wd, self.ema = lr, b1, b2, wd, ema

    def forward(self, p, g, m, avg):
        g = g.clamp(-1.0, 1.0)
        update = torch.sign(torch.lerp(g, m, self.b1))
        mask = (update * g > 0).to(p.dtype)
        mask = mask / mask.mean().clamp(min=1e-3)
        p = p - self.lr * (update * mask + self.wd * p)
        m = torch.lerp(g, m, self.b2)
        avg = avg + (1 - self.ema) * (p - avg)
        return p, m, avg


def get_inputs():
    n = 11_173_962
    return [
        torch.randn(n) * 0.03,
        torch.randn(n) * 0.01,
        torch.randn(n) * 0.01,
        torch.randn(n) * 0.03,
    ]


def get_init_inputs():
    return []
