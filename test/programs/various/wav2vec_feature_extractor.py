import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """wav2vec 2.0 conv feature encoder: 1->512 kernel 10 stride 5, group norm, gelu, and four more layers."""

    def __init__(self, dim):
        super().__init__()
        self.first = nn.Conv1d(1, dim, 10, stride=5, bias=False)
        self.gn = nn.GroupNorm(dim, dim, affine=True)
        self.convs = nn.ModuleList(
            [nn.Conv1d(dim, dim, k, stride=2, bias=False) for k in (3, 3, 3, 2)]
        )
        self.norm = nn.LayerNorm(dim)
        self.proj = nn.Linear(dim, 768)

    def forward(self, wav):
        wav = (wav - wav.mean(-1, keepdim=True)) / torch.sqrt(wav.var(-1, keepdim=True) + 1e-7)
        x = F.gelu(self.gn(self.first(wav.unsqueeze(1))))
        for c in self.convs:
            x = F.gelu(c(x))
        return self.proj(self.norm(x.transpose(1, 2)))


def get_inputs():
    return [torch.randn(2, 48013) * 0.1]


def get_init_inputs():
    return [512]
