"""CLIP: image and text projection, L2 normalisation, learned temperature, symmetric loss, with a MoCo-like negative queue."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1499
IMG_DIM = 1024
TXT_DIM = 768
EMBED = 640
QUEUE = 8191


class Model(nn.Module):
    def __init__(self, img, txt, embed, queue):
        super().__init__()
        self.visual_proj = nn.Parameter(torch.randn(img, embed, dtype=torch.float16) * img**-0.5)
        self.text_proj = nn.Parameter(torch.randn(txt, embed, dtype=torch.float16) * txt**-0.5)
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))
        self.register_buffer("queue", F.normalize(torch.randn(queue, embed), dim=-1).half())

    def forward(self, image, text):
        zi = image @ self.visual_proj
        zt = text @ self.text_proj
        zi = zi / zi.norm(dim=-1, keepdim=True)
        zt = zt / zt.norm(dim=-1, keepdim=True)
        scale = self.logit_scale.exp().clamp(max=100.0)
        sim = scale * (zi @ zt.t()).float()
        neg = scale * (zi @ self.queue.t()).float()
        target = torch.arange(image.shape[0], device=image.device)
        l_img = F.cross_entropy(torch.cat([sim, neg], dim=1), target)
        l_txt = F.cross_entropy(sim.t(), target)
        return (l_img + l_txt) / 2


def get_inputs():
    base = torch.randn(BATCH, min(IMG_DIM, TXT_DIM))
    img = torch.randn(BATCH, IMG_DIM)
    img[:, : base.shape[1]] += base
    return [img.half(), (torch.randn(BATCH, TXT_DIM) * 0.5 + base[:, :TXT_DIM]).half()]


def get_init_inputs():
    return [IMG_DIM, TXT_DIM, EMBED, QUEUE]
