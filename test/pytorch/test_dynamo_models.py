"""Small models of `tools/dev models` through torch.compile, with all claims that can be made."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redfuse
import torch
from redfuse.frontends.dynamo import backend, report
from redfuse.frontends.results import flatten

sys.path.append(str(Path(__file__).resolve().parents[1] / "programs"))
from models import MODELS

# Sums have an order of their own, and layers add up what comes of it.
TOLERANCE = 2e-6
TRAINED = (
    "bert",
    "gpt2",
    "llama",
    "t5",
    "vit",
    "resnet",
    "whisper_encoder",
    "qwen3",
    "bloom",
    "unet",
)


@pytest.fixture(autouse=True)
def no_defects() -> Any:
    """A part that does not compile is a warning, which is an error here."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error", redfuse.FusionWarning)
        yield


def compiled(model: Any) -> Any:
    """With eager for the rest."""
    return torch.compile(model, backend=backend, options={"claim": "all", "fallback": "eager"})


def distance(got: torch.Tensor, eager: torch.Tensor, scale: float) -> float:
    """The largest difference, as a part of ``scale``."""
    return float((got.double() - eager.double()).abs().max()) / scale if got.numel() else 0.0


def largest(value: torch.Tensor) -> float:
    """The magnitude of the largest element."""
    return max(float(value.double().abs().max()), 1e-30) if value.numel() else 1.0


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_right(name: str) -> None:
    model, inputs = MODELS[name]()
    model = model.eval()
    with torch.no_grad(), report.collected() as records:
        got, eager = (flatten(run(*inputs))[0] for run in (compiled(model), model))
    assert any(p.kernel for r in records for p in r.parts) or name in ("resnet", "mobilenet_v2")
    for g, e in zip(got, eager, strict=True):
        assert distance(g, e, largest(e)) < TOLERANCE


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", TRAINED)
def test_gradients_are_right(name: str) -> None:
    model, inputs = MODELS[name]()
    model = model.eval()  # without dropout

    def gradients(run: Callable) -> dict[str, torch.Tensor]:
        model.zero_grad()
        results = [x for x in flatten(run(*inputs))[0] if x.is_floating_point()]
        sum((x**2).mean() for x in results).backward()
        return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}

    got, eager = gradients(compiled(model)), gradients(model)
    assert got.keys() == eager.keys()
    scale = max(map(largest, eager.values()))
    for part, gradient in eager.items():
        assert distance(got[part], gradient, scale) < TOLERANCE, part
