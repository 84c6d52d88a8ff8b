import torch
import torch.nn as nn


class Model(nn.Module):
    """Detection head shared over three levels, anchors decoded to boxes and scores."""

    def __init__(self, c, anchors, classes):
        super().__init__()
        self.a, self.k = anchors, classes
        self.cls_t = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(11, c), nn.ReLU())
        self.reg_t = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(11, c), nn.ReLU())
        self.cls = nn.Conv2d(c, anchors * classes, 3, padding=1)
        self.reg = nn.Conv2d(c, anchors * 4, 3, padding=1)
        self.register_buffer("base", torch.tensor([[22.0, 45.0], [32.0, 32.0], [45.0, 22.0]]))

    def decode(self, delta, h, w, stride):
        ys = (torch.arange(h, device=delta.device, dtype=delta.dtype) + 0.5) * stride
        xs = (torch.arange(w, device=delta.device, dtype=delta.dtype) + 0.5) * stride
        gy, gx = torch.meshgrid(ys, xs, indexing="ij")
        ctr = torch.stack([gx, gy], -1).reshape(h * w, 1, 2)
        wh = self.base * (stride / 8)
        xy = ctr + delta[..., :2] * 0.1 * wh
        size = wh * torch.exp(torch.clamp(delta[..., 2:] * 0.2, max=4.135))
        return torch.cat([xy - size / 2, xy + size / 2], -1).flatten(1, 2)

    def forward(self, p3, p4, p5):
        boxes, scores = [], []
        for p, s in ((p3, 8), (p4, 16), (p5, 32)):
            n, _, h, w = p.shape
            sc = (
                self.cls(self.cls_t(p))
                .view(n, self.a, self.k, h, w)
                .permute(0, 3, 4, 1, 2)
                .reshape(n, -1, self.k)
            )
            d = (
                self.reg(self.reg_t(p))
                .view(n, self.a, 4, h, w)
                .permute(0, 3, 4, 1, 2)
                .reshape(n, h * w, self.a, 4)
            )
            scores.append(torch.sigmoid(sc))
            boxes.append(self.decode(d, h, w, s))
        return torch.cat(boxes, 1), torch.cat(scores, 1).amax(-1)


def get_inputs():
    return [torch.randn(2, 88, 50, 67), torch.randn(2, 88, 25, 34), torch.randn(2, 88, 13, 17)]


def get_init_inputs():
    return [88, 3, 37]
