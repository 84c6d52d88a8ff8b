"""What checks of accesses cost: nothing where all are proven, as nothing of them is left then."""

from __future__ import annotations

from typing import Any

import pytest
from redfuse import lowering, pipelines
from redfuse.bench import cases
from redfuse.frontends import mlir

# The first stage without `redfuse-check-accesses`.
UNCHECKED = (
    "builtin.module(redfuse-keep-entry,redfuse-check-source,inline{default-pipeline=},symbol-dce,"
    "func.func(redfuse-full-rank-slices{open=true}))"
)
# A label is read from memory: that it is a class is checked, from below and from above.
OF_DATA = {"cross_entropy": 2}


def after(source: Any, pipeline: str) -> str:
    """The program as the second stage takes it."""
    module = source.parse()
    entry = mlir.find_entry(module, None)
    lowering._name_entry(module, mlir.signature(entry).name)
    lowering.run_pipeline(module, pipeline, pipelines.CHECK)
    return str(module)


@pytest.mark.parametrize(
    ("dtype", "default"), [("f32", cases.CPU_DEFAULT), ("bf16", cases.GPU_DEFAULT)]
)
def test_benchmarks_have_no_checks(dtype: str, default: tuple[str, ...]) -> None:
    """The compiler is deterministic: of equal programs it makes equal code."""
    checked = pipelines.stage(pipelines.CPU, pipelines.CHECK)
    for case in cases.select([], dtype, default):
        source = mlir.read(case.program())
        text = after(source, checked)
        expected = OF_DATA.get(case.full_name.partition("/")[0], 0)
        assert text.count("cf.assert") == expected, case.full_name
        if not expected:
            assert text == after(source, UNCHECKED), case.full_name
