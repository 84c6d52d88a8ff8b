"""Parts of models that the corpus lacks: fused or explained, and right on every schedule."""

from __future__ import annotations

import time

import exported_parts
import pytest
import training_parts
from model_parts import PARTS
from on_schedules import disagreements, explained, random_data
from processor import slowness
from torch_like import Torch

# One past the largest label.
LABELS = 11
BF16 = ("bf16_scores_attention",)
KINDS = ("normal", "zeros", "equal", "far mean", "minus infinity end", "nan", "large", "ties")
ONE_KERNEL = (
    "argmax_of_all", "attention_with_sink", "attention_appends_to_cache", "rotated_attention",
    "most_likely_renormalised", "covariance", "linear_cross_entropy", "squeeze_of_convolution",
    *exported_parts.ONE_KERNEL, *training_parts.ONE_KERNEL,
)  # fmt: skip


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_is_one_kernel(name: str) -> None:
    explanation = explained(PARTS[name]())
    assert len(explanation["kernels"]) == 1
    assert explanation["refused"] == []


def test_what_reads_itself_at_ever_more_places_compiles() -> None:
    """Each reduction reads what is before it at three places, which are one: a kernel has as many
    rounds as it has room for."""
    start = time.process_time()
    explanation = explained(exported_parts.sinkhorn(Torch(), 8))
    assert time.process_time() - start < 6 * slowness()
    assert len(explanation["kernels"]) == 2
    assert {entry["condition"] for entry in explanation["refused"]} == {"size"}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.sample(3)
def test_fused_or_explained(name: str) -> None:
    for schedule in ("auto", "stream"):
        explanation = explained(PARTS[name](), schedule=schedule)
        kinds = [
            kernel["schedule"]["kind"] for kernel in explanation["kernels"] if kernel["cascades"]
        ]
        if len(kinds) > 1 or (schedule == "stream" and "resident" in kinds):
            assert explanation["refused"]
        for entry in explanation["refused"]:
            assert entry["condition"], entry
            assert entry["detail"], entry


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", PARTS)
def test_right_on_every_schedule(name: str) -> None:
    text = PARTS[name]()
    dtype = "bf16" if name in BF16 else "f32"
    seed = len(name)
    wrong = disagreements(
        text, lambda kind: random_data(text, kind, seed, LABELS), 64, dtype, KINDS
    )
    assert not wrong, "\n".join(wrong)
