"""Barriers in the corpus: passes, what explains them, and what derivation costs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import redfuse
from redfuse import check, lowering, pipelines
from redfuse.frontends import mlir as frontend
from redfuse.options import Options

CORPUS = Path(__file__).parent / "corpus"
NAMES = sorted(path.stem for path in CORPUS.glob("*.mlir"))


@pytest.mark.parametrize("name", ["quant_int8_gemm", "moment_of_inertia", "moe_routing"])
def test_streamed(name: str) -> None:
    path = CORPUS / f"{name}.mlir"
    inputs, expected = check.load_npz(str(path.with_suffix(".npz")))
    exe = redfuse.compile(path, options={"schedule": "stream", "cache": False})
    arrays = check.cast_inputs(inputs, exe.signature)
    results = exe(*arrays)
    results = list(results) if isinstance(results, tuple) else [results]
    for outcome in check.compare(results, expected, exe.signature):
        assert outcome.ok, str(outcome)


def test_a_barrier_is_named_and_can_be_approximated() -> None:
    path = CORPUS / "quant_int8_gemm.mlir"
    exact = redfuse.compile(path, options={"schedule": "stream", "cache": False})
    (kernel,) = exact.explain(json=True)["kernels"]
    assert kernel["schedule"]["passes"] == 2
    assert kernel["inputs"][0]["reads"] == 2
    assert "math.roundeven: quantisation" in exact.explain()
    options = {"schedule": "stream", "approximate": True, "cache": False}
    near = redfuse.compile(path, options=options)
    (kernel,) = near.explain(json=True)["kernels"]
    assert kernel["schedule"]["kind"] == "stream"
    assert kernel["inputs"][0]["reads"] == 1
    assert "approximate: rounding is taken for the identity" in near.explain()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
def test_derivation_takes_no_time(name: str) -> None:
    """Under 50 ms of one core, with the choice of a schedule."""
    module = frontend.read(CORPUS / f"{name}.mlir").parse()
    stages = pipelines.fused(Options(schedule="stream"))
    seconds = 0.0
    for stage, pipeline in stages[: [s for s, _ in stages].index("derive") + 1]:
        start = time.process_time()
        lowering.run_pipeline(module, pipeline, stage)
        if stage in ("schedule", "derive"):
            seconds += time.process_time() - start
    assert seconds < 0.05
