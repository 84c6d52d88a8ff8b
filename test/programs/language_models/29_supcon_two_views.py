"""Supervised contrastive loss (two views, many positives) with a projection MLP, float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1411
FEAT = 512
PROJ = 128
CLASSES = 37
TEMPERATURE = 0.07


class Model(nn.Module):
    def __init__(self, feat, proj, temperature):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(feat, feat), nn.ReLU(), nn.Linear(feat, proj))
        self.t = temperature

    def forward(self, views, labels):
        # views: [batch, 2, feat]
        b, n_views, _ = views.shape
        z = F.normalize(self.head(views), dim=-1)
        z = torch.cat(torch.unbind(z, dim=1), dim=0)
        mask = torch.eq(labels.view(-1, 1), labels.view(1, -1)).float().repeat(n_views, n_views)
        sim = torch.div(torch.matmul(z, z.T), self.t)
        sim = sim - sim.max(dim=1, keepdim=True)[0].detach()
        not_self = 1.0 - torch.eye(n_views * b, device=views.device)
        mask = mask * not_self
        log_prob = sim - torch.log((torch.exp(sim) * not_self).sum(1, keepdim=True))
        mean_log_prob_pos = (mask * log_prob).sum(1) / mask.sum(1)
        return -mean_log_prob_pos.view(n_views, b).mean()


def get_inputs():
    return [torch.randn(BATCH, 2, FEAT), torch.randint(0, CLASSES, (BATCH,))]


def get_init_inputs():
    return [FEAT, PROJ, TEMPERATURE]
