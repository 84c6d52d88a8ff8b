"""Plans of kernels on matrix units, written by hand: what the simulator computes by them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import redfuse
from mlir import ir
from redfuse import lowering
from redfuse.bench import programs
from redfuse.explain.explanation import walk
from test_cuda_matrix_units import error_of

# batch, heads, rows, keys, dim, key heads, kind
LONG = (1, 2, 200, 300, 64, 2, "none")
CAUSAL = (1, 2, 150, 150, 64, 1, "causal")
WIDE = (1, 1, 130, 130, 128, 1, "causal")
ONE = (1, 8, 1, 600, 64, 1, "none")

# The program, the chip, what the plan says instead, its rows and the columns of a step.
PLANS = {
    "one-consumer": (LONG, "sm_90a", {"consumers": 1, "stages": 3, "staged": "false", "threshold": 0}, 64, 48),
    "in-shared": (LONG, "sm_90a", {"left": "[resident, packed]", "staged": "true"}, 128, 112),
    "three-consumers": (
        CAUSAL, "sm_90a", {"consumers": 3, "left": "[resident, packed]", "cached": 1}, 192, 80,
    ),
    "static": (CAUSAL, "sm_90a", {"scheduler": "static", "late": "true", "threshold": 7}, 128, 96),
    "dynamic": (WIDE, "sm_90a", {"scheduler": "dynamic", "ahead": 3, "cached": 0, "stages": 4}, 128, 32),
    "splits": (ONE, "sm_90a", {"splits": 5, "cluster": 1, "blocks": 1, "ahead": 0}, 64, 128),
    "clusters": (ONE, "sm_90a", {"splits": 4, "cluster": 2, "blocks": 2, "threshold": 1}, 64, 80),
    "mma-sync": (LONG, "sm_80", {"consumers": 2, "consumer_rows": 64, "blocks": 1, "stages": 2}, 128, 16),
    "mma-sync-64": (WIDE, "sm_80", {"consumers": 1, "consumer_rows": 64, "stages": 4, "threshold": 2}, 64, 48),
}  # fmt: skip


def rewritten(plan: str, fields: dict[str, object], rows: int, columns: int) -> str:
    """The plan with these fields, rows and columns of a step: keys are the last dim but one."""
    for name, value in fields.items():
        plan, count = re.subn(rf"\b{name} = (\[[^\]]*\]|\w+)", f"{name} = {value}", plan)
        assert count == 1, name
    tiles = [int(n) for n in re.search(r"tiles = \[(.*?)\]", plan)[1].split(",")]
    tiles[int(re.search(r"row_dim = (\d+)", plan)[1])] = rows
    tiles[-2] = columns
    return re.sub(r"tiles = \[.*?\]", f"tiles = {tiles}", plan)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.sample(3)
def test_plans_by_hand(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (*shape, kv_heads, kind), chip, fields, rows, columns = PLANS[name]
    path = tmp_path / "program.mlir"
    path.write_text(programs.attention(*shape, "bf16", kv_heads, kind))
    run_pipeline = lowering.run_pipeline

    def plan_by_hand(module: ir.Module, pipeline: str, stage: str, *rest: object) -> None:
        run_pipeline(module, pipeline, stage, *rest)
        if stage == "plan":
            (launch,) = walk(module.operation, "redfuse.launch")
            plan = rewritten(str(launch.attributes["redfuse.matrices"]), fields, rows, columns)
            launch.attributes["redfuse.matrices"] = ir.Attribute.parse(plan, module.context)

    monkeypatch.setattr(lowering, "run_pipeline", plan_by_hand)
    options = {"cache": False, "tuned": False, "schedule": "stream"}
    exe = redfuse.compile(path, target=f"cuda:{chip}", options=options)
    assert ("wgmma.mma_async" if chip == "sm_90a" else "mma.sync") in exe.asm
    tiles = exe.explain(json=True)["kernels"][0]["matrices"]["tiles"]
    assert rows in tiles.values() and columns in tiles.values()
    assert error_of(exe, kind, 1) < 3e-3
