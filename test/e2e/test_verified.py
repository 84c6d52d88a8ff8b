"""Some programs of the corpus, which are verified fast; ``tools/dev verify`` takes all."""

from __future__ import annotations

import os

import verified

NAMES = ("conv_bias_relu", "multi_consumer", "softmax")
MORE = ("layernorm", "moe_routing", "moment_of_inertia", "softmax_argmax", "variance_large_mean")


def test_cheap_programs() -> None:
    """All checks that are made pass, and results are among them."""
    names = (*NAMES, *MORE) if os.environ.get("REDFUSE_TEST_ALL") else NAMES
    paths = [verified.ROOT / "test" / "e2e" / "corpus" / f"{name}.mlir" for name in names]
    for path, report in verified.reports(paths, seconds=90, jobs=2):
        wrong = verified.checks(report, "failed")
        assert report["ok"], f"{path.name}: {report['error']} {wrong}"
        ran = {check["how"] for check in verified.checks(report, "passed")}
        assert {"run", "algebra", "50 digits", "f64"} <= ran, path.name
