import torch
import torch.nn as nn


class Model(nn.Module):
    """EnCodec residual vector quantiser: 8 stages of nearest code, residual subtraction, commitment loss per stage."""

    def __init__(self, num_q, codes, dim):
        super().__init__()
        self.codebooks = nn.Parameter(torch.randn(num_q, codes, dim) * 0.5)

    def forward(self, z):
        B, D, T = z.shape
        residual = z.permute(0, 2, 1).reshape(-1, D)
        quantised = torch.zeros_like(residual)
        all_idx, losses = [], []
        for cb in self.codebooks.unbind(0):
            dist = residual.pow(2).sum(1, keepdim=True) - 2 * residual @ cb.t() + cb.pow(2).sum(1)
            idx = torch.argmin(dist, dim=-1)
            q = torch.index_select(cb, 0, idx)
            losses.append(((q - residual) ** 2).mean())
            residual = residual - q
            quantised = quantised + q
            all_idx.append(idx.view(B, T))
        return quantised.view(B, T, D).transpose(1, 2), torch.stack(all_idx, 1), torch.stack(losses)


def get_inputs():
    return [torch.randn(11, 128, 750)]


def get_init_inputs():
    return [8, 1024, 128]
