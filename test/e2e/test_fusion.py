"""What the fused corpus looks like: kernels, reads, schedules, memory."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import redfuse
from on_schedules import explained
from redfuse import _ext
from redfuse.reference import reference

CORPUS = Path(__file__).parent / "corpus"
PROGRAMS = sorted(path.stem for path in CORPUS.glob("*.mlir"))
ATTENTION = [name for name in PROGRAMS if name.startswith("attention") or name == "sdpa"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_one_cascade(name: str) -> None:
    explanation = explained((CORPUS / f"{name}.mlir").read_text())
    reducing = [k for k in explanation["kernels"] if any(c["stages"] for c in k["cascades"])]
    conditions = {entry["condition"] for entry in explanation["refused"]}
    # Machines with slow units take two where one kernel would leave units without work, and
    # products have kernels of their own where packing their operands pays.
    assert len(reducing) == 1 if not conditions else conditions <= {"parallelism", "cost"}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_reads_its_inputs_once(name: str) -> None:
    kernels = explained((CORPUS / f"{name}.mlir").read_text())["kernels"]
    reads = {entry["arg"]: entry["reads"] for k in kernels for entry in k["inputs"]}
    assert {reads[arg] for arg in ("arg0", "arg1", "arg2")} == {1}


def attention(heads: int, queries: int, keys: int, width: int) -> str:
    """The program of examples/attention.mlir at another size, named ops throughout."""
    q = f"tensor<{heads}x{queries}x{width}xf32>"
    k = f"tensor<{heads}x{keys}x{width}xf32>"
    t = f"tensor<{heads}x{width}x{keys}xf32>"
    s = f"tensor<{heads}x{queries}x{keys}xf32>"
    return f"""
    func.func @main(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
      %zero = arith.constant 0.0 : f32
      %te = tensor.empty() : {t}
      %kt = linalg.transpose ins(%k : {k}) outs(%te : {t}) permutation = [0, 2, 1]
      %se = tensor.empty() : {s}
      %sf = linalg.fill ins(%zero : f32) outs(%se : {s}) -> {s}
      %s = linalg.batch_matmul ins(%q, %kt : {q}, {t}) outs(%sf : {s}) -> {s}
      %p = linalg.softmax dimension(2) ins(%s : {s}) outs(%se : {s}) -> {s}
      %oe = tensor.empty() : {q}
      %of = linalg.fill ins(%zero : f32) outs(%oe : {q}) -> {q}
      %o = linalg.batch_matmul ins(%p, %v : {s}, {k}) outs(%of : {q}) -> {q}
      return %o : {q}
    }}"""


@pytest.mark.parametrize("shape", [(2, 1024, 1024, 64), (3, 257, 1009, 40)])
def test_no_full_size_intermediate(shape: tuple[int, int, int, int]) -> None:
    """The scores never exist: all memory a call takes is far less than they would."""
    heads, queries, keys, width = shape
    executable = redfuse.compile(attention(*shape), options={"cache": False})
    random = numpy.random.default_rng(5)
    q, k, v = (
        random.standard_normal((heads, n, width), dtype=numpy.float32)
        for n in (queries, keys, keys)
    )
    out = numpy.full_like(q, numpy.nan)
    _ext.trim_memory()
    _ext.reset_memory_peak()
    before = _ext.memory_peak()  # results of other programs that are still alive
    executable(q, k, v, out=out)
    assert _ext.memory_peak() - before < heads * queries * keys * 4 / 2
    want = reference(attention(*shape), [q, k, v])[0]
    assert numpy.abs(out - want).max() <= 1e-5 * numpy.abs(want).max()
