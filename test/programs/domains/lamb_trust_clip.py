import torch
import torch.nn as nn


class Model(nn.Module):
    """LAMB for a BERT layer: global-norm clip first, Adam direction, per-tensor trust ratio guarded by torch.where."""

    def __init__(self, shapes, lr):
        super().__init__()
        self.shapes, self.lr = shapes, lr

    def forward(self, *tensors):
        n = len(self.shapes)
        params, grads, ms, vs = (
            tensors[:n],
            tensors[n : 2 * n],
            tensors[2 * n : 3 * n],
            tensors[3 * n :],
        )
        norms = torch.stack([torch.linalg.vector_norm(g) for g in grads])
        coef = (1.0 / (norms.norm() + 1e-6)).clamp(max=1.0)
        outs, ratios = [], []
        for p, g, m, v in zip(params, grads, ms, vs):
            g = g * coef
            m = m.mul(0.9).add(g, alpha=0.1)
            v = v.mul(0.999).addcmul(g, g, value=0.001)
            r = m / (v.sqrt() + 1e-6)
            if p.ndim > 1:
                r = r + 0.01 * p
            wn, rn = p.norm(), r.norm()
            one = torch.ones_like(wn)
            trust = torch.where(wn > 0, torch.where(rn > 0, wn / rn, one), one).clamp(max=10.0)
            outs += [p - self.lr * trust * r, m, v]
            ratios.append(trust)
        return outs, torch.stack(ratios), norms


SHAPES = (
    [(768, 768)] * 4 + [(768,)] * 4 + [(3072, 768), (3072,), (768, 3072), (768,), (768,), (768,)]
)


def get_inputs():
    mk = lambda s, f: [torch.randn(x) * f for x in s]
    return (
        mk(SHAPES, 0.02) + mk(SHAPES, 0.01) + mk(SHAPES, 1e-3) + [t.abs() for t in mk(SHAPES, 1e-5)]
    )


def get_init_inputs():
    return [SHAPES, 2e-3]
