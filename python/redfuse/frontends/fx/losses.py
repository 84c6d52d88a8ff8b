"""Rules for losses where PyTorch's are wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .composed import composes

_NONE, _MEAN = 0, 1  # reductions, as aten numbers them; 2 is the sum


@composes("multilabel_margin_loss_forward.default")
def _multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Any:
    """The sum, over the labels of a row and over its other classes, of how far the class is above
    the label less a margin of 1, over the number of classes; and which classes are labels.

    Labels end before the first -1. PyTorch's rule counts the places behind it as labels of class 0.
    """
    kind = torch.float32 if self.dtype.itemsize < 4 else self.dtype
    scores, labels = torch.atleast_2d(self).to(kind), torch.atleast_2d(target)
    count = scores.shape[-1]
    places = torch.arange(count, device=target.device)
    end = torch.where(labels < 0, places, count).amin(-1, keepdim=True)
    is_label = places < end
    is_target = ((labels.unsqueeze(-1) == places) & is_label.unsqueeze(-1)).any(-2)
    of_labels = scores.gather(-1, torch.where(is_label, labels, 0))
    margins = (1 - of_labels.unsqueeze(-1) + scores.unsqueeze(-2)).clamp_min(0)
    counted = is_label.unsqueeze(-1) & is_target.logical_not().unsqueeze(-2)
    loss = torch.where(counted, margins, 0).sum((-1, -2)) / count
    if reduction == _NONE:
        loss = loss.reshape(self.shape[:-1])
    else:
        loss = loss.mean() if reduction == _MEAN else loss.sum()
    return loss.to(self.dtype), is_target.to(self.dtype).reshape(target.shape)
