"""Torch tensors that say they are on a GPU, on a driver that runs nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest
import redfuse
import torch
from drivers import cuda, torch_type
from redfuse.bench import programs


@pytest.fixture(scope="module")
def softmax():
    return redfuse.compile(programs.softmax(4, 256, "f32"), target="cuda", options={"cache": False})


def test_torch(softmax) -> None:
    tensor = torch_type()
    x = torch.randn(4, 256).as_subclass(tensor)
    y = torch.empty(4, 256).as_subclass(tensor)
    cuda.fake_work_stream(42)
    assert softmax(x, out=y) is y
    assert cuda.last_launch().stream == 42
    cuda.fake_work_stream(0)

    def on_gpu(value):
        return value.as_subclass(tensor)

    for bad, message in [
        (torch.randn(4, 256), "got one on cpu; use .cuda()"),
        (on_gpu(x.double()), "expected dtype float32, got float64; use .to\\(torch.float32\\)"),
        (on_gpu(x[:, ::2]), "expected shape 4x256, got 4x128"),
        (on_gpu(x.t().contiguous().t()), "got strides \\(1, 4\\); use .contiguous\\(\\)"),
        (on_gpu(torch.randn(3, 256)), "expected shape 4x256, got 3x256"),
        (torch.randn(4, 256).to_sparse(), "argument 0 of main"),
        (None, "got NoneType"),
        (np.zeros((4, 256), np.float32), "got numpy.ndarray"),
    ]:
        with pytest.raises(redfuse.ArgumentError, match=message) as caught:
            softmax(bad, out=y)
        assert caught.value.index == 0
    with pytest.raises(redfuse.ArgumentError, match="out 0 of main: shares memory with argument 0"):
        softmax(x, out=x)
    # A negated view: its memory is not its value.
    before = cuda.fake_launches()
    softmax(on_gpu(torch._neg_view(x)), out=y)
    assert cuda.fake_launches() == before + 1


def test_one_call_costs_little(softmax) -> None:
    """The host's part of a call with torch tensors and out=, the driver's own left out."""
    tensor = torch_type()
    x = torch.randn(4, 256).as_subclass(tensor)
    y = torch.empty(4, 256).as_subclass(tensor)
    softmax(x, out=y)
    cuda.fake_quiet(1)
    best = 1.0
    for _ in range(400):
        start = time.perf_counter()
        for _ in range(100):
            softmax(x, out=y)
        best = min(best, (time.perf_counter() - start) / 100)
    cuda.fake_quiet(0)
    print(f"{best * 1e6:.2f} us a call")
    assert best < 5e-6
