"""Layer 3 on whole programs: how many kernels a program becomes, and what they keep in memory."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"
LAYERS = ("-redfuse-normalize", "-redfuse-raise", "-redfuse-fuse")

# Kernels of a program; every other one of the corpus becomes one. With extents known at run time,
# a broadcast that may be needed or not stays beside the kernel, under the test of its extent. Of
# products cores pack the operands where each has a kernel of its own.
MORE_THAN_ONE = {"attention_dynamic": 2, "ffn_swiglu": 2}


@pytest.fixture(scope="module")
def redfuse_opt() -> Path:
    """The redfuse-opt to test: $REDFUSE_OPT, or the installed one."""
    if "REDFUSE_OPT" in os.environ:
        return Path(os.environ["REDFUSE_OPT"])
    from redfuse._opt import find_program

    return Path(find_program())


def lower(program: Path, opt: Path, *passes: str) -> str:
    """The program after the passes, as text."""
    done = subprocess.run([opt, program, *passes], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.mlir")), ids=lambda p: p.stem)
def test_corpus_program_becomes_one_kernel(path: Path, redfuse_opt: Path) -> None:
    text = lower(path, redfuse_opt, *LAYERS)
    assert "linalg.generic" not in text
    assert "tm_tensor" not in text
    assert len(re.findall(r"redfuse\.cascade ", text)) == MORE_THAN_ONE.get(path.stem, 1)


# The convolution reads a padded copy of its input.
IN_PLACE = [p for p in CORPUS.glob("*.mlir") if p.stem not in {"conv_bias_relu", *MORE_THAN_ONE}]


@pytest.mark.parametrize("path", sorted(IN_PLACE), ids=lambda p: p.stem)
def test_host_keeps_no_intermediate(path: Path, redfuse_opt: Path) -> None:
    """After bufferization the host allocates nothing: results are written in place."""
    text = lower(path, redfuse_opt, *LAYERS, "-redfuse-outline", "-redfuse-bufferize")
    assert "memref.alloc" not in text
    assert "memref.copy" not in text
    assert len(re.findall(r"redfuse\.launch ", text)) == 1


CHAIN = """
#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
func.func @main(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>, %c: tensor<{n}x{k}xf32>)
    -> tensor<{m}x{k}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
      outs(%f : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %g = tensor.empty() : tensor<{m}x{k}xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<{m}x{k}xf32>) -> tensor<{m}x{k}xf32>
  %1 = linalg.matmul ins(%0, %c : tensor<{m}x{n}xf32>, tensor<{n}x{k}xf32>)
      outs(%h : tensor<{m}x{k}xf32>) -> tensor<{m}x{k}xf32>
  return %1 : tensor<{m}x{k}xf32>
}}
"""


@pytest.mark.parametrize(
    ("rows", "condition"), [(1, "parallelism"), (4, "cost"), (16, "cost"), (512, "cost")]
)
def test_cost_model_keeps_the_units_busy(
    rows: int, condition: str, redfuse_opt: Path, tmp_path: Path
) -> None:
    """Two contractions in a row share only their rows: with one row, one kernel is one block. Those
    of more are faster alone, with packed operands."""
    source = tmp_path / "chain.mlir"
    source.write_text(CHAIN.format(m=rows, k=2048, n=2048))
    text = lower(source, redfuse_opt, *LAYERS)
    assert len(re.findall(r"redfuse\.cascade ", text)) == 2
    assert f'condition = "{condition}"' in text
