"""Products of matrices that are folded into states of their rows, tile by tile, and stored by nobody:
run by the simulator and compared with fp64."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import redfuse
from drivers import Typed, aligned_copy, cuda
from drivers.simulated import Simulation, verify
from matrix_programs import sums
from redfuse.bench import programs
from redfuse.bench.builder import Program
from redfuse.store.data import random_inputs

# One thread after another: seconds each.
ROWS, COLUMNS, LENGTH = 200, 600, 320


def moments(rows: int, length: int, columns: int) -> str:
    """How far the elements of each row are from their mean, squared and added up: a state of it
    counts elements, which is one number for all rows."""
    p = Program()
    a, b = p.argument(rows, length, dtype="bf16"), p.argument(columns, length, dtype="bf16")
    y = p.cast(p.matmul(a, p.transpose(b, [1, 0])), "f32")
    far = p.square(p.binary("subf", y, p.mean(y, [1], keepdim=True)))
    return p.text(p.sum(far, [1]))


def sums_of_columns(rows: int, length: int, columns: int) -> str:
    """States of the columns, which are the tile's rows then."""
    p = Program()
    a, b = p.argument(rows, length, dtype="bf16"), p.argument(columns, length, dtype="bf16")
    y = p.cast(p.matmul(a, p.transpose(b, [1, 0])), "f32")
    return p.text(p.sum(p.unary("math.exp", y), [0]))


def picked(rows: int, columns: int, length: int) -> str:
    """Of each row the logarithm of a sum of exponentials, less an element at a place that is
    asserted to be in the row."""
    text = sums("bf16", "f32", ("extf", "extf"), rows, columns, length)
    c, r, at = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>", f"tensor<{rows}xi64>"
    text = text.replace(f") -> {c} {{", f", %at: {at}) -> {r} {{", 1)
    end = text.index("  return %p")
    return f"""
#row = affine_map<(i) -> (i)>
#of = affine_map<(i, j) -> (i, j)>
#in = affine_map<(i, j) -> (i)>
{text[:end]}
  %count = arith.constant {columns} : index
  %er = tensor.empty() : {r}
  %zr = linalg.fill ins(%zero : f32) outs(%er : {r}) -> {r}
  %sum = linalg.generic {{indexing_maps = [#of, #in], iterator_types = ["parallel", "reduction"]}}
      ins(%p : {c}) outs(%zr : {r}) {{
  ^bb0(%v: f32, %acc: f32):
    %x = math.exp %v : f32
    %n = arith.addf %x, %acc : f32
    linalg.yield %n : f32
  }} -> {r}
  %o = linalg.generic {{indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}}
      ins(%at, %sum : {at}, {r}) outs(%er : {r}) {{
  ^bb0(%k: i64, %s: f32, %init: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %k : i64 to index
    %is = arith.cmpi ult, %j, %count : index
    cf.assert %is, "the label is outside"
    %v = tensor.extract %p[%i, %j] : {c}
    %l = math.log %s : f32
    %d = arith.subf %l, %v : f32
    linalg.yield %d : f32
  }} -> {r}
  return %o : {r}
}}
"""


def compiled(text: str, folder: Path, *, splits: bool = True) -> redfuse.Executable:
    """One kernel, with units of warpgroups, whose blocks have splits of the columns."""
    path = folder / "program.mlir"
    path.write_text(text)
    exe = redfuse.compile(path, target="cuda:sm_90a", options={"cache": False})
    (launch,) = (line for line in exe.ir["plan"].splitlines() if "redfuse.launch" in line)
    assert "matrix_plan<wgmma" in launch and "left = [tiled]" in launch
    assert int(re.search(r" splits = (\d+)", launch)[1]) > 1  # type: ignore[index]
    return exe


@pytest.mark.parametrize(
    "text",
    [
        programs.linear_cross_entropy(ROWS, LENGTH, COLUMNS, dtype="bf16"),
        moments(ROWS, LENGTH, COLUMNS),
        sums_of_columns(COLUMNS, LENGTH, ROWS),
    ],
    ids=["loss", "moments", "columns"],
)
def test_states_of_a_product(text: str, tmp_path: Path) -> None:
    exe = compiled(text, tmp_path)
    inputs = random_inputs(exe.signature, 3)
    for x in inputs[:2]:
        x *= ml_dtypes.bfloat16(0.25)
    verify(tmp_path / "program.mlir", exe, inputs, None)


def test_pairs_of_rows_copy_columns_for_each_other(tmp_path: Path) -> None:
    """Also where the last tile of rows is ragged."""
    exe = compiled(programs.linear_cross_entropy(250, 2112, 512, dtype="bf16"), tmp_path)
    assert "cluster_shape = [2, 1]" in exe.ir["plan"]
    inputs = random_inputs(exe.signature, 4)
    for x in inputs[:2]:
        x *= ml_dtypes.bfloat16(0.125)
    verify(tmp_path / "program.mlir", exe, inputs, None)


def test_a_place_outside_of_a_row_is_told(tmp_path: Path) -> None:
    """By the kernel of the product, which compares the place with its columns."""
    exe = compiled(picked(ROWS, COLUMNS, LENGTH), tmp_path)
    random = np.random.default_rng(0)
    bf16 = ml_dtypes.bfloat16
    a = (random.standard_normal((ROWS, LENGTH)) / 8).astype(bf16)
    b = (random.standard_normal((LENGTH, COLUMNS)) / 8).astype(bf16)
    labels = random.integers(0, COLUMNS, ROWS)
    logits = a.astype(np.float64) @ b.astype(np.float64)
    want = np.log(np.exp(logits).sum(1)) - logits[np.arange(ROWS), labels]
    (messages,) = re.findall(r"redfuse_messages\[\d+\] = \{(.*?)\}", exe.asm)
    text = bytes(map(int, messages.split(",")))
    variables = {
        "redfuse_report": (cuda.fake_global(b"redfuse_report", bytes(8), 8), 8),
        "redfuse_messages": (cuda.fake_global(b"redfuse_messages", text, len(text)), len(text)),
    }
    arrays = [aligned_copy(x) for x in (a, b, np.zeros(ROWS, np.float32))]

    def call(at: np.ndarray) -> None:
        places = aligned_copy(at)
        with Simulation(exe, variables=variables) as simulation:
            simulation.arrays = [*arrays, places]
            exe(Typed(arrays[0]), Typed(arrays[1]), Typed(places), out=Typed(arrays[2]))

    try:
        call(labels)
        exe.check()
        np.testing.assert_allclose(arrays[2], want, rtol=1e-5, atol=1e-5)
        wrong = labels.copy()
        wrong[ROWS - 1] = COLUMNS
        call(wrong)
        with pytest.raises(redfuse.ExecutionError, match="the label is outside"):
            exe.check()
    finally:
        cuda.fake_no_globals()
