import math

import torch

SHAPES = [
    (50257, 192),
    (1024, 192),
    (192,),
    (192,),
    (576, 192),
    (576,),
    (192, 192),
    (192,),
    (768, 192),
    (768,),
    (192, 768),
    (192,),
    (64, 3, 7, 7),
    (64,),
    (128, 64, 3, 3),
    (128,),
    (1000, 2048),
    (1000,),
    (1,),
    (3, 5, 11),
]


class Model(torch.nn.Module):
    """AdamW on twenty tensors of mixed shapes: decoupled decay for matrices only, bias correction, new params and both moments returned."""

    def __init__(self, shapes, lr, wd, step):
        super().__init__()
        self.lr, self.wd, self.step, self.b1, self.b2, self.eps = lr, wd, step, 0.9, 0.999, 1e-8
        self.p = torch.nn.ParameterList([torch.nn.Parameter(torch.randn(s) * 0.02) for s in shapes])
        for i, s in enumerate(shapes):
            self.register_buffer(f"m{i}", torch.randn(s) * 1e-3)
            self.register_buffer(f"v{i}", torch.rand(s) * 1e-5)

    def forward(self, *grads):
        bc1, bc2 = 1 - self.b1**self.step, 1 - self.b2**self.step
        P, M, V = [], [], []
        for i, (p, g) in enumerate(zip(self.p, grads)):
            m, v = getattr(self, f"m{i}"), getattr(self, f"v{i}")
            m = self.b1 * m + (1 - self.b1) * g
            v = self.b2 * v + (1 - self.b2) * g * g
            q = p * (1 - self.lr * self.wd) if p.dim() > 1 else p
            P.append(q - self.lr / bc1 * m / (v.sqrt() / math.sqrt(bc2) + self.eps))
            M.append(m)
            V.append(v)
        return tuple(P + M + V)


def get_inputs():
    return [torch.randn(s) * 1e-2 for s in SHAPES]


def get_init_inputs():
    return [SHAPES, 3e-4, 0.1, 137]
