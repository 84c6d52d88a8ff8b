"""Losses as they are written in PyTorch, with the classes as the last axis of logits."""

from __future__ import annotations

from typing import Any

import numpy as np


def gathered(x: Any, label: Any) -> Any:
    """The label's logarithm of a probability, by its place."""
    import torch

    return -torch.log_softmax(x, -1).gather(1, label[:, None])[:, 0]


def linear(h: Any, w: Any, label: Any) -> Any:
    from torch.nn import functional

    return functional.nll_loss(functional.log_softmax(h @ w.T, -1), label, reduction="none")


def mean(x: Any, label: Any) -> Any:
    """Of the rows whose label is not -100."""
    from torch.nn import functional

    return functional.cross_entropy(x, label)


def smooth(x: Any, label: Any) -> Any:
    from torch.nn import functional

    return functional.cross_entropy(x, label, label_smoothing=0.1, reduction="none")


def expected(x: np.ndarray, label: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """Of each row, in fp64."""
    x = x.astype(np.float64)
    most = x.max(1, keepdims=True)
    logs = x - most - np.log(np.exp(x - most).sum(1, keepdims=True))
    chosen = logs[np.arange(len(x)), np.maximum(label, 0)]
    found = -(1 - smoothing) * chosen - smoothing * logs.mean(1)
    return np.where(label == -100, 0.0, found)
