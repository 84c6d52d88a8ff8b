"""EnCodec-like residual vector quantisation: 8 codebooks, nearest code by expanded distance, plus one-hot usage and means."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 3
FRAMES = 1499
DIM = 128
CODES = 1024
N_Q = 8


class Model(nn.Module):
    def __init__(self, n_q, codes, dim):
        super().__init__()
        scale = torch.tensor([0.75**i for i in range(n_q)]).view(-1, 1, 1)
        self.codebooks = nn.Parameter(torch.randn(n_q, codes, dim) * scale)

    def forward(self, x):
        b, d, t = x.shape
        residual = x.permute(0, 2, 1).reshape(-1, d)
        flat = residual
        quantized = torch.zeros_like(residual)
        all_idx, losses = [], []
        for embed in self.codebooks:
            dist = -(
                residual.pow(2).sum(1, keepdim=True)
                - 2 * residual @ embed.t()
                + embed.t().pow(2).sum(0, keepdim=True)
            )
            idx = dist.max(dim=-1).indices
            q = F.embedding(idx, embed)
            losses.append(F.mse_loss(residual, q))
            residual = residual - q
            quantized = quantized + q
            all_idx.append(idx.view(b, t))
        # k-means style statistics of the first codebook
        onehot = F.one_hot(all_idx[0].reshape(-1), self.codebooks.shape[1]).type(x.dtype)
        counts = onehot.sum(0)
        centers = (onehot.t() @ flat) / counts.clamp(min=1.0).unsqueeze(1)
        return quantized.view(b, t, d).transpose(1, 2), torch.stack(losses).mean(), counts, centers


def get_inputs():
    return [torch.randn(BATCH, DIM, FRAMES)]


def get_init_inputs():
    return [N_Q, CODES, DIM]
