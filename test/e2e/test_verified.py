"""Programs of the corpus that are verified fast; ``tools/dev verify`` takes all."""

from __future__ import annotations

import verified

NAMES = ("conv_bias_relu", "layernorm", "moe_routing", "moment_of_inertia", "multi_consumer",
         "softmax", "softmax_argmax", "variance_large_mean")  # fmt: skip


def test_cheap_programs() -> None:
    """All checks that are made pass, and results are among them."""
    paths = [verified.ROOT / "test" / "e2e" / "corpus" / f"{name}.mlir" for name in NAMES]
    for path, report in verified.reports(paths, seconds=90, jobs=2):
        wrong = verified.checks(report, "failed")
        assert report["ok"], f"{path.name}: {report['error']} {wrong}"
        ran = {check["how"] for check in verified.checks(report, "passed")}
        assert {"run", "algebra", "50 digits", "f64"} <= ran, path.name
