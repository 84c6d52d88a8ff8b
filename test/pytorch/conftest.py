"""What tests of ``torch.compile`` share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def alone() -> Iterator[None]:
    """Nothing of another test is compiled already, neither here nor in Inductor's caches."""
    import torch

    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch._inductor.config.patch(force_disable_caches=True):
        yield
