import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """RetinaNet loss over all anchors: IoU matching to padded ground truth, focal classification with ignore band, smooth-L1 boxes."""

    def __init__(self, alpha=0.25, gamma=2.0, beta=1.0 / 9):
        super().__init__()
        self.alpha, self.gamma, self.beta = alpha, gamma, beta

    def forward(self, cls_logits, box_pred, anchors, gt, gt_cls, n_gt):
        a, g = anchors[None, :, None], gt[:, None]
        lt, rb = torch.maximum(a[..., :2], g[..., :2]), torch.minimum(a[..., 2:], g[..., 2:])
        inter = (rb - lt).clamp(min=0).prod(-1)
        area = lambda t: (t[..., 2] - t[..., 0]) * (t[..., 3] - t[..., 1])
        iou = inter / (area(a) + area(g) - inter)
        iou = iou * (torch.arange(gt.shape[1], device=gt.device) < n_gt[:, None])[:, None]
        best, which = iou.max(dim=2)
        pos, ignore = best >= 0.5, (best >= 0.4) & (best < 0.5)
        label = torch.gather(gt_cls, 1, which)
        target = F.one_hot(label, cls_logits.shape[-1]).to(cls_logits.dtype) * pos[..., None]
        p = torch.sigmoid(cls_logits)
        ce = F.binary_cross_entropy_with_logits(cls_logits, target, reduction="none")
        pt = p * target + (1 - p) * (1 - target)
        at = self.alpha * target + (1 - self.alpha) * (1 - target)
        focal = (at * ce * (1 - pt) ** self.gamma).masked_fill(ignore[..., None], 0.0)
        num = pos.sum(1).clamp(min=1).to(focal.dtype)
        mg = torch.gather(gt, 1, which[..., None].expand(-1, -1, 4))
        aw, ah = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
        ctr = (
            (mg[..., :2] + mg[..., 2:] - anchors[:, :2] - anchors[:, 2:])
            * 0.5
            / torch.stack([aw, ah], -1)
        )
        size = torch.log(((mg[..., 2:] - mg[..., :2]) / torch.stack([aw, ah], -1)).clamp(min=1e-3))
        reg = (
            F.smooth_l1_loss(
                box_pred, torch.cat([ctr, size], -1), beta=self.beta, reduction="none"
            ).sum(-1)
            * pos
        )
        return (focal.sum((1, 2)) / num).mean(), (reg.sum(1) / num).mean()


def boxes(*s):
    xy, wh = torch.rand(*s, 2) * 500, torch.rand(*s, 2) * 130 + 20
    return torch.cat([xy, xy + wh], -1)


def get_inputs():
    N, A, C, G = 3, 49104, 90, 31
    return [
        torch.randn(N, A, C) - 4,
        torch.randn(N, A, 4) * 0.1,
        boxes(A),
        boxes(N, G),
        torch.randint(0, C, (N, G)),
        torch.randint(1, G + 1, (N,)),
    ]


def get_init_inputs():
    return []
