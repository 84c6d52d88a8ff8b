import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """ROI average pooling through soft separable box masks, then the two-layer box head."""

    def __init__(self, c, bins, hidden, classes):
        super().__init__()
        self.bins = bins
        self.fc1 = nn.Linear(c * bins * bins, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.cls = nn.Linear(hidden, classes + 1)
        self.box = nn.Linear(hidden, classes * 4)

    def weights(self, lo, hi, n):
        t = torch.arange(self.bins + 1, device=lo.device, dtype=lo.dtype) / self.bins
        edges = lo[:, None] + (hi - lo)[:, None] * t
        pix = torch.arange(n, device=lo.device, dtype=lo.dtype)
        left = torch.maximum(edges[:, :-1, None], pix)
        right = torch.minimum(edges[:, 1:, None], pix + 1)
        m = (right - left).clamp_min(0)
        return m / m.sum(-1, keepdim=True).clamp_min(1e-4)

    def forward(self, feat, rois):
        c, h, w = feat.shape
        wx = self.weights(rois[:, 0] * w, (rois[:, 0] + rois[:, 2]) * w, w)
        wy = self.weights(rois[:, 1] * h, (rois[:, 1] + rois[:, 3]) * h, h)
        t = torch.einsum("chw,rxw->rchx", feat, wx)
        pooled = torch.einsum("rchx,ryh->rcyx", t, wy)
        z = F.relu(self.fc2(F.relu(self.fc1(pooled.flatten(1)))))
        return F.softmax(self.cls(z), -1), self.box(z)


def get_inputs():
    return [torch.randn(96, 38, 50), torch.rand(157, 4) * 0.45 + 0.03]


def get_init_inputs():
    return [96, 7, 640, 20]
